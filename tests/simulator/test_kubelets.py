"""The simulated scheduler and kubelets: the nodes that pods get, and the times at which they start and stop."""

from __future__ import annotations

from collections import Counter

import pytest

from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.registry import DeleteOptions
from tests.simulator.control_planes import NODES, PODS, Steady, a_node_doc, a_plane, a_pod_doc, condition, doc_of


def test_a_pod_is_ready_when_its_start_is_over_and_ends_when_it_has_run() -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("new", restartPolicy="Never")], Steady(start=20, run=60))
    plane.virtual_time.run_until(19)
    assert doc_of(plane, PODS, "new")["status"]["phase"] == "Pending"
    plane.virtual_time.run_until(21)
    new = doc_of(plane, PODS, "new")
    assert condition(new, "Ready")["status"] == "True"
    assert [each["name"] for each in new["status"]["containerStatuses"]] == ["app"]
    assert new["status"]["startTime"] == "2026-11-20T08:00:20Z"
    plane.virtual_time.run_until(79)
    assert doc_of(plane, PODS, "new")["status"]["phase"] == "Running"
    plane.virtual_time.run_until(81)
    assert doc_of(plane, PODS, "new")["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize(("stop", "grace", "gone_s"), [(5, 30, 5), (60, 30, 30), (60, 40, 2), (float("inf"), 30, 30)])
def test_a_pod_stops_when_it_can_and_at_the_latest_when_its_grace_period_is_over(
    stop: float, grace: int, gone_s: float
) -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("old", "a")], Steady(stop=stop))
    deleted = plane.registry.delete(plane.registry.get(PODS, ("default", "old")), DeleteOptions(grace_s=grace))
    assert not deleted.is_gone
    if grace > 30:  # a second deletion with a shorter grace period has an effect
        plane.registry.delete(plane.registry.get(PODS, ("default", "old")), DeleteOptions(grace_s=2))
    plane.virtual_time.run_until(gone_s - 0.5)
    assert plane.store.get(PODS, ("default", "old")) is not None
    plane.virtual_time.run_until(gone_s + 0.5)
    assert plane.store.get(PODS, ("default", "old")) is None


def test_a_pod_that_was_not_ready_in_the_dump_stays_so_and_without_its_node_nothing_happens_to_one() -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("crashing", "a", ready=False), a_pod_doc("lost", "gone")])
    before = doc_of(plane, PODS, "crashing")
    plane.registry.delete(plane.registry.get(PODS, ("default", "lost")))
    plane.run_until_idle(600)
    assert doc_of(plane, PODS, "crashing") is before
    assert plane.store.get(PODS, ("default", "lost")) is not None, "nobody stops it: pod garbage collection does"


def node_of(plane: ControlPlane, name: str) -> str:
    return str(nested_field(doc_of(plane, PODS, name), "spec", "nodeName") or "")


def test_pods_take_what_others_left() -> None:
    plane = a_plane([a_node_doc("a"), a_node_doc("b"), *(a_pod_doc(f"p{i}", cpu="1500m") for i in range(5))])
    plane.run_until_idle(60)
    nodes = [node_of(plane, f"p{i}") for i in range(5)]
    assert sorted(filter(None, nodes)) == ["a", "a", "b", "b"], "four fit, and the fifth waits"
    waiting = condition(doc_of(plane, PODS, f"p{nodes.index('')}"), "PodScheduled")
    assert (waiting["status"], waiting["reason"]) == ("False", "Unschedulable")
    assert waiting["message"] == "0/2 nodes are available: 2 Insufficient cpu."
    new = doc_of(plane, PODS, f"p{nodes.index('a')}")
    assert (new["status"]["phase"], condition(new, "Ready")["status"]) == ("Running", "True")
    assert condition(new, "PodScheduled")["status"] == "True"


def test_pods_of_one_controller_are_spread() -> None:
    """The emptiest node stays the emptiest all the time, yet gets only one pod more than the next, and the fullest node
    gets one pod less."""

    def owned(name: str, node: str = "") -> Doc:
        owner = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        return with_value(a_pod_doc(name, node, cpu="1m"), ("metadata", "ownerReferences"), [owner])

    busy = (a_pod_doc("b", "b", cpu="2"), a_pod_doc("c", "c", cpu="3"))
    leaving = owned("old", "a")  # does not count
    leaving["metadata"] |= {"deletionTimestamp": "2026-11-20T09:00:00Z", "deletionGracePeriodSeconds": 3600}
    pods = [owned(f"web-{i}") for i in range(6)]
    plane = a_plane([*map(a_node_doc, "abc"), *busy, leaving, *pods], Steady(stop=3600))
    plane.run_until_idle(60)
    assert Counter(node_of(plane, f"web-{i}") for i in range(6)) == {"a": 3, "b": 2, "c": 1}


@pytest.mark.parametrize("helps", ["a pod goes", "a node comes", "a node is uncordoned", "a label comes"])
def test_what_found_no_place_is_tried_again_when_something_changes(helps: str) -> None:
    picks = {"nodeSelector": {"disk": "fast"}} if helps == "a label comes" else {}
    other = a_node_doc("b", unschedulable=helps == "a node is uncordoned")
    there = [] if helps in ("a pod goes", "a node comes") else [other]
    plane = a_plane([a_node_doc("a"), *there, a_pod_doc("full", "a", cpu="4"), a_pod_doc("waits", **picks)])
    plane.run_until_idle(60)
    assert not node_of(plane, "waits")
    if helps == "a pod goes":
        plane.registry.delete(plane.registry.get(PODS, ("default", "full")))
    elif not there:
        plane.registry.create(NODES, other)
    else:
        item = plane.registry.get(NODES, ("", "b"))
        plane.registry.update(item, with_value({**item.doc, "spec": {}}, ("metadata", "labels", "disk"), "fast"))
    plane.run_until_idle(120)
    assert node_of(plane, "waits") == ("a" if helps == "a pod goes" else "b")


def test_other_schedulers_pods_gated_ones_and_those_that_leave_are_left_alone() -> None:
    gated = a_pod_doc("gated", schedulingGates=[{"name": "wait"}])
    plane = a_plane([a_node_doc("a"), gated, a_pod_doc("others", schedulerName="volcano")])
    plane.run_until_idle(60)
    assert node_of(plane, "gated") == node_of(plane, "others") == ""
