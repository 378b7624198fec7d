"""EKS add-ons and other software: which need an update, and at which step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts, Gate
from kubectl_eksdoc.check.node_steps import build_checklist
from kubectl_eksdoc.check.registry import ALL_CHECKS
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonVersion, AddonVersions, CompatibleVersion, HealthIssue
from kubectl_eksdoc.model.kinds import Absent
from tests.builders import a_node
from tests.check.healthy import (
    DENIED,
    IMAGES,
    VPC_CNI,
    a_healthy_cluster,
    a_program,
    found,
    healthy,
    statuses,
    with_aws,
)

ALL = (
    "check-addon-unfit",
    "check-addon-health",
    "program-before-control-plane",
    "program-before-nodes",
    "program-after",
    "program-unknown",
)
KARPENTER = "public.ecr.aws/karpenter/controller"


@pytest.mark.parametrize("code", ALL[2:])
def test_programs_that_are_not_read_are_not_known(code: str) -> None:
    facts = replace(healthy(), cluster=a_healthy_cluster(unread=[kinds.PODS], pods=()))
    assert statuses(facts, code) == ["unknown"]


@pytest.mark.parametrize("code", ALL[:2])
def test_addons_that_may_not_be_listed_are_not_known(code: str) -> None:
    (one,) = found(with_aws(healthy(), addons=DENIED), code)
    assert (one.status.value, one.missing) == ("unknown", DENIED.missing)
    assert statuses(with_aws(healthy(), addons=(DENIED,)), code) == ["unknown"]


def offered(*versions: AddonVersion) -> dict:
    return {"vpc-cni": AddonVersions("vpc-cni", "networking", "eks", versions)}


@pytest.mark.parametrize(
    ("fits", "when", "gate", "severity"),
    [
        (("1.33", "1.34"), "before the control plane: v2 fits both sides", Gate.BEFORE_CONTROL_PLANE, "high"),
        (("1.34",), "after the control plane, at once: no version", Gate.AFTER, "medium"),
    ],
)
def test_an_addon_that_does_not_fit(fits: tuple[str, ...], when: str, gate: Gate, severity: str) -> None:
    """An add-on that can only be updated after the control plane blocks no step of the control plane."""
    to = AddonVersion("v2", tuple(CompatibleVersion(each, each == "1.34") for each in fits))
    versions = offered(to, AddonVersion(VPC_CNI, (CompatibleVersion("1.33"),)))
    facts = with_aws(healthy(), addon_versions=versions)
    (one,) = found(facts, "check-addon-unfit")
    assert one.message == f"version {VPC_CNI} is not for 1.34"
    assert when in one.evidence[1]
    assert one.remedy[0].command == "kubectl eksdoc addon-diff vpc-cni --to v2"
    checks = [each for each in ALL_CHECKS if each.codes[0].name == "check-addon-unfit"]
    assert [(c.gate, f.severity.value) for c in checks for f in c.judge(facts)] == [(gate, severity)]


def test_kube_proxy_never_goes_before_the_control_plane() -> None:
    newer = AddonVersion("v1.34.0-eksbuild.1", (CompatibleVersion("1.33"), CompatibleVersion("1.34", True)))
    proxy = AddonVersions(
        "kube-proxy", "networking", "eks", (newer, AddonVersion("v1.30.0", (CompatibleVersion("1.33"),)))
    )
    told = {"addons": (Addon("kube-proxy", "v1.30.0", "ACTIVE"),), "addon_versions": {"kube-proxy": proxy}}
    (one,) = found(with_aws(healthy(), **told), "check-addon-unfit")
    assert (one.severity.value, "it must never be newer than it" in one.evidence[1]) == ("medium", True)


def test_on_a_long_way_an_addon_goes_at_the_first_step_that_it_does_not_fit() -> None:
    """No version fits both 1.33 and 1.36, but one fits 1.34 and 1.35: no update has to wait for the last step."""
    last = AddonVersion("v3", (CompatibleVersion("1.35", True), CompatibleVersion("1.36", True)))
    second, first = (
        (CompatibleVersion("1.34"), CompatibleVersion("1.35")),
        (CompatibleVersion("1.33"), CompatibleVersion("1.34")),
    )
    versions = last, AddonVersion("v2", second), AddonVersion(VPC_CNI, first)
    (one,) = found(with_aws(healthy("1.36"), addon_versions=offered(*versions)), "check-addon-unfit")
    assert one.message == f"version {VPC_CNI} is not for 1.35"
    assert one.evidence == (
        "2 versions fit 1.35, 1 of them 1.34, too",
        "It is updated before the control plane: v2 fits both sides of the step.",
    )
    assert one.remedy[0].command == "kubectl eksdoc addon-diff vpc-cni --to v2"


@pytest.mark.parametrize(
    "versions",
    [
        {},
        {"vpc-cni": DENIED},
        {"vpc-cni": Absent("no such add-on")},
        offered(AddonVersion("v9", (CompatibleVersion("1.34"),))),
    ],
)
def test_an_addon_whose_versions_are_not_known(versions: dict) -> None:
    assert statuses(with_aws(healthy(), addon_versions=versions), "check-addon-unfit") == ["unknown"]


@pytest.mark.parametrize(
    ("addon", "status"),
    [
        (
            Addon("vpc-cni", VPC_CNI, "DEGRADED", issues=(HealthIssue("ConfigurationConflict", "it conflicts"),)),
            ["fail"],
        ),
        (Addon("vpc-cni", VPC_CNI, "UPDATE_FAILED"), ["fail"]),
        (
            Addon("vpc-cni", VPC_CNI, "ACTIVE", issues=(HealthIssue("InsufficientNumberOfReplicas", "0 of 2"),)),
            ["fail"],
        ),
        (Addon("vpc-cni", VPC_CNI, "UPDATING"), []),
        (Addon("vpc-cni", VPC_CNI, "NEW_WORD"), ["unknown"]),
    ],
)
def test_how_an_addon_is(addon: Addon, status: list[str]) -> None:
    assert statuses(with_aws(healthy(), addons=(addon,)), "check-addon-health") == status


def with_program(image: str, now: str = "1.33", target: str = "1.34", **more: Any) -> CheckFacts:
    return replace(healthy(now=now, target=target), cluster=a_healthy_cluster(pods=[a_program("it", image, **more)]))


@pytest.mark.parametrize(
    ("image", "now", "target", "before"),
    [
        (f"{KARPENTER}:1.5.0", "1.33", "1.34", ["fail"]),
        (f"{KARPENTER}:1.6.0", "1.33", "1.34", []),
        (f"{IMAGES}/amazon-k8s-cni:v1.11.4-eksbuild.1", "1.25", "1.26", ["fail"]),
        ("public.ecr.aws/eks/aws-load-balancer-controller:v2.4.3", "1.24", "1.25", ["unknown"]),  # if EndpointSlices
    ],
)
def test_before_the_control_plane(image: str, now: str, target: str, before: list[str]) -> None:
    code = "program-before-control-plane"
    assert statuses(with_aws(with_program(image, now, target), addons=()), code) == before
    assert statuses(with_aws(with_program(image, now, target, phase="Succeeded"), addons=()), code) == []
    if "amazon-k8s-cni" in image:
        assert statuses(with_program(image, now, target), code) == [], "what EKS manages is judged by EKS"


def test_al2023_needs_a_newer_vpc_cni() -> None:
    facts = with_program(f"{IMAGES}/amazon-k8s-cni:v1.15.1-eksbuild.1", "1.29", "1.30")
    (one,) = found(facts, "program-before-nodes")
    assert "1.16.2 or newer" in one.remedy[0].text
    untold = with_program(f"{IMAGES}/amazon-k8s-cni:latest", "1.29", "1.30")
    assert statuses(untold, "program-before-nodes") == ["unknown"]
    bottlerocket = [a_node(os_image="Bottlerocket OS 1.40.0 (aws-k8s-1.32)")]
    no_family = replace(facts, cluster=replace(facts.cluster, nodes=tuple(bottlerocket)))
    assert statuses(no_family, "program-before-nodes") == []


def test_kube_proxy_and_the_cluster_autoscaler_follow() -> None:
    (one,) = found(healthy(), "program-after")
    assert "kube-proxy 1.33.3 is to be updated after the control plane has 1.34" in one.message
    there = with_program(f"{IMAGES}/eks/kube-proxy:v1.34.0-eksbuild.1", "1.33", "1.34")
    assert statuses(there, "program-after") == []
    (due,) = found(with_program(f"{IMAGES}/eks/kube-proxy:v1.33.0-eksbuild.1", "1.34", "1.34"), "program-after")
    assert "is to be updated now that the control plane has 1.34" in due.message
    assert "before the next upgrade" in due.remedy[0].text


def test_what_no_table_lists_does_not_fail_for_ever_once_the_control_plane_is_there() -> None:
    """Only EKS knows which version of vpc-cni follows: without its answer, no update would clear the finding."""
    image = f"{IMAGES}/amazon-k8s-cni:v1.21.2-eksbuild.1"
    there = with_aws(with_program(image, "1.34", "1.34"), addons=())
    assert statuses(there, "program-after") == []
    (one,) = found(there, "program-unknown")
    assert (one.severity.value, one.status.value) == ("info", "pass") and "EKS offers the versions" in one.message
    before = with_aws(with_program(image), addons=())
    assert statuses(before, "program-after") == ["fail"]


def test_a_cluster_autoscaler_newer_than_the_control_plane_is_not_told_to_become_it() -> None:
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v{}"
    assert statuses(with_program(image.format("1.35.0"), "1.34", "1.34"), "program-after") == []
    assert statuses(with_program(image.format("1.33.0"), "1.34", "1.34"), "program-after") == ["fail"]


@pytest.mark.parametrize(
    ("image", "status"),
    [
        ("quay.io/prometheus/prometheus:v3.1.0", ["pass"]),  # its project publishes no table
        ("quay.io/argoproj/argocd:v99.0.0", ["pass"]),  # newer than a table that promises nothing of others
        ("quay.io/argoproj/argocd:v2.14.0", ["pass"]),  # tested with others
        ("quay.io/argoproj/argocd:v3.2.3", []),
        ("public.ecr.aws/aws-observability/aws-for-fluent-bit:2.32.0", []),  # needed by 1.24
        (f"{KARPENTER}:latest", ["unknown"]),
        ("nginx:1.27", []),
    ],
)
def test_what_is_not_known_of_a_program(image: str, status: list[str]) -> None:
    assert statuses(with_program(image), "program-unknown") == status


def test_controller_and_agent_of_one_installation_are_one() -> None:
    """A self-managed CSI driver has a Deployment and a DaemonSet with the same image."""
    image = "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.54.0"
    pods = [a_program(f"ebs-{at}", image, owner) for at, owner in enumerate(("DaemonSet/node", "ReplicaSet/ctl-1"))]
    others = [a_program("ebs-9", image.replace("v1.54.0", "v1.44.0"), "DaemonSet/old")]
    cluster = a_healthy_cluster()
    facts = replace(healthy(), cluster=replace(cluster, pods=(*cluster.pods, *pods, *others)))
    told = [each for each in found(facts, "program-after") if "aws-ebs-csi-driver" in each.message]
    assert [each.subject.name for each in told] == ["old", "ctl"]
    steps = [each.title for each in build_checklist(facts) if "aws-ebs-csi-driver" in each.title]
    assert len(steps) == 2, "one for each installation"
