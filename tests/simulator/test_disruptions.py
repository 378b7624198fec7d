"""The disruption controller and the eviction endpoint over the store, and how they meet."""

from __future__ import annotations

from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.simulator.disruptions import disrupted
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoredItem
from tests.simulator.planes import BUDGETS, PODS, a_budget_doc, a_node_doc, a_plane, a_pod_doc, condition, doc_of

WEB = [a_node_doc("a"), a_pod_doc("web-0", "a"), a_pod_doc("web-1", "a"), a_budget_doc()]


def status(plane: ControlPlane, name: str = "web") -> Doc:
    found: Doc = doc_of(plane, BUDGETS, name)["status"]
    return found


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
