"""The version of the control plane and every version up to the target; kubelets and kube-proxies, now and after each
step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.versions import NoPath
from kubectl_eksdoc.check.checking import CheckFacts, CurrentVersion, Gate, UpgradePath, current_version, upgrade_path
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, Calls
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_node, a_pod
from tests.check.healthy import IMAGES, a_healthy_cluster, a_program, found, healthy, statuses

ALL = (
    "kubelet-skew",
    "kubelet-newer",
    "nodes-behind",
    "fargate-restart",
    "kube-proxy-skew",
)
UNREAD: Any = {"unread": [kinds.NODES, kinds.PODS], "nodes": (), "pods": ()}


def of(facts: CheckFacts, **changed: Any) -> CheckFacts:
    return replace(facts, cluster=a_healthy_cluster(**changed))


def nodes(*versions: str, **more: Any) -> list:
    return [a_node(f"node-{i}", version=version, **more) for i, version in enumerate(versions)]


@pytest.mark.parametrize("code", ALL)
def test_what_is_not_read_is_not_known(code: str) -> None:
    (one,) = found(of(healthy(), **UNREAD), code)
    assert one.status.value == "unknown" and "list nodes" in one.missing


@pytest.mark.parametrize(
    ("kubelet", "now", "target", "severity"),
    [
        ("v1.30.1", "1.33", "1.34", Severity.CRITICAL),  # three behind now, four after the step
        ("v1.31.1", "1.33", "1.34", None),  # three behind after it, which is allowed
        ("v1.31.1", "1.33", "1.35", Severity.HIGH),  # only the second step is too far
        ("v1.24.1", "1.27", "1.28", Severity.CRITICAL),  # older ones may be two behind only
        ("v1.25.1", "1.27", "1.28", None),
    ],
)
def test_before_which_step_nodes_are_upgraded(kubelet: str, now: str, target: str, severity: Severity | None) -> None:
    facts = of(healthy(now=now, target=target), nodes=nodes(kubelet, kubelet))
    assert [each.severity for each in found(facts, "kubelet-skew")] == ([] if severity is None else [severity])


def test_each_group_is_told_once() -> None:
    both = [
        *nodes("v1.30.1", "v1.30.2"),
        a_node("spot", version="v1.29.1", group="", labels={"karpenter.sh/nodepool": "general"}),
    ]
    found_ones = found(of(healthy(), nodes=both), "kubelet-skew")
    assert [(each.subject.kind, each.subject.name) for each in found_ones] == [
        ("NodePool", "general"),
        ("Nodegroup", "blue"),
    ]
    assert "already now" in found_ones[0].message and "once the control plane has 1.34" in found_ones[1].message


def test_a_kubelet_must_not_be_newer() -> None:
    (one,) = found(of(healthy(), nodes=nodes("v1.34.0", "v1.33.0")), "kubelet-newer")
    assert one.message.startswith("1 node newer")


def test_what_is_left_after_the_control_plane() -> None:
    (one,) = found(of(healthy(), nodes=nodes("v1.33.1", "v1.34.1")), "nodes-behind")
    assert one.message == "1 of 2 nodes without 1.34 yet"
    assert statuses(of(healthy(), nodes=nodes("v1.34.1")), "nodes-behind") == []


def test_fargate_pods_are_restarted_and_daemons_are_not_there() -> None:
    fargate = a_node("fargate-a", group="", version="v1.33.1", labels={COMPUTE_TYPE: "fargate"})
    facts = of(healthy(), nodes=[fargate], pods=[a_pod("web-1", node="fargate-a"), a_pod("web-2", node="other")])
    (one,) = found(facts, "fargate-restart")
    assert str(one.subject) == "default/web-1"
    assert "no budget holds it back" in one.remedy[0].text  # a rollout is no eviction
    assert statuses(facts, "nodes-behind") == []
    silent = of(healthy(), nodes=[replace(fargate, kubelet=None)], pods=[a_pod("web-1", node="fargate-a")])
    assert statuses(silent, "fargate-restart") == ["unknown"]


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("v1.30.3-eksbuild.1", ["once the control plane has 1.34"]),
        ("v1.34.0-eksbuild.1", ["now"]),  # newer than the control plane
        ("v1.32.3-eksbuild.1", []),
        ("v1.29.0-eksbuild.1", ["now", "on 1 node it is too far from the kubelet beside it"]),
        ("latest", ["which version kube-proxy has is not known"]),
    ],
)
def test_kube_proxy_against_both_sides(tag: str, said: list[str]) -> None:
    proxy = a_program("kube-proxy-0", f"{IMAGES}/eks/kube-proxy:{tag}", "DaemonSet/kube-proxy")
    findings = found(of(healthy(), pods=[proxy]), "kube-proxy-skew")
    assert len(findings) == len(said)
    assert all(each.remedy for each in findings if each.status is Status.FAIL)
    assert all(any(each.message.startswith(text) for each in findings) for text in said)


def test_a_mirror_under_another_name_is_not_known() -> None:
    proxy = a_program("kp", "registry.example/mirror/kp:v9", labels={"k8s-app": "kube-proxy"})
    assert statuses(of(healthy(), pods=[replace(proxy, calls=Calls(images=("x/kp:v9",)))]), "kube-proxy-skew") == [
        "unknown"
    ]


@pytest.mark.parametrize("code", ["kubelet-skew", "kubelet-newer", "nodes-behind"])
@pytest.mark.parametrize("version", ["", "latest"])
def test_a_kubelet_that_does_not_say_how_old_it_is_passes_none_of_these(code: str, version: str) -> None:
    facts = of(healthy(), nodes=[a_node("a", version=version), a_node("b", version="v1.34.0-eks-1")])
    assert "unknown" in statuses(facts, code)


@pytest.mark.parametrize(
    ("version", "target", "gate"),
    [
        ("v1.30.1", "1.34", Gate.BEFORE_CONTROL_PLANE),
        ("v1.29.1", "1.34", Gate.BEFORE_CONTROL_PLANE),
        ("v1.31.1", "1.35", Gate.AFTER),
    ],
)
@pytest.mark.parametrize("code", ["kubelet-skew", "kube-proxy-skew"])
def test_what_only_a_later_step_asks_for_does_not_stand_before_the_next_one(
    code: str, version: str, target: str, gate: Gate
) -> None:
    """The checklist has it between the two steps."""
    proxy = a_program("kube-proxy-0", f"{IMAGES}/eks/kube-proxy:{version}", "DaemonSet/kube-proxy")
    facts = of(healthy(target=target), nodes=nodes(version), pods=[proxy])
    judged = plan_check(facts, choose_checks([code]), CheckScope(frozenset([code]))).judged
    assert [(each.check.gate, len(each.findings)) for each in judged if each.findings] == [(gate, 1)]
    (finding,) = (one for each in judged for one in each.findings)
    before = "Bring kube-proxy to 1.33, by its add-on or DaemonSet, before the next step of the control plane."
    if code == "kube-proxy-skew":
        assert (finding.remedy[0].text == before) is (gate is Gate.BEFORE_CONTROL_PLANE) and len(finding.remedy) == 1


NONE = Unknown("AWS was not asked")
NODES = [a_node("a", version="v1.31.2-eks-1"), a_node("b", version="v1.32.9-eks-1")]


@pytest.mark.parametrize(
    ("eks", "server", "nodes", "version", "assumed"),
    [
        ("1.33", "v1.32.1", NODES, (1, 33), False),
        (NONE, "v1.33.4-eks-1b3e656", NODES, (1, 33), False),
        (NONE, "", NODES, (1, 32), True),
        ("no version", "v1.33", [], (1, 33), False),
    ],
)
def test_the_surest_one_tells(eks: str | Unknown, server: str, nodes: list, version: tuple, assumed: bool) -> None:
    here = current_version(eks, server, nodes)
    assert isinstance(here, CurrentVersion)
    assert ((here.version.major, here.version.minor), here.assumed) == (version, assumed)
    assert here.version.patch is None


@pytest.mark.parametrize("nodes", [[], [a_node("a", version="unknown")]])
def test_nobody_tells(nodes: list) -> None:
    assert isinstance(current_version(NONE, "", nodes), Unknown)


def test_without_a_target_it_is_the_next() -> None:
    found = upgrade_path(CurrentVersion(Version(1, 33), "x"), None)
    assert isinstance(found, UpgradePath)
    assert found.text == "1.33 → 1.34"


@given(st.integers(20, 60), st.integers(20, 60))
def test_one_minor_at_a_time(now: int, target: int) -> None:
    found = upgrade_path(CurrentVersion(Version(1, now), "x"), Version(1, target, 3))
    if target < now:
        assert isinstance(found, NoPath)
        return
    assert isinstance(found, UpgradePath)
    assert [each.minor for each in found.steps] == list(range(now + 1, target + 1))
    assert found.target == Version(1, target)
