"""What comes after an evicted pod, by the kind of its owner, and who comes back to a cordoned node."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement, returns_to_node
from kubectl_eksdoc.model.nodes import MIRROR, ControllerOwner, Toleration
from tests.builders import TOLERATES_ALL, TOLERATES_CORDON, a_pod, a_workload, an_owner


@pytest.mark.parametrize(
    ("owner", "after"),
    [
        ("ReplicaSet/web", Replacement.AT_ONCE),
        ("ReplicationController/web", Replacement.AT_ONCE),
        ("StatefulSet/db", Replacement.AFTER_GONE),
        ("Job/etl", Replacement.JOB),
        ("DaemonSet/agent", Replacement.SAME_NODE),
        ("CloneSet/web", Replacement.UNKNOWN),
        (an_owner("StatefulSet/db", group="apps.kruise.io"), Replacement.UNKNOWN),
        (None, Replacement.NEVER),
    ],
)
def test_by_owner(owner: str | ControllerOwner | None, after: Replacement) -> None:
    assert replacement(a_pod(owner=owner)) is after


def test_a_mirror_pods_owner_is_its_node_and_nothing_creates_it_again() -> None:
    assert replacement(a_pod(owner="Node/old-0", annotations={MIRROR: "hash"})) is Replacement.NEVER


@pytest.mark.parametrize(
    ("owner", "after"),
    [
        ("ReplicaSet/web", Replacement.NEVER),
        ("Job/etl", Replacement.NEVER),
        ("StatefulSet/db", Replacement.AFTER_GONE),
        ("DaemonSet/agent", Replacement.SAME_NODE),
    ],
)
def test_finished_pods(owner: str, after: Replacement) -> None:
    assert replacement(a_pod(owner=owner, phase="Failed")) is after


@pytest.mark.parametrize(
    ("toleration", "reason"),
    [
        (TOLERATES_ALL, "it tolerates every taint, the cordon included"),
        (TOLERATES_CORDON, "it tolerates node.kubernetes.io/unschedulable"),
        (Toleration("node.kubernetes.io/unschedulable"), "it tolerates node.kubernetes.io/unschedulable"),
        (Toleration(operator="Exists", effect="NoSchedule"), "it tolerates every taint, the cordon included"),
        (Toleration(operator="Exists", effect="NoExecute"), ""),
        (Toleration("node.kubernetes.io/not-ready", "Exists", effect="NoExecute"), ""),
        (Toleration("node.kubernetes.io/unschedulable", "Equal", "other"), ""),
        (Toleration(), ""),
    ],
)
def test_the_templates_tolerations_decide(toleration: Toleration, reason: str) -> None:
    assert returns_to_node(a_pod(), a_workload(template_tolerations=(toleration,))) == reason
    assert returns_to_node(a_pod(tolerations=(toleration,)), None) == reason
    assert returns_to_node(a_pod(tolerations=(toleration,)), a_workload()) == ""


def test_a_template_that_names_the_node() -> None:
    assert "spec.nodeName old-0" in returns_to_node(a_pod(node="old-0"), a_workload(pinned_to="old-0"))
    assert returns_to_node(a_pod(node="old-1"), a_workload(pinned_to="old-0")) == ""


def test_what_nobody_creates_again_does_not_return() -> None:
    assert returns_to_node(a_pod(owner=None, tolerations=(TOLERATES_ALL,)), None) == ""


def test_a_daemon_sets_pod_returns_without_being_asked_for_tolerations() -> None:
    assert returns_to_node(a_pod(owner="DaemonSet/agent"), None) == "its DaemonSet tolerates the cordon"
