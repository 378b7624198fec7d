"""A healthy cluster before its next upgrade step, and functions with which a test changes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from kubectl_eksdoc.check.checking import CheckFacts, CurrentVersion, upgrade_path
from kubectl_eksdoc.check.registry import ALL_CHECKS
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonVersion, AddonVersions, CompatibleVersion
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import ClusterVersion, EksCluster, UpgradeFacts
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.kinds import CheckNeed, KindRead, ReadState, Unknown
from kubectl_eksdoc.model.nodes import Calls, Pod
from kubectl_eksdoc.model.quantities import Version
from tests.builders import NOW, a_cluster, a_node, a_pod

EKS = EksCluster(
    "prod", "arn:aws:eks:eu-west-1:123456789012:cluster/prod", "1.33", "eks.1", "ACTIVE", "", "", "EXTENDED"
)
DENIED = Unknown("IAM does not allow it", "eks:DescribeSomething")

SUPPORTED = tuple(
    ClusterVersion(
        f"1.{minor}",
        "STANDARD_SUPPORT",
        minor == 34,
        NOW - timedelta(days=400),
        NOW + timedelta(days=300),
        NOW + timedelta(days=665),
    )
    for minor in (34, 33, 32)
)
"""So that 1.33 has much time left."""

VPC_CNI = "v1.20.4-eksbuild.2"
OFFERED = {
    "vpc-cni": AddonVersions(
        "vpc-cni",
        "networking",
        "eks",
        (AddonVersion(VPC_CNI, (CompatibleVersion("1.33"), CompatibleVersion("1.34", True))),),
    )
}
TOLD = UpgradeFacts(SUPPORTED, (Addon("vpc-cni", VPC_CNI, "ACTIVE"),), OFFERED)

IMAGES = "602401143452.dkr.ecr.eu-west-1.amazonaws.com"


def a_program(name: str, image: str, owner: str = "", node: str = "node-0", **more: Any) -> Pod:
    """A pod in kube-system with one container of that image."""
    more.setdefault("calls", Calls(images=(image,)))
    return a_pod(name, "kube-system", owner=owner or f"ReplicaSet/{name}-1", node=node, **more)


def a_healthy_cluster(**facts: Any) -> Cluster:
    """A cluster of one version, with kube-proxy and vpc-cni; `facts` replace the facts of the same name."""
    nodes = [
        a_node(f"node-{i}", version="v1.33.1-eks-1b3e656", os_image="Amazon Linux 2023.7.20250609") for i in (0, 1)
    ]
    pods = [
        a_program("kube-proxy-0", f"{IMAGES}/eks/kube-proxy:v1.33.3-eksbuild.4", "DaemonSet/kube-proxy"),
        a_program("aws-node-0", f"{IMAGES}/amazon-k8s-cni:{VPC_CNI}", "DaemonSet/aws-node"),
    ]
    cluster = a_cluster(**({"nodes": nodes, "pods": pods} | facts))
    return replace(cluster, reads=(*cluster.reads, KindRead(kinds.CRON_JOBS, ReadState.READ)))


def healthy(target: str = "1.34", now: str = "1.33", **changed: Any) -> CheckFacts:
    """An upgrade from `now` to `target`; `changed` are fields of `CheckFacts`."""
    found = upgrade_path(CurrentVersion(_version(now), "as a test says"), _version(target))
    facts = CheckFacts(a_healthy_cluster(), found, EKS, TOLD, command_findings=dict.fromkeys(CheckNeed, ()))  # type: ignore[arg-type]
    return replace(facts, **changed)


def with_aws(facts: CheckFacts, **told: Any) -> CheckFacts:
    """The facts with other answers of AWS."""
    return replace(facts, aws=replace(facts.aws, **told))


def found(facts: CheckFacts, code: str) -> tuple[Finding, ...]:
    """The findings with that code of the checks of that code."""
    checks = [each for each in ALL_CHECKS if each.codes[0].name == code]
    assert checks
    told = tuple(each for check in checks for each in check.judge(facts) if each.code.name == code)
    assert all(each.remedy for each in told if each.status is Status.FAIL), "every one says what to do"
    return told


def statuses(facts: CheckFacts, code: str) -> list[str]:
    return [each.status.value for each in found(facts, code)]


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return Version(int(major), int(minor))
