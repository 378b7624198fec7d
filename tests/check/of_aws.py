"""Facts of a cluster that can be upgraded according to AWS; tests remove some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kubectl_eksdoc.check.checking import CheckFacts, UpgradePath
from kubectl_eksdoc.check.registry import ALL_CHECKS
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.eks import PASSING, READINESS, EksCluster, Insight, UpgradeFacts
from kubectl_eksdoc.model.findings import Code, Finding, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import QUOTAS, NodeGroup, Quota, Subnet
from kubectl_eksdoc.model.quantities import Version
from tests.builders import NOW, a_cluster, a_node, a_pod

ARN = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"
SUBNETS = ("subnet-a", "subnet-b", "subnet-c")
DENIED = Unknown("IAM does not allow it", "eks:Something")


def before(**lengths: float) -> datetime:
    return NOW - timedelta(**lengths)


def eks(**more: Any) -> EksCluster:
    fields: dict[str, Any] = {"status": "ACTIVE", "subnets": SUBNETS, "support": "EXTENDED"} | more
    known = {"version": "1.33", "platform_version": "eks.1", "endpoint": "https://x", "ca": ""}
    return EksCluster(name="prod", arn=ARN, **known, **fields)


def an_insight(**more: Any) -> Insight:
    fields: dict[str, Any] = {
        "id": "1",
        "name": "Kubelet version skew",
        "category": READINESS,
        "version": "1.34",
        "status": PASSING,
        "refreshed": before(hours=5),
        "changed": before(days=3),
    }
    return Insight(**(fields | more))


def a_group(name: str = "blue", **more: Any) -> NodeGroup:
    fields: dict[str, Any] = {
        "ami_type": "AL2023_x86_64_STANDARD",
        "release": "1.33.5-20251106",
        "version": "1.33",
        "status": "ACTIVE",
        "at_once": "1",
        "subnets": SUBNETS,
        "size": 2,
        "capacity": "ON_DEMAND",
        "instance_types": ("m6i.xlarge",),
        "strategy": "DEFAULT",
        "disk": 80,
    }
    return NodeGroup(name, **(fields | more))


def an_update(status: str = "Successful", **more: Any) -> EksAddonUpdate:
    fields: dict[str, Any] = {"id": "u-1", "type": "VersionUpdate", "status": status, "begun": before(days=30)}
    return EksAddonUpdate(**(fields | more))


def history(*updates: EksAddonUpdate | Unknown, unseen: int = 0) -> UpdateHistory:
    return UpdateHistory(updates, unseen)


def told(*groups: NodeGroup | Unknown, **more: Any) -> UpgradeFacts:
    """The answers of AWS about these node groups, or about a healthy one."""
    named = {each.name if isinstance(each, NodeGroup) else "red": each for each in groups or (a_group(),)}
    fields: dict[str, Any] = {
        "insights": (an_insight(),),
        "other_insights": (),
        "cluster_updates": history(an_update()),
        "node_groups": named,
        "group_updates": {name: history() for name in named},
        "releases": {("AL2023_x86_64_STANDARD", "1.33"): "1.33.5-20251106"},
        "subnets": {each: Subnet(each, f"eu-west-1{each[-1]}", 500, "10.0.0.0/20") for each in SUBNETS},
        "quotas": {each.code: Quota(each.code, 1000.0, used=10.0) for each in QUOTAS},
    }
    return UpgradeFacts(**(fields | more))


def nodes(count: int = 2, group: str = "blue", **more: Any) -> list[Any]:
    fields: dict[str, Any] = {"os_image": "Amazon Linux 2023.7.20250609", "allocatable": {"cpu": 3920}} | more
    fields.setdefault("version", "v1.33.1-eks-1b3e656")
    return [a_node(f"{group or 'own'}-{each}", group=group, **fields) for each in range(count)]


def facts(aws: UpgradeFacts | None = None, target: str = "1.34", **more: Any) -> CheckFacts:
    """Facts for an upgrade from 1.33; `more`: other facts of the cluster, or `eks`, `unread`."""
    minor = int(target.partition(".")[2])
    steps = tuple(Version(1, each) for each in range(34, minor + 1))
    of_eks = more.pop("eks", eks())
    held = {"nodes": nodes(), "pods": [a_pod(node="blue-0")]} | more
    way = UpgradePath(Version(1, 33), Version(1, minor), steps, "as EKS describes it")
    return CheckFacts(a_cluster(**held), way, of_eks, told() if aws is None else aws)


def find(given: CheckFacts, code: str) -> list[Finding]:
    """The findings of the checks of that code."""
    found = [each for check in ALL_CHECKS if Code.of(code) in check.codes for each in check.judge(given)]
    found = [each for each in found if each.code.name == code]
    assert all(each.remedy for each in found if each.status is Status.FAIL), "every one says what to do"
    assert all(each.missing for each in found if each.status is Status.UNKNOWN), "and what is missing"
    return found


def one(given: CheckFacts, code: str) -> Finding:
    (found,) = find(given, code)
    return found


def without(aws: UpgradeFacts, names: Iterable[str], why: Unknown = DENIED) -> UpgradeFacts:
    """`aws` without these answers."""
    return replace(aws, **dict.fromkeys(names, why))


def text(finding: Finding) -> str:
    return "\n".join((finding.message, *finding.evidence, *(f"{each.text} {each.command}" for each in finding.remedy)))
