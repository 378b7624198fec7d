"""Rules for pods on nodes: replacements of evicted pods, refusals by kubelets and pod security, and lost nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.imds_probe.probe_result import ProbeSettings, pod_manifest, probe_pods
from kubectl_eksdoc.kubernetes.drain_filters import not_ready_after_s
from kubectl_eksdoc.kubernetes.evictions import KubeletRejection, kubelet_rejection
from kubectl_eksdoc.kubernetes.guards import (
    BASELINE,
    PRIVILEGED,
    RESTRICTED,
    pod_security_refusal,
    pod_security_violations,
)
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement, same_node_reason
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.metadata import PodNetwork
from kubectl_eksdoc.model.nodes import MIRROR_ANNOTATION, ControllerOwner, Pod, Toleration
from kubectl_eksdoc.model.placement import Placement, ResourceRequests
from tests.builders import TOLERATES_ALL, a_node, a_pod, a_workload, an_owner


@pytest.mark.parametrize(
    ("owner", "after", "once_it_ended"),
    [
        ("ReplicaSet/web", Replacement.AT_ONCE, Replacement.NEVER),
        ("StatefulSet/db", Replacement.AFTER_GONE, Replacement.AFTER_GONE),
        ("Job/etl", Replacement.JOB, Replacement.NEVER),
        ("DaemonSet/agent", Replacement.SAME_NODE, Replacement.SAME_NODE),
        (an_owner("StatefulSet/db", group="apps.kruise.io"), Replacement.UNKNOWN, Replacement.UNKNOWN),
        (None, Replacement.NEVER, Replacement.NEVER),
    ],
)
def test_by_owner(owner: str | ControllerOwner | None, after: Replacement, once_it_ended: Replacement) -> None:
    assert replacement(a_pod(owner=owner)) is after
    assert replacement(a_pod(owner=owner, phase="Failed")) is once_it_ended
    assert replacement(a_pod(owner="Node/old-0", annotations={MIRROR_ANNOTATION: "hash"})) is Replacement.NEVER


@pytest.mark.parametrize(
    ("toleration", "reason"),
    [
        (TOLERATES_ALL, "it tolerates every taint, the cordon included"),
        (Toleration("node.kubernetes.io/unschedulable"), "it tolerates node.kubernetes.io/unschedulable"),
        (Toleration(operator="Exists", effect="NoExecute"), ""),
        (Toleration("node.kubernetes.io/unschedulable", "Equal", "other"), ""),
        (Toleration(), ""),
    ],
)
def test_the_templates_tolerations_decide(toleration: Toleration, reason: str) -> None:
    assert same_node_reason(a_pod(), a_workload(template_tolerations=(toleration,))) == reason
    assert same_node_reason(a_pod(tolerations=(toleration,)), None) == reason
    assert same_node_reason(a_pod(tolerations=(toleration,)), a_workload()) == ""
    assert same_node_reason(a_pod(owner=None, tolerations=(toleration,)), None) == ""
    assert same_node_reason(a_pod(owner="DaemonSet/agent"), None) == "its DaemonSet tolerates the cordon"
    assert "spec.nodeName old-0" in same_node_reason(a_pod(node="old-0"), a_workload(pinned_to="old-0"))
    assert same_node_reason(a_pod(node="old-1"), a_workload(pinned_to="old-0")) == ""


NODE = replace(a_node("n"), pods_allocatable=3, allocatable={"cpu": 1000, "memory": 1000, "pods": 3})


def pod(name: str, cpu: int = 0, memory: int = 0, phase: str = "Running") -> Pod:
    return replace(a_pod(name, node="n"), phase=phase, placement=Placement(ResourceRequests(cpu, memory)))


def test_each_resource_by_its_name() -> None:
    old = [pod("old", 700, 100)]
    text = "Node didn't have enough resource: cpu, requested: 400, used: 700, capacity: 1000"
    assert kubelet_rejection(pod("new", 400), NODE, old) == KubeletRejection("OutOfcpu", f"Pod was rejected: {text}")
    full = [pod(f"old-{number}") for number in range(3)]
    for new, there, reason in ((pod("new", 0, 950), old, "OutOfmemory"), (pod("new"), full, "OutOfpods")):
        found = kubelet_rejection(new, NODE, there)
        assert found is not None and found.reason == reason
    # Completed pods use no resources, and the pod itself is among the pods of its node.
    ended = [pod(f"old-{number}", 1000, 1000, "Succeeded") for number in range(5)]
    assert kubelet_rejection(pod("new", 1000, 1000), NODE, [*ended, pod("new", 1000)]) is None


@given(some.lists(some.integers(0, 500), max_size=2), some.integers(0, 1200))
def test_never_more_than_there_is(taken: list[int], asked: int) -> None:
    there = [pod(f"old-{number}", cpu) for number, cpu in enumerate(taken)]
    found = kubelet_rejection(pod("new", asked), NODE, there)
    assert (found is None) == (asked == 0 or sum(taken) + asked <= 1000)


STRICT: Doc = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def spec(own: Doc | None = None, **of: Any) -> Doc:
    return {"containers": [{"name": "app", "securityContext": STRICT | (own or {})}], **of}


@pytest.mark.parametrize(
    ("made", "baseline", "restricted"),
    [
        (spec(), [], []),
        (
            spec(
                {"runAsNonRoot": True, "seccompProfile": None},
                securityContext={"seccompProfile": {"type": "Localhost"}},
            ),
            [],
            [],
        ),
        (spec(hostNetwork=True), ["host namespaces (hostNetwork=true)"], []),
        (spec(hostPID=True, hostIPC=True), ["host namespaces (hostPID=true, hostIPC=true)"], []),
        (spec(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), ['hostPath volumes (volume "v")'], []),
        (
            {"containers": [{"name": "app", "securityContext": STRICT, "ports": [{"hostPort": 80}]}]},
            ["hostPort (hostPort 80)"],
            [],
        ),
        (
            spec({"privileged": True}),
            ['privileged (container "app" must not set securityContext.privileged=true)'],
            [],
        ),
        (
            spec({"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}}),
            ['non-default capabilities (container "app" must not include them)'],
            [],
        ),
        (spec({"runAsUser": 0}), [], ["runAsUser=0 (must not set runAsUser=0)"]),
        (
            spec({"runAsNonRoot": None}),
            [],
            ['runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true)'],
        ),
        (
            spec({"allowPrivilegeEscalation": None}),
            [],
            [
                'allowPrivilegeEscalation != false (container "app" must set '
                "securityContext.allowPrivilegeEscalation=false)"
            ],
        ),
        (
            spec({"capabilities": {}}),
            [],
            ['unrestricted capabilities (container "app" must set securityContext.capabilities.drop=["ALL"])'],
        ),
        (
            spec({"seccompProfile": None}),
            [],
            [
                'seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")'
            ],
        ),
    ],
)
def test_what_each_level_forbids(made: Doc, baseline: list[str], restricted: list[str]) -> None:
    assert list(pod_security_violations(PRIVILEGED, made)) == []
    assert list(pod_security_violations(BASELINE, made)) == baseline
    assert list(pod_security_violations(RESTRICTED, made)) == baseline + restricted
    said = f'violates PodSecurity "baseline:latest": {", ".join(baseline)}' if baseline else ""
    assert (pod_security_refusal(BASELINE, made), pod_security_refusal("no such level", made)) == (said, "")


def test_a_probe_keeps_to_the_strictest_level_but_for_the_hosts_network() -> None:
    own, host = (
        pod_manifest(pod, "cafe", ProbeSettings(), "uid")["spec"]
        for pod in probe_pods("cafe", ["node"], tuple(PodNetwork))
    )
    assert pod_security_violations(RESTRICTED, own) == ()
    assert pod_security_violations(RESTRICTED, host) == ("host namespaces (hostNetwork=true)",)


@pytest.mark.parametrize(
    ("server", "seconds"),
    [
        ("v1.32.0-eks-1", 50),
        ("v1.36.1", 50),
        ("of a fork", 50),
        ("1.30", 40),
    ],
)
def test_not_ready_after(server: str, seconds: int) -> None:
    assert not_ready_after_s(server) == seconds
