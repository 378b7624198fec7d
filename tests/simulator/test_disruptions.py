"""The disruption controller and the eviction endpoint over the store, and how they meet."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal
from kubectl_eksdoc.kubernetes.evictions import EvictionAnswer, EvictionRequest
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.simulator.disruptions import disrupted
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.registry import DeleteOptions
from kubectl_eksdoc.simulator.store import StoredItem
from tests.simulator.planes import BUDGETS, PODS, a_budget_doc, a_node_doc, a_plane, a_pod_doc, condition, doc_of

WEB = [a_node_doc("a"), a_pod_doc("web-0", "a"), a_pod_doc("web-1", "a"), a_budget_doc()]


def evict(plane: ControlPlane, name: str, dry_run: bool = False) -> EvictionAnswer:
    asked = ("All",) if dry_run else ()
    return plane.evictions.evict(EvictionRequest(name, name, "default", asked))


def status(plane: ControlPlane, name: str = "web") -> Doc:
    found: Doc = doc_of(plane, BUDGETS, name)["status"]
    return found


def test_an_eviction_takes_the_unit_marks_the_pod_and_deletes_it() -> None:
    plane = a_plane(WEB)
    assert evict(plane, "web-0").code == 201
    assert status(plane)["disruptionsAllowed"] == 0
    assert status(plane)["disruptedPods"] == {"web-0": "2026-11-20T08:00:00Z"}
    pod = doc_of(plane, PODS, "web-0")
    assert condition(pod, "DisruptionTarget")["reason"] == "EvictionByEvictionAPI"
    assert pod["metadata"]["deletionTimestamp"] == "2026-11-20T08:00:30Z"


def test_the_next_one_is_refused_until_another_pod_is_ready() -> None:
    plane = a_plane(WEB)
    evict(plane, "web-0")
    plane.rest(60)
    refused = evict(plane, "web-1")
    assert (refused.code, refused.cause) == (429, "The disruption budget web needs 1 healthy pods and has 1 currently")
    assert "disruptedPods" not in status(plane), "its deletion was seen"
    plane.registry.create(PODS, a_pod_doc("web-2"), "default")
    plane.rest(60)
    assert status(plane)["disruptionsAllowed"] == 1
    assert evict(plane, "web-1").code == 201


def test_a_dry_run_changes_nothing() -> None:
    plane = a_plane(WEB)
    version = plane.store.version
    assert [evict(plane, "web-0", dry_run=True).code for _ in range(3)] == [201, 201, 201]
    assert plane.store.version == version


def test_a_spec_that_the_controller_has_not_seen_refuses() -> None:
    plane = a_plane(WEB)
    item = plane.registry.get(BUDGETS, ("default", "web"))
    plane.registry.update(item, with_value(item.doc, ("spec", "minAvailable"), 0))
    answer = evict(plane, "web-0")
    assert (answer.code, answer.retry_after) == (429, 10)
    plane.rest(10)
    assert evict(plane, "web-0").code == evict(plane, "web-1").code == 201


def test_a_granted_eviction_that_is_not_seen_is_forgotten_after_two_minutes() -> None:
    budget = with_value(a_budget_doc(allowed=0), ("status", "disruptedPods"), {"web-0": "2026-11-20T07:59:00Z"})
    plane = a_plane([*WEB[:3], with_value(budget, ("spec", "minAvailable"), 1)])
    plane.agenda.run_until(50)
    assert (status(plane)["currentHealthy"], status(plane)["disruptionsAllowed"]) == (1, 0)
    plane.agenda.run_until(70)
    assert (status(plane)["currentHealthy"], status(plane)["disruptionsAllowed"]) == (2, 1)
    assert "disruptedPods" not in status(plane)


def test_a_stale_status_of_a_dump_stays_until_something_changes() -> None:
    """Of a pod under two budgets the controller computes one: a dump may show the other one wrong."""
    stale = with_value(a_budget_doc(), ("status", "currentHealthy"), 0)
    plane = a_plane([*WEB[:3], stale])
    plane.rest(600)
    assert status(plane)["currentHealthy"] == 0
    pod = plane.registry.get(PODS, ("default", "web-1"))
    plane.registry.update(pod, with_value(pod.doc, ("metadata", "annotations"), {"touched": "yes"}))
    plane.rest(10)
    assert status(plane)["currentHealthy"] == 2


def test_a_budget_over_what_has_no_scale_fails_to_sync() -> None:
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "etl", "uid": "uid-etl", "controller": True}
    pod = a_pod_doc("etl-1", "a", app="etl")
    pod["metadata"]["ownerReferences"] = [owner]
    plane = a_plane([a_node_doc("a"), pod])
    budget = a_budget_doc("etl", app="etl", maxUnavailable=1)
    plane.registry.create(BUDGETS, {key: budget[key] for key in budget if key != "status"}, "default")
    plane.rest(10)
    made = condition(doc_of(plane, BUDGETS, "etl"), "DisruptionAllowed")
    assert (made["reason"], made["message"]) == ("SyncFailed", "jobs.batch does not implement the scale subresource")
    assert evict(plane, "etl-1").code == 429


def test_nothing_is_evicted_in_a_namespace_that_is_being_deleted() -> None:
    plane = a_plane(WEB)
    space = plane.registry.get("namespaces", ("", "default"))
    held = plane.registry.update(space, with_value(space.doc, ("spec",), {"finalizers": ["kubernetes"]}))
    assert not plane.registry.delete(held, DeleteOptions()).gone
    with pytest.raises(ApiRefusal, match="because it is being terminated"):
        evict(plane, "web-0")
    assert at(doc_of(plane, PODS, "web-0"), "metadata", "deletionTimestamp") is None


def test_a_pod_that_was_marked_and_not_deleted_loses_the_mark_after_two_minutes() -> None:
    stored = [StoredItem(PODS, ("default", name), 1, a_pod_doc(name, "a")) for name in ("web-0", "web-1")]
    since = "2026-11-20T08:00:00Z"
    marked = disrupted(stored[0], "EvictionByEvictionAPI", "Eviction API: evicting", since)
    by_kubelet = disrupted(stored[1], "TerminationByKubelet", "", since)
    plane = a_plane([a_node_doc("a"), marked, by_kubelet])
    plane.agenda.run_until(119)
    assert condition(doc_of(plane, PODS, "web-0"), "DisruptionTarget")["status"] == "True"
    plane.agenda.run_until(121)
    assert condition(doc_of(plane, PODS, "web-0"), "DisruptionTarget") == {
        "type": "DisruptionTarget",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-11-20T08:02:00Z",
    }
    assert condition(doc_of(plane, PODS, "web-1"), "DisruptionTarget")["status"] == "True"
