"""AWS requests: one question to an `AwsClient`, concurrent questions, and verification of the EKS cluster."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from kubectl_eksdoc.errors import AwsDenied, AwsMissing, AwsOtherCluster, AwsRefused, AwsThrottled, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import redact_message
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess, CallerIdentity, EksCluster
from kubectl_eksdoc.model.kinds import Absent, Unknown, absent_as_unknown

Json = dict[str, Any]
T = TypeVar("T")
K = TypeVar("K")

MAX_CONCURRENT_REQUESTS = 8
"""Concurrent requests: below the throttling limit of EKS (10 a second for most Describe operations)."""


class AwsClient(Protocol):
    """A client with responses as botocore shapes them: all pages, no ``ResponseMetadata``, times with a time zone."""

    def ask(self, operation: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """The response to one operation.

        Raises:
            AwsDenied: IAM does not allow it.
            AwsMissing: the resource does not exist.
            AwsThrottled: the request was throttled, and retries did not help.
            AwsRefused: AWS does not answer this question, for a reason of its own.
            AwsError: nothing can be asked: no credentials, no network, or AWS refuses.
        """
        ...


def ask_and_parse(
    aws: AwsClient, operation: AwsOperation, parameters: Mapping[str, Any], parse: Callable[[Json], T]
) -> T:
    """The parsed response.

    Raises:
        AwsRefused: also for a response of an unexpected form, as in an edited snapshot.
        AwsDenied, AwsMissing, AwsThrottled, AwsError: as `AwsClient.ask`.
    """
    response = aws.ask(operation, parameters)
    try:
        return parse(response)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        operation_name = f"{operation.service}:{operation.operation}"
        raise AwsRefused(f"the answer to {operation_name} is not what it should be: {error!r}") from error


def ask_or_unknown(
    aws: AwsClient, operation: AwsOperation, parameters: Mapping[str, Any], parse: Callable[[Json], T]
) -> T | Unknown:
    """The parsed response, or Unknown where it is denied, throttled or refused.

    Raises:
        AwsMissing, AwsError: as `AwsClient.ask`.
    """
    try:
        return ask_and_parse(aws, operation, parameters, parse)
    except AwsDenied as error:
        return Unknown(error.message, error.missing)
    except (AwsThrottled, AwsRefused) as error:
        return Unknown(error.message)


def ask_or_absent(
    aws: AwsClient, operation: AwsOperation, parameters: Mapping[str, Any], parse: Callable[[Json], T]
) -> T | Unknown | Absent:
    """As `ask_or_unknown`, with Absent for a resource that does not exist."""
    try:
        return ask_or_unknown(aws, operation, parameters, parse)
    except AwsMissing as error:
        return Absent(error.message)


def ask_existing(
    aws: AwsClient, operation: AwsOperation, parameters: Mapping[str, Any], parse: Callable[[Json], T]
) -> T | Unknown:
    """As `ask_or_unknown`, for a part of another resource: a missing part is the reason why it is unknown."""
    return absent_as_unknown(ask_or_absent(aws, operation, parameters, parse))


def _checked_field(document: Mapping[str, Any], name: str, is_valid: Callable[[Any], bool], expected: str) -> Any:
    value = document.get(name)
    if value is not None and not is_valid(value):
        raise TypeError(f"{name} is {expected}, and there is {value!r}")
    return value


def text_field(document: Mapping[str, Any], name: str) -> str:
    """A text field; "" where it is missing.

    Raises:
        TypeError: it is not a text, as in an edited snapshot.
    """
    return _checked_field(document, name, lambda value: isinstance(value, str), "a text") or ""


def text_list_field(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field with a list of texts, as `text_field`."""
    return tuple(_checked_field(document, name, lambda value: _is_list_of(str, value), "a list of texts") or ())


def sorted_tags(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The tags as EKS writes them, sorted by key."""
    return tuple(sorted((str(key), str(value)) for key, value in (document.get("tags") or {}).items()))


def time_field(document: Mapping[str, Any], name: str) -> datetime | None:
    """A time field, as `text_field`; None where it is missing. Times of AWS have a time zone."""
    time_value: datetime | None = _checked_field(
        document, name, lambda value: isinstance(value, datetime) and value.tzinfo is not None, "a time"
    )
    return time_value


def struct_list_field(document: Mapping[str, Any], name: str) -> tuple[Json, ...]:
    """A field with a list of structures, as `text_field`."""
    return tuple(_checked_field(document, name, lambda value: _is_list_of(dict, value), "a list of structures") or ())


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def required_text(document: Mapping[str, Any], name: str) -> str:
    """A text field that has to be there.

    Raises:
        KeyError: it is missing or empty.
    """
    value = text_field(document, name)
    if not value:
        raise KeyError(name)
    return value


def int_field(document: Mapping[str, Any], name: str) -> int | None:
    """A field with a whole number, as `text_field`; None where it is missing."""
    int_value: int | None = _checked_field(document, name, lambda value: type(value) is int, "a whole number")
    return int_value


def ask_concurrently(keys: Iterable[K], ask: Callable[[K], T]) -> list[tuple[K, T]]:
    """The result of `ask` for each key, in their order; at most `MAX_CONCURRENT_REQUESTS` at a time.

    Raises:
        whatever `ask` raises: the first by the order of the keys.
    """
    all_keys = list(keys)
    if len(all_keys) < 2:
        return [(key, ask(key)) for key in all_keys]
    with ThreadPoolExecutor(min(MAX_CONCURRENT_REQUESTS, len(all_keys)), thread_name_prefix="aws") as pool:
        return list(zip(all_keys, pool.map(ask, all_keys), strict=True))


def ask_all(questions: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """The result of each question by its name, asked concurrently."""
    return dict(ask_concurrently(questions, lambda name: questions[name]()))


def metric_query(
    query_id: str, namespace: str, metric: str, dimensions: Mapping[str, str], period_s: int, statistic: str
) -> Json:
    """A query of CloudWatch's GetMetricData."""
    dimension_list = [{"Name": name, "Value": value} for name, value in dimensions.items()]
    metric_spec = {"Namespace": namespace, "MetricName": metric, "Dimensions": dimension_list}
    return {"Id": query_id, "MetricStat": {"Metric": metric_spec, "Period": period_s, "Stat": statistic}}


# Verification that answers are about the cluster that kubectl is connected to; no answer is used before it.
#
# A context may name a cluster of one account while the credentials are of another account, which may have a cluster of
# the same name.


# Health issues of a cluster, a node group or an add-on, as EKS reports them. Source of the shapes: botocore 1.44.5,
# eks/2017-11-01.


def health_issues(document: Json) -> tuple[HealthIssue, ...]:
    """The health issues of a described resource.

    Raises:
        TypeError: they are of another form.
    """
    issue_documents = struct_list_field(document.get("health") or {}, "issues")
    return tuple(health_issue(each, "code", "message") for each in issue_documents)


def health_issue(document: Json, code_field: str, message_field: str) -> HealthIssue:
    """A health issue; `code_field`, `message_field`: names of its fields. EKS repeats messages of an API server, which
    repeat values: values that look like a secret are redacted."""
    return HealthIssue(
        text_field(document, code_field),
        redact_message(text_field(document, message_field)),
        text_list_field(document, "resourceIds"),
    )


# The caller and the cluster: the only requests before the cluster is verified.


def get_caller(aws: AwsClient) -> CallerIdentity:
    """The account and ARN of the credentials.

    Raises:
        AwsError: as `AwsClient.ask`.
    """
    return ask_and_parse(
        aws, questions.CALLER, {}, lambda said: CallerIdentity(text_field(said, "Account"), text_field(said, "Arn"))
    )


def describe_cluster(aws: AwsClient, name: str) -> EksCluster:
    """The cluster of that name.

    Raises:
        AwsMissing: the account and region have no cluster of that name.
        AwsError: as `AwsClient.ask`.
    """
    return ask_and_parse(aws, questions.CLUSTER, {"name": name}, lambda said: _parse_cluster(said["cluster"]))


def _parse_cluster(document: Json) -> EksCluster:
    network = document.get("resourcesVpcConfig") or {}
    return EksCluster(
        name=required_text(document, "name"),
        arn=text_field(document, "arn"),
        version=required_text(document, "version"),
        platform_version=text_field(document, "platformVersion"),
        status=text_field(document, "status"),
        endpoint=text_field(document, "endpoint"),
        ca=text_field(document.get("certificateAuthority") or {}, "data"),
        support=text_field(document.get("upgradePolicy") or {}, "supportType"),
        auto_mode=bool((document.get("computeConfig") or {}).get("enabled", False)),
        vpc=text_field(network, "vpcId"),
        created=time_field(document, "createdAt"),
        issues=health_issues(document),
        subnets=text_list_field(network, "subnetIds"),
        tags=sorted_tags(document),
    )


_CERTIFICATE_PATTERN = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)

_EKS_HOST_PATTERN = re.compile(r"\.eks\.amazonaws\.com(?:\.cn)?\.?\Z|\.eks\.[a-z0-9-]+\.api\.|\.api\.aws\.?\Z")
"""Host names of EKS cluster endpoints: IPv4 only, and dual-stack."""

_OTHER_CLUSTER_HINT = (
    "Nothing of AWS was believed. Give --cluster-name, --region and --profile of the cluster of this context."
)


@frozen
class VerifiedCluster:
    """The cluster, and the credentials that can describe it: required for all other questions. `matched_by`: how it was
    matched with the cluster of kubectl, a clause."""

    aws: AwsClient = field(repr=False, compare=False)
    cluster: EksCluster
    caller: CallerIdentity
    matched_by: str


def verify_cluster(aws: AwsClient, access: AwsAccess) -> VerifiedCluster:
    """The EKS cluster, if it is the one that kubectl is connected to.

    Raises:
        UsageError: the name of the cluster is not known.
        AwsOtherCluster: it is another account, or another cluster.
        AwsMissing: there is no cluster of that name.
        AwsError: as `AwsClient.ask`.
    """
    if not access.cluster:
        raise UsageError(
            "nothing says which EKS cluster this is: not the kubeconfig's exec entry, not its names",
            "Give --cluster-name, or update the kubeconfig: aws eks update-kubeconfig --name CLUSTER.",
        )
    caller = get_caller(aws)
    if access.account and caller.account and caller.account != access.account:
        raise AwsOtherCluster(
            f"the context is of a cluster in account {access.account}, and the credentials are of account "
            f"{caller.account} ({caller.arn})",
            "Nothing of that account was believed. Give the profile of the right account with --profile.",
        )
    try:
        cluster = describe_cluster(aws, access.cluster)
    except AwsMissing as error:
        raise AwsMissing(
            f"there is no EKS cluster {access.cluster!r} in account {caller.account}, region {access.region}",
            "Are --cluster-name, --region and --profile those of the context?",
            error.code,
        ) from error
    _check_arn(cluster, caller, access)
    return VerifiedCluster(aws, cluster, caller, _match_cluster(cluster, access))


def _check_arn(cluster: EksCluster, caller: CallerIdentity, access: AwsAccess) -> None:
    """The account and region of the described cluster have to be the requested ones; a missing ARN is not accepted."""
    accounts = {cluster.account, caller.account, *filter(None, (access.account,))}
    if len(accounts) == 1 and cluster.account and cluster.region == access.region:
        return
    raise AwsOtherCluster(
        f"asked was account {access.account or caller.account or 'unknown'}, region {access.region}, and what is "
        f"described is {cluster.arn or 'a cluster without an ARN'}",
        _OTHER_CLUSTER_HINT,
    )


def _match_cluster(cluster: EksCluster, access: AwsAccess) -> str:
    """How the clusters match. An EKS host name decides alone, in the URL or as TLS server name; only behind a tunnel or
    a proxy, which hides it, the certificate authority decides: no two clusters share one."""
    if not access.server:
        raise AwsOtherCluster(
            f"cannot tell whether {cluster.arn} is the cluster that is read: its server is not known",
            "Read it through a kubeconfig.",
        )
    eks_host, tls_name = _host(cluster.endpoint), access.server_name.lower()
    if _host(access.server) == eks_host != "" and tls_name in ("", eks_host):
        return "by its endpoint"
    if tls_name == eks_host != "" and not _EKS_HOST_PATTERN.search(_host(access.server)):
        return "by the name that TLS expects"
    certificates = _certificates(access.ca)
    is_behind_proxy = not any(_EKS_HOST_PATTERN.search(each) for each in (_host(access.server), tls_name))
    if is_behind_proxy and certificates and certificates <= _certificates(_decode_base64(cluster.ca)):
        return "by its certificate authority"
    raise AwsOtherCluster(
        f"the context talks to {_host(access.server) or access.server}, and EKS cluster {cluster.name!r} of account "
        f"{cluster.account}, region {access.region} is at {_host(cluster.endpoint) or 'no address'}",
        _OTHER_CLUSTER_HINT,
    )


def _certificates(pem: str) -> set[str]:
    """The certificates without line ends; there are two while a certificate authority is rotated."""
    return {"".join(each.split()) for each in _CERTIFICATE_PATTERN.findall(pem)}


def _decode_base64(text: str) -> str:
    """The decoded text; "" where it is not base64."""
    try:
        return base64.b64decode(text).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _host(url: str) -> str:
    """The host name in lower case, without the port of ``https://ABC.gr7.eu-west-1.eks.amazonaws.com:443/``."""
    try:
        return (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
