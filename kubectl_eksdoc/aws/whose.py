"""Whose credentials are used, and which cluster they see: all that may be asked before anything is believed."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Aws, Json, answered, moment, name_of, text, texts
from kubectl_eksdoc.aws.health import issues
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.clusters import Caller, EksCluster


def caller_of(aws: Aws) -> Caller:
    """
    Raises:
        AwsError: as `Aws.ask`.
    """
    return answered(aws, questions.CALLER, {}, lambda said: Caller(text(said, "Account"), text(said, "Arn")))


def cluster_named(aws: Aws, name: str) -> EksCluster:
    """
    Raises:
        AwsMissing: there is none of that name in the account and region.
        AwsError: as `Aws.ask`.
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
    )
