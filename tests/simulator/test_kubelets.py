"""The simulated kubelets: pods start and stop in their time, and within their grace period."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.simulator.registry import DeleteOptions
from tests.simulator.planes import PODS, Steady, a_node_doc, a_plane, a_pod_doc, condition, doc_of


def test_a_pod_is_ready_when_its_start_is_over_and_not_before() -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("new")], Steady(start=20))
    plane.agenda.run_until(19)
    assert doc_of(plane, PODS, "new")["status"]["phase"] == "Pending"
    plane.agenda.run_until(21)
    new = doc_of(plane, PODS, "new")
    assert condition(new, "Ready")["status"] == "True"
    assert [each["name"] for each in new["status"]["containerStatuses"]] == ["app"]
    assert new["status"]["startTime"] == "2026-11-20T08:00:20Z"


@pytest.mark.parametrize(("stop", "grace", "gone_s"), [(5, 30, 5), (60, 30, 30), (60, 2, 2), (float("inf"), 30, 30)])
def test_a_pod_stops_when_it_can_and_at_the_latest_when_its_grace_period_is_over(
    stop: float, grace: int, gone_s: float
) -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("old", "a")], Steady(stop=stop))
    deleted = plane.registry.delete(plane.registry.get(PODS, ("default", "old")), DeleteOptions(grace_s=grace))
    assert not deleted.gone
    plane.agenda.run_until(gone_s - 0.5)
    assert plane.store.get(PODS, ("default", "old")) is not None
    plane.agenda.run_until(gone_s + 0.5)
    assert plane.store.get(PODS, ("default", "old")) is None


def test_a_second_deletion_with_less_time_is_minded() -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("old", "a")], Steady(stop=25))
    plane.registry.delete(plane.registry.get(PODS, ("default", "old")))
    plane.agenda.run_until(3)
    plane.registry.delete(plane.registry.get(PODS, ("default", "old")), DeleteOptions(grace_s=2))
    plane.agenda.run_until(6)
    assert plane.store.get(PODS, ("default", "old")) is None


def test_pods_that_end_by_themselves_succeed() -> None:
    job = a_pod_doc("job", "a", restartPolicy="Never")
    plane = a_plane([a_node_doc("a"), job], Steady(run=60))
    plane.agenda.run_until(59)
    assert doc_of(plane, PODS, "job")["status"]["phase"] == "Running"
    plane.agenda.run_until(61)
    assert doc_of(plane, PODS, "job")["status"]["phase"] == "Succeeded"


def test_a_pod_that_was_not_ready_in_the_dump_stays_so() -> None:
    plane = a_plane([a_node_doc("a"), a_pod_doc("crashing", "a", ready=False)])
    before = doc_of(plane, PODS, "crashing")
    plane.rest(600)
    assert doc_of(plane, PODS, "crashing") is before


def test_without_its_node_nothing_happens_to_a_pod() -> None:
    plane = a_plane([a_pod_doc("lost", "gone")])
    plane.registry.delete(plane.registry.get(PODS, ("default", "lost")))
    plane.rest(600)
    assert plane.store.get(PODS, ("default", "lost")) is not None, "nobody stops it: pod garbage collection does"
