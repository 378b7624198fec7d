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
from kubectl_eksdoc.kubernetes.redaction import hidden
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.addons import Issue
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess, Caller, EksCluster
from kubectl_eksdoc.model.kinds import Absent, Unknown, known_or_unknown

Json = dict[str, Any]
T = TypeVar("T")
K = TypeVar("K")

AT_ONCE = 8
"""Concurrent requests: below the throttling limit of EKS (10 a second for most Describe operations)."""


class AwsClient(Protocol):
    """A client with responses as botocore shapes them: all pages, no ``ResponseMetadata``, times with a time zone."""

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """The response to one operation.

        Raises:
            AwsDenied: IAM does not allow it.
            AwsMissing: the resource does not exist.
            AwsThrottled: the request was throttled, and retries did not help.
            AwsRefused: AWS does not answer this question, for a reason of its own.
            AwsError: nothing can be asked: no credentials, no network, or AWS refuses.
        """
        ...


def answered(aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]) -> T:
    """The parsed response.

    Raises:
        AwsRefused: also for a response of an unexpected form, as in an edited snapshot.
        AwsDenied, AwsMissing, AwsThrottled, AwsError: as `AwsClient.ask`.
    """
    answer = aws.ask(question, parameters)
    try:
        return made(answer)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{question.service}:{question.operation}"
        raise AwsRefused(f"the answer to {what} is not what it should be: {error!r}") from error


def known(
    aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]
) -> T | Unknown:
    """The parsed response, or Unknown where it is denied, throttled or refused.

    Raises:
        AwsMissing, AwsError: as `AwsClient.ask`.
    """
    try:
        return answered(aws, question, parameters, made)
    except AwsDenied as error:
        return Unknown(error.message, error.missing)
    except (AwsThrottled, AwsRefused) as error:
        return Unknown(error.message)


def found(
    aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]
) -> T | Unknown | Absent:
    """As `ask_or_unknown`, with Absent for a resource that does not exist."""
    try:
        return known(aws, question, parameters, made)
    except AwsMissing as error:
        return Absent(error.message)


def there(
    aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]
) -> T | Unknown:
    """As `ask_or_unknown`, for a part of another resource: a missing part is the reason why it is unknown."""
    return known_or_unknown(found(aws, question, parameters, made))


def _checked(said: Mapping[str, Any], name: str, right: Callable[[Any], bool], what: str) -> Any:
    value = said.get(name)
    if value is not None and not right(value):
        raise TypeError(f"{name} is {what}, and there is {value!r}")
    return value


def text(said: Mapping[str, Any], name: str) -> str:
    """A text field; "" where it is missing.

    Raises:
        TypeError: it is not a text, as in an edited snapshot.
    """
    return _checked(said, name, lambda value: isinstance(value, str), "a text") or ""


def texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field with a list of texts, as `text_field`."""
    return tuple(_checked(said, name, lambda value: _all_are(str, value), "a list of texts") or ())


def tags(said: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The tags as EKS writes them, sorted by key."""
    return tuple(sorted((str(key), str(value)) for key, value in (said.get("tags") or {}).items()))


def moment(said: Mapping[str, Any], name: str) -> datetime | None:
    """A time field, as `text_field`; None where it is missing. Times of AWS have a time zone."""
    found: datetime | None = _checked(
        said, name, lambda value: isinstance(value, datetime) and value.tzinfo is not None, "a time"
    )
    return found


def parts(said: Mapping[str, Any], name: str) -> tuple[Json, ...]:
    """A field with a list of structures, as `text_field`."""
    return tuple(_checked(said, name, lambda value: _all_are(dict, value), "a list of structures") or ())


def _all_are(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def name_of(said: Mapping[str, Any], name: str) -> str:
    """A text field that has to be there.

    Raises:
        KeyError: it is missing or empty.
    """
    found = text(said, name)
    if not found:
        raise KeyError(name)
    return found


def number(said: Mapping[str, Any], name: str) -> int | None:
    """A field with a whole number, as `text_field`; None where it is missing."""
    found: int | None = _checked(said, name, lambda value: type(value) is int, "a whole number")
    return found


def at_once(keys: Iterable[K], ask: Callable[[K], T]) -> list[tuple[K, T]]:
    """The result of `ask` for each key, in their order; at most `MAX_CONCURRENT_REQUESTS` at a time.

    Raises:
        whatever `ask` raises: the first by the order of the keys.
    """
    wanted = list(keys)
    if len(wanted) < 2:
        return [(key, ask(key)) for key in wanted]
    with ThreadPoolExecutor(min(AT_ONCE, len(wanted)), thread_name_prefix="aws") as pool:
        return list(zip(wanted, pool.map(ask, wanted), strict=True))


def together(asks: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """The result of each question by its name, asked concurrently."""
    return dict(at_once(asks, lambda name: asks[name]()))


def metric_query(
    ident: str, namespace: str, metric: str, dimensions: Mapping[str, str], period_s: int, statistic: str
) -> Json:
    """A query of CloudWatch's GetMetricData."""
    named = [{"Name": name, "Value": value} for name, value in dimensions.items()]
    of = {"Namespace": namespace, "MetricName": metric, "Dimensions": named}
    return {"Id": ident, "MetricStat": {"Metric": of, "Period": period_s, "Stat": statistic}}


# Verification that answers are about the cluster that kubectl is connected to; no answer is used before it.
#
# A context may name a cluster of one account while the credentials are of another account, which may have a cluster of
# the same name.


# Health issues of a cluster, a node group or an add-on, as EKS reports them. Source of the shapes: botocore 1.44.5,
# eks/2017-11-01.


def issues(said: Json) -> tuple[Issue, ...]:
    """The health issues of a described resource.

    Raises:
        TypeError: they are of another form.
    """
    found = parts(said.get("health") or {}, "issues")
    return tuple(issue(each, "code", "message") for each in found)


def issue(said: Json, code: str, message: str) -> Issue:
    """A health issue; `code_field`, `message_field`: names of its fields. EKS repeats messages of an API server, which
    repeat values: values that look like a secret are redacted."""
    return Issue(text(said, code), hidden(text(said, message)), texts(said, "resourceIds"))


# The caller and the cluster: the only requests before the cluster is verified.


def caller_of(aws: AwsClient) -> Caller:
    """The account and ARN of the credentials.

    Raises:
        AwsError: as `AwsClient.ask`.
    """
    return answered(aws, questions.CALLER, {}, lambda said: Caller(text(said, "Account"), text(said, "Arn")))


def cluster_named(aws: AwsClient, name: str) -> EksCluster:
    """The cluster of that name.

    Raises:
        AwsMissing: the account and region have no cluster of that name.
        AwsError: as `AwsClient.ask`.
    """
    return answered(aws, questions.CLUSTER, {"name": name}, lambda said: _cluster(said["cluster"]))


def _cluster(said: Json) -> EksCluster:
    network = said.get("resourcesVpcConfig") or {}
    return EksCluster(
        name=name_of(said, "name"),
        arn=text(said, "arn"),
        version=name_of(said, "version"),
        platform_version=text(said, "platformVersion"),
        status=text(said, "status"),
        endpoint=text(said, "endpoint"),
        ca=text(said.get("certificateAuthority") or {}, "data"),
        support=text(said.get("upgradePolicy") or {}, "supportType"),
        auto_mode=bool((said.get("computeConfig") or {}).get("enabled", False)),
        vpc=text(network, "vpcId"),
        created=moment(said, "createdAt"),
        issues=issues(said),
        subnets=texts(network, "subnetIds"),
        tags=tags(said),
    )


_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)

_EKS_HOST = re.compile(r"\.eks\.amazonaws\.com(?:\.cn)?\.?\Z|\.eks\.[a-z0-9-]+\.api\.|\.api\.aws\.?\Z")
"""Host names of EKS cluster endpoints: IPv4 only, and dual-stack."""

_NOT_BELIEVED = (
    "Nothing of AWS was believed. Give --cluster-name, --region and --profile of the cluster of this context."
)


@frozen
class VerifiedCluster:
    """The cluster, and the credentials that can describe it: required for all other questions. `matched_by`: how it was
    matched with the cluster of kubectl, a clause."""

    aws: AwsClient = field(repr=False, compare=False)
    cluster: EksCluster
    caller: Caller
    by: str


def believed(aws: AwsClient, access: AwsAccess) -> VerifiedCluster:
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
    caller = caller_of(aws)
    if access.account and caller.account and caller.account != access.account:
        raise AwsOtherCluster(
            f"the context is of a cluster in account {access.account}, and the credentials are of account "
            f"{caller.account} ({caller.arn})",
            "Nothing of that account was believed. Give the profile of the right account with --profile.",
        )
    try:
        cluster = cluster_named(aws, access.cluster)
    except AwsMissing as error:
        raise AwsMissing(
            f"there is no EKS cluster {access.cluster!r} in account {caller.account}, region {access.region}",
            "Are --cluster-name, --region and --profile those of the context?",
            error.code,
        ) from error
    _check_arn(cluster, caller, access)
    return VerifiedCluster(aws, cluster, caller, _recognised(cluster, access))


def _check_arn(cluster: EksCluster, caller: Caller, access: AwsAccess) -> None:
    """The account and region of the described cluster have to be the requested ones; a missing ARN is not accepted."""
    accounts = {cluster.account, caller.account, *filter(None, (access.account,))}
    if len(accounts) == 1 and cluster.account and cluster.region == access.region:
        return
    raise AwsOtherCluster(
        f"asked was account {access.account or caller.account or 'unknown'}, region {access.region}, and what is "
        f"described is {cluster.arn or 'a cluster without an ARN'}",
        _NOT_BELIEVED,
    )


def _recognised(cluster: EksCluster, access: AwsAccess) -> str:
    """How the clusters match. An EKS host name decides alone, in the URL or as TLS server name; only behind a tunnel or
    a proxy, which hides it, the certificate authority decides: no two clusters share one."""
    if not access.server:
        raise AwsOtherCluster(
            f"cannot tell whether {cluster.arn} is the cluster that is read: its server is not known",
            "Read it through a kubeconfig.",
        )
    described, name = _host(cluster.endpoint), access.server_name.lower()
    if _host(access.server) == described != "" and name in ("", described):
        return "by its endpoint"
    if name == described != "" and not _EKS_HOST.search(_host(access.server)):
        return "by the name that TLS expects"
    certificates = _certificates(access.ca)
    behind = not any(_EKS_HOST.search(each) for each in (_host(access.server), name))
    if behind and certificates and certificates <= _certificates(_decoded(cluster.ca)):
        return "by its certificate authority"
    raise AwsOtherCluster(
        f"the context talks to {_host(access.server) or access.server}, and EKS cluster {cluster.name!r} of account "
        f"{cluster.account}, region {access.region} is at {_host(cluster.endpoint) or 'no address'}",
        _NOT_BELIEVED,
    )


def _certificates(pem: str) -> set[str]:
    """The certificates without line ends; there are two while a certificate authority is rotated."""
    return {"".join(each.split()) for each in _CERTIFICATE.findall(pem)}


def _decoded(text: str) -> str:
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
