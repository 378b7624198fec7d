"""Nothing that AWS says is believed before it is known to be about the cluster that kubectl talks to.

A context may name a cluster of one account while the credentials at hand are of another one, where there may be a
cluster of the same name.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kubectl_eksdoc.aws.asking import AwsClient, Json, answered, moment, name_of, parts, tags, text, texts
from kubectl_eksdoc.errors import AwsMissing, AwsOtherCluster, UsageError
from kubectl_eksdoc.kubernetes.keeping import hidden
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.addons import Issue
from kubectl_eksdoc.model.aws.clusters import AwsAccess, Caller, EksCluster

# What EKS calls unhealthy in a cluster, a node group or an add-on. Source of the shapes: botocore 1.44.5,
# eks/2017-11-01.


def issues(said: Json) -> tuple[Issue, ...]:
    """Of what was described.

    Raises:
        TypeError: they are none.
    """
    found = parts(said.get("health") or {}, "issues")
    return tuple(issue(each, "code", "message") for each in found)


def issue(said: Json, code: str, message: str) -> Issue:
    """By the names of its fields. EKS repeats what an API server said, and that repeats values: none that looks like a
    secret is taken."""
    return Issue(text(said, code), hidden(text(said, message)), texts(said, "resourceIds"))


# Whose credentials are used, and which cluster they see: all that may be asked before anything is believed.


def caller_of(aws: AwsClient) -> Caller:
    """
    Raises:
        AwsError: as `AwsClient.ask`.
    """
    return answered(aws, questions.CALLER, {}, lambda said: Caller(text(said, "Account"), text(said, "Arn")))


def cluster_named(aws: AwsClient, name: str) -> EksCluster:
    """
    Raises:
        AwsMissing: there is none of that name in the account and region.
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
"""Addresses that EKS gives to clusters: with one address family, and with both."""

_NOT_BELIEVED = (
    "Nothing of AWS was believed. Give --cluster-name, --region and --profile of the cluster of this context."
)


@dataclass(frozen=True, slots=True)
class VerifiedCluster:
    """The cluster, and whose credentials see it: what any other question needs. `by`: how it was recognised, a
    clause."""

    aws: AwsClient = field(repr=False, compare=False)
    cluster: EksCluster
    caller: Caller
    by: str


def believed(aws: AwsClient, access: AwsAccess) -> VerifiedCluster:
    """
    Raises:
        UsageError: nothing says which cluster is meant.
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
    """Account and region of what is described are those that were asked; what is not said is not believed."""
    accounts = {cluster.account, caller.account, *filter(None, (access.account,))}
    if len(accounts) == 1 and cluster.account and cluster.region == access.region:
        return
    raise AwsOtherCluster(
        f"asked was account {access.account or caller.account or 'unknown'}, region {access.region}, and what is "
        f"described is {cluster.arn or 'a cluster without an ARN'}",
        _NOT_BELIEVED,
    )


def _recognised(cluster: EksCluster, access: AwsAccess) -> str:
    """How. An address of EKS decides alone, be it of the URL or the name that TLS expects; only behind a tunnel or a
    proxy, where there is none, the certificate authority does, which no two clusters share."""
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
    """Each without its line ends; while authorities are changed there are two."""
    return {"".join(each.split()) for each in _CERTIFICATE.findall(pem)}


def _decoded(text: str) -> str:
    """Of base64, "" where it is none."""
    try:
        return base64.b64decode(text).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _host(url: str) -> str:
    """In lower case, without a port: ``https://ABC.gr7.eu-west-1.eks.amazonaws.com:443/`` has one, too."""
    try:
        return (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
