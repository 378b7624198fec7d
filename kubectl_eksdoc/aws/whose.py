"""Whose credentials are used, and which cluster they see: all that may be asked before anything is believed."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Aws, Json, answered, texts
from kubectl_eksdoc.aws.health import issues
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.clusters import Caller, EksCluster


def caller_of(aws: Aws) -> Caller:
    """
    Raises:
        AwsError: as `Aws.ask`.
    """
    return answered(aws, questions.CALLER, {}, lambda said: Caller(said.get("Account", ""), said.get("Arn", "")))


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
        name=said["name"],
        arn=said.get("arn", ""),
        version=said["version"],
        platform_version=said.get("platformVersion", ""),
        status=said.get("status", ""),
        endpoint=said.get("endpoint", ""),
        ca=said.get("certificateAuthority", {}).get("data", ""),
        support=said.get("upgradePolicy", {}).get("supportType", ""),
        auto_mode=bool(said.get("computeConfig", {}).get("enabled", False)),
        vpc=network.get("vpcId", ""),
        created=said.get("createdAt"),
        issues=issues(said),
        subnets=texts(network, "subnetIds"),
    )
