"""The effect of each cluster fault: on pods, nodes, budgets and controllers."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.embedded.faults import build_faults, parse_fault
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.faults import FaultEvent, FaultyControlPlane
from tests.simulator.control_planes import (
    BUDGETS,
    NODES,
    PODS,
    Steady,
    a_budget_doc,
    a_node_doc,
    a_plane,
    a_pod_doc,
    condition,
    doc_of,
)
from tests.simulator.workloads.world import a_workload

WEB = (a_node_doc("a"), a_node_doc("b"), a_pod_doc("web-0", "a"), a_pod_doc("web-1", "a"), a_budget_doc())


def a_troubled(*faults: str, docs: tuple[Doc, ...] = WEB, seed: int = 0) -> tuple[ControlPlane, list[FaultEvent]]:
    """A new control plane with these faults, and the list of fault events."""
    plane, befallen = a_plane(docs, started=False), list[FaultEvent]()
    chosen = build_faults([parse_fault(text) for text in faults], seed)
    FaultyControlPlane(plane, chosen.cluster, befallen.append, seed).start(Steady(), workload_controllers)
    return plane, befallen


def until(plane: ControlPlane, seconds: float) -> None:
    plane.virtual_time.run_until(seconds)


def there(plane: ControlPlane, pod: str) -> bool:
    return plane.store.get(PODS, ("default", pod)) is not None


def evicted(plane: ControlPlane, pod: str, at_s: float = 1.0) -> None:
    until(plane, at_s)
    item = plane.store.get(PODS, ("default", pod))
    assert item is not None and mishaps.evict_pod(plane, item)


@pytest.mark.parametrize(
    ("fault", "gone_s"),
    [
        ("no-new-nodes", 5),
        ("silent-pods", 30),
        ("silent-pods=default/web-1", 5),
        ("stuck-pods", 86_400),
        ("stuck-pods=default/web-*", 86_400),
    ],
)
def test_a_silent_pod_goes_when_its_grace_period_is_over_and_a_stuck_one_never(fault: str, gone_s: float) -> None:
    plane, _ = a_troubled(fault)
    evicted(plane, "web-0")
    until(plane, gone_s)
    assert nested_field(doc_of(plane, PODS, "web-0"), "metadata", "deletionTimestamp")
    until(plane, gone_s + 2)
    assert there(plane, "web-0") is (gone_s == 86_400)


def test_a_finalizer_that_is_taken_away_after_all_lets_the_pod_go() -> None:
    plane, befallen = a_troubled("stuck-finalizers=default/web-0")
    evicted(plane, "web-0")
    until(plane, 600)
    assert [each.message for each in befallen] == ["default/web-0 has the finalizer example.com/never-removed"]
    item = plane.registry.get(PODS, ("default", "web-0"))
    plane.registry.update(item, {**item.doc, "metadata": {**item.doc["metadata"], "finalizers": []}})
    until(plane, 601)
    assert not there(plane, "web-0")


def test_a_share_of_the_pods_is_the_same_in_every_run() -> None:
    docs = (a_node_doc("a", cpu="64"), *(a_pod_doc(f"web-{i}", "a", cpu="10m") for i in range(15)))
    stuck = []
    for seed in (1, 1, 2, 3):
        plane, befallen = a_troubled("stuck-finalizers@30%", docs=docs, seed=seed)
        until(plane, 1)
        stuck.append([item.key[1] for item in plane.store.list(PODS) if item.doc["metadata"].get("finalizers")])
        assert 1 < len(stuck[-1]) < 15 and befallen[0].subject == f"{len(stuck[-1])} pods"
    assert stuck[0] == stuck[1] and len({tuple(each) for each in stuck}) == 3


@pytest.mark.parametrize(("fault", "ready_s"), [("no-new-nodes", 20), ("slow-pods=5m", 320), ("endless-pulls", 0)])
def test_new_pods_are_late_or_never_ready(fault: str, ready_s: float) -> None:
    plane, _ = a_troubled(fault, docs=(*WEB, a_pod_doc("new", cpu="100m")))
    until(plane, (ready_s or 86_400) - 1)
    status = doc_of(plane, PODS, "new")["status"]
    assert status["phase"] == "Pending"
    until(plane, 86_400)
    assert doc_of(plane, PODS, "new")["status"]["phase"] == ("Running" if ready_s else "Pending")
    assert doc_of(plane, PODS, "web-0")["status"]["phase"] == "Running", "what runs goes on"
    if fault == "endless-pulls":
        assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
        assert condition(doc_of(plane, PODS, "new"), "Ready")["reason"] == "ContainersNotReady"
        mishaps.delete_pod(plane, "default", "new")
        until(plane, 86_500)
        assert not there(plane, "new"), "it can be stopped"


def test_the_budgets_status_lags() -> None:
    plane, _ = a_troubled("budgets-late=40s")
    until(plane, 50)
    mishaps.delete_pod(plane, "default", "web-0")
    for seconds, allowed in ((89, 1), (91, 0)):  # the first read at this time
        until(plane, seconds)
        assert doc_of(plane, BUDGETS, "web")["status"]["disruptionsAllowed"] == allowed


def test_a_node_that_is_not_ready_is_tainted_and_its_pods_are_evicted_but_do_not_stop() -> None:
    plane, befallen = a_troubled("node-not-ready=a@10s")
    until(plane, 11)
    node = doc_of(plane, NODES, "a")
    assert condition(node, "Ready")["status"] == "Unknown" and condition(node, "Ready")["reason"] == "NodeStatusUnknown"
    taints = {(each["key"], each["effect"]) for each in node["spec"]["taints"]}
    assert taints == {("node.kubernetes.io/unreachable", effect) for effect in ("NoSchedule", "NoExecute")}
    assert condition(doc_of(plane, PODS, "web-0"), "Ready")["status"] == "False"
    until(plane, 86_400)
    assert nested_field(doc_of(plane, PODS, "web-0"), "metadata", "deletionTimestamp"), "it tolerates no such taint"
    assert befallen == [FaultEvent(10.0, "a", "is NotReady: its kubelet is not heard of")]


def test_a_kubelet_that_is_heard_of_again_goes_on() -> None:
    plane, _ = a_troubled("node-not-ready=a@10s")
    until(plane, 600)
    item = plane.registry.get(NODES, ("", "a"))
    doc: dict[str, Any] = {**item.doc, "status": {**item.doc["status"], "conditions": WEB[0]["status"]["conditions"]}}
    plane.registry.update(item, doc, status=True)
    until(plane, 700)
    assert not there(plane, "web-0") and not there(plane, "web-1")


def test_a_node_that_is_gone_takes_its_pods_with_it() -> None:
    plane, befallen = a_troubled("node-gone=a@10s")
    until(plane, 200)
    assert plane.store.get(NODES, ("", "a")) is None and not there(plane, "web-0")
    assert befallen == [FaultEvent(10.0, "a", "is gone with its instance")]


def test_an_autoscaler_takes_a_node_away_when_it_is_empty_and_keeps_one_that_it_cannot_empty() -> None:
    docs = (*WEB[:-1], a_budget_doc(allowed=0))
    plane, befallen = a_troubled("autoscaler-removes=a@10s", "autoscaler-removes=b@10s", docs=docs)
    until(plane, 11)
    assert plane.store.get(NODES, ("", "b")) is None and nested_field(doc_of(plane, NODES, "a"), "spec", "taints")
    until(plane, 200)
    assert (
        not nested_field(doc_of(plane, NODES, "a"), "spec", "taints")
        and there(plane, "web-0")
        and there(plane, "web-1")
    )
    assert [each.effect for each in befallen if each.subject == "b"] == [
        "is being removed by an autoscaler",
        "was removed by an autoscaler",
    ]
    assert befallen[-1].effect == "was kept by the autoscaler, which could not empty it"


@pytest.mark.parametrize(
    ("fault", "cordoned", "leaving"),
    [
        ("other-cordons=a@10s", True, 0),
        ("other-drains=a@10s", True, 1),
        ("pod-deleted=default/web-1@10s", False, 1),
        ("other-uncordons=b@10s", False, 0),
    ],
)
def test_what_others_do(fault: str, cordoned: bool, leaving: int) -> None:
    plane, befallen = a_troubled(fault)
    mishaps.set_cordon(plane, "b")
    until(plane, 11)
    assert bool(nested_field(doc_of(plane, NODES, "a"), "spec", "unschedulable")) is cordoned
    assert bool(nested_field(doc_of(plane, NODES, "b"), "spec", "unschedulable")) is ("uncordons" not in fault)
    pods = [doc_of(plane, PODS, name) for name in ("web-0", "web-1")]
    assert sum("deletionTimestamp" in pod["metadata"] for pod in pods) == leaving
    assert len(befallen) == 1


def a_database(fault: str | None) -> ControlPlane:
    """A StatefulSet of two pods on a node with room, its budget, and the fault."""
    docs = (a_node_doc("a"), a_workload("StatefulSet", "db", 2, serviceName="db", podManagementPolicy="Parallel"))
    docs[1]["metadata"] |= {"namespace": "default", "uid": "uid-set", "generation": 1}
    return a_troubled(*([fault] if fault else []), docs=(*docs, a_budget_doc("db", app="db")))[0]


def test_a_stateful_sets_pod_that_came_back_counts_as_evicted_for_two_minutes() -> None:
    """The controller missed the end of the first pod: status.disruptedPods has only names."""
    for fault, allowed_again_s in ((None, 40), ("same-name-hold=default/db-*", 124), ("same-name-hold=default/x", 40)):
        plane = a_database(fault)
        until(plane, 60)
        before = doc_of(plane, PODS, "db-1")["metadata"]["uid"]
        evicted(plane, "db-1", 61.0)
        until(plane, 60 + 39)
        pod = doc_of(plane, PODS, "db-1")
        assert condition(pod, "Ready")["status"] == "True" and not nested_field(pod, "metadata", "deletionTimestamp")
        assert nested_field(pod, "metadata", "uid") != before
        until(plane, 60 + allowed_again_s - 4)
        status = doc_of(plane, BUDGETS, "db")["status"]
        assert ("db-1" in status.get("disruptedPods", {})) is (allowed_again_s > 100), fault
        until(plane, 60 + allowed_again_s)
        assert doc_of(plane, BUDGETS, "db")["status"]["disruptionsAllowed"] == 1, fault


def test_restarts_are_by_chance_in_each_minute_and_leave_nobody_behind_who_listens() -> None:
    plane, befallen = a_troubled("controllers-restart@30%", seed=3)
    before = len(plane.store.listeners)
    until(plane, 100 * 60)
    assert 15 <= len(befallen) <= 45 and len(plane.store.listeners) == before
    assert all(each.at_s % 60 == 0 for each in befallen)
