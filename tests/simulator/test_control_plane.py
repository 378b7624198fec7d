"""Controllers' loops, their work limit, the roster of budgets, disruptions, and faults of a cluster."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.controllers import ControllerLimits, ControllerLoop, VirtualTime, WorkBudget
from kubectl_eksdoc.simulator.disruptions import with_disruption_target
from kubectl_eksdoc.simulator.store import ObjectKey, Store, StoreChange, StoredItem
from tests.simulator.control_planes import (
    BUDGETS,
    NODES,
    PODS,
    START,
    a_budget_doc,
    a_node_doc,
    a_plane,
    a_pod_doc,
    condition,
    doc_of,
)

THINGS = "things"


class Looks:
    """A `Controller` that records which object it processed when. `writes`: it changes the object; `refused`: that many
    of its attempts are refused."""

    resources = (THINGS,)

    def __init__(self, store: Store, agenda: VirtualTime, *, writes: int = 0, refused: int = 0) -> None:
        self._store = store
        self._agenda = agenda
        self._writes = writes
        self._refused = refused
        self.seen: list[tuple[float, str]] = []

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        return (change.item.key,)

    def reconcile(self, key: ObjectKey) -> float | None:
        self.seen.append((self._agenda.seconds, key[1]))
        if self._refused:
            self._refused -= 1
            raise ApiRefusal(ApiStatus(409, "Conflict", "another was faster"))
        if self._writes:
            self._writes -= 1
            item = self._store.get(THINGS, key)
            assert item is not None
            self._store.replace(item, {**item.doc, "left": self._writes})
        return None


def add(store: Store, *names: str) -> None:
    for name in names:
        store.add(THINGS, ("", name), {"metadata": {"name": name}})


@pytest.mark.parametrize(
    ("before", "names", "how", "does", "seen"),
    [
        ("", "ab", {"lag_s": 2.0}, {}, [(2.0, "a"), (2.0, "b")]),
        ("ab", "", {}, {}, [(0.0, "a"), (0.0, "b")]),
        ("", "abc", {"sync_s": 3.0}, {}, [(0.0, "a"), (3.0, "b"), (6.0, "c")]),
        # A turn that writes also occupies the worker, and a refused turn is repeated.
        ("", "a", {"sync_s": 3.0}, {"writes": 2}, [(0.0, "a"), (3.0, "a"), (6.0, "a")]),
        ("", "a", {}, {"refused": 2}, [(0.0, "a"), (0.5, "a"), (1.0, "a")]),
    ],
)
def test_when_a_loop_looks_at_what(
    before: str, names: str, how: dict[str, float], does: dict[str, int], seen: list[tuple[float, str]]
) -> None:
    store, agenda = Store(), VirtualTime(START)
    add(store, *before)
    looks = Looks(store, agenda, **does)
    ControllerLoop(looks, store, agenda, **how)  # type: ignore[arg-type]
    add(store, *names)
    for name in names:  # of several changes it sees the last
        item = store.get(THINGS, ("", name))
        assert item is not None
        store.replace(item, {**item.doc, "again": True})
    agenda.run_until(10)
    assert looks.seen == seen


OWNER = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


class Restless:
    """A `Controller` that creates a pod at each turn, or (`changes`) changes the existing one."""

    resources = ("pods",)

    def __init__(self, every_s: float, changes: bool = False) -> None:
        self.plane: ControlPlane | None = None
        self._every_s, self._changes = every_s, changes
        self._made = 0

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        return () if self._made else (change.item.key,)

    def reconcile(self, key: ObjectKey) -> float | None:
        assert self.plane is not None
        self._made += 1
        store, item = self.plane.store, self.plane.store.get("pods", key)
        assert item is not None
        if self._changes:
            store.replace(item, {**item.doc, "status": {"message": str(self._made)}})
        else:
            doc = a_pod_doc(f"web-{self._made}")
            doc["metadata"]["ownerReferences"] = [OWNER]
            store.add("pods", ("default", f"web-{self._made}"), doc)
        return self._every_s


def restless(every_s: float, changes: bool = False) -> ControlPlane:
    controller = Restless(every_s, changes)
    plane = a_plane([a_pod_doc("first")], workloads=[controller])
    controller.plane = plane
    WorkBudget(
        plane.store,
        plane.virtual_time,
        ControllerLimits(created=20, created_per_object=5, changed=50, changed_per_object=10),
    )
    return plane


def test_one_that_makes_objects_without_an_end_is_stopped() -> None:
    plane = restless(0.1)
    with pytest.raises(UsageError) as caught:
        plane.run_until_idle(3600)
    said = "the simulated cluster does not come to rest: objects of ReplicaSet default/web were created"
    assert caught.value.message.startswith(said) and "Rehearse without ReplicaSet default/web" in caught.value.hint
    assert plane.store.count("pods") < 100
    with pytest.raises(UsageError, match="objects of Pod default/first were changed"):
        restless(0.1, changes=True).run_until_idle(3600)
    plane = restless(200.0)  # the budget is one of an hour
    plane.run_until_idle(10_000)
    assert doc_of(plane, "pods", "web-45")


APPS = st.sampled_from(["a", "b", "c"])
NAMES = st.sampled_from(["x", "y", "z"])
STEPS = st.lists(st.tuples(st.sampled_from(["pod", "budget"]), NAMES, st.none() | APPS), max_size=25)


def put(plane: ControlPlane, resource: str, name: str, app: str | None) -> None:
    """Make sure that such a pod or budget of that app exists, or that none exists (None)."""
    item = plane.store.get(resource, ("default", name))
    if app is None:
        if item is not None:
            plane.store.remove(item)
        return
    doc = a_pod_doc(name, "n", app=app) if resource == PODS else a_budget_doc(name, app=app)
    if item is None:
        plane.store.add(resource, ("default", name), doc)
    else:
        plane.store.replace(item, with_value(doc, ("metadata", "uid"), item.uid))


@given(STEPS)
def test_it_is_what_asking_everybody_would_say(steps: list[tuple[str, str, str | None]]) -> None:
    plane = ControlPlane(START, StoredFacts())
    for what, name, app in steps:
        put(plane, PODS if what == "pod" else BUDGETS, name, app)
    facts, store = plane.facts, plane.store
    pods = [facts.pod(item) for item in store.list(PODS)]
    budgets = [facts.budget(item) for item in store.list(BUDGETS)]
    for name in {name for _, name, _ in steps}:
        key = ("default", name)
        there = [plane.budget_index.pod(key) is not None, plane.budget_index.budget(key) is not None]
        assert there == [store.get(resource, key) is not None for resource in (PODS, BUDGETS)]
    for budget in budgets:
        wanted = {pod.name for pod in pods if budget.selector.matches(pod.labels)}
        assert {pod.name for pod in plane.budget_index.selected_pods(budget)} == wanted
    for pod in pods:
        said = [budget.name for budget in plane.budget_index.budgets_for("default", pod.labels)]
        assert said == sorted(b.name for b in budgets if b.selector.matches(pod.labels))
        assert plane.budget_index.pod(("default", pod.name)) == pod


WEB = [a_node_doc("a"), a_pod_doc("web-0", "a"), a_pod_doc("web-1", "a"), a_budget_doc()]


def status(plane: ControlPlane, name: str = "web") -> Doc:
    found: Doc = doc_of(plane, BUDGETS, name)["status"]
    return found


def test_a_granted_eviction_that_is_not_seen_is_forgotten_after_two_minutes() -> None:
    budget = with_value(a_budget_doc(allowed=0), ("status", "disruptedPods"), {"web-0": "2026-11-20T07:59:00Z"})
    plane = a_plane([*WEB[:3], with_value(budget, ("spec", "minAvailable"), 1)])
    plane.virtual_time.run_until(50)
    assert (status(plane)["currentHealthy"], status(plane)["disruptionsAllowed"]) == (1, 0)
    plane.virtual_time.run_until(70)
    assert (status(plane)["currentHealthy"], status(plane)["disruptionsAllowed"]) == (2, 1)
    assert "disruptedPods" not in status(plane)


def test_a_stale_status_of_a_dump_stays_until_something_changes() -> None:
    """Of the budgets over one pod the controller computes only one: the other one may be wrong in a dump."""
    plane = a_plane([*WEB[:3], with_value(a_budget_doc(), ("status", "currentHealthy"), 0)])
    plane.run_until_idle(600)
    assert status(plane)["currentHealthy"] == 0
    pod = plane.registry.get(PODS, ("default", "web-1"))
    plane.registry.update(pod, with_value(pod.doc, ("metadata", "annotations"), {"touched": "yes"}))
    plane.run_until_idle(10)
    assert status(plane)["currentHealthy"] == 2


def test_a_pod_that_was_marked_and_not_deleted_loses_the_mark_after_two_minutes() -> None:
    stored = [StoredItem(PODS, ("default", name), 1, a_pod_doc(name, "a")) for name in ("web-0", "web-1")]
    since = "2026-11-20T08:00:00Z"
    marked = with_disruption_target(stored[0], "EvictionByEvictionAPI", "Eviction API: evicting", since)
    by_kubelet = with_disruption_target(stored[1], "TerminationByKubelet", "", since)
    plane = a_plane([a_node_doc("a"), marked, by_kubelet])
    plane.virtual_time.run_until(119)
    assert condition(doc_of(plane, PODS, "web-0"), "DisruptionTarget")["status"] == "True"
    plane.virtual_time.run_until(121)
    target = condition(doc_of(plane, PODS, "web-0"), "DisruptionTarget")
    assert (target["status"], target["lastTransitionTime"]) == ("False", "2026-11-20T08:02:00Z")
    assert "reason" not in target
    assert condition(doc_of(plane, PODS, "web-1"), "DisruptionTarget")["status"] == "True"


def test_a_node_that_joins_takes_what_waited() -> None:
    plane = a_plane([a_node_doc("a", unschedulable=True), a_pod_doc("waits")])
    plane.virtual_time.schedule(10, lambda: mishaps.join_node(plane, doc_of(plane, NODES, "a"), "b"))
    plane.run_until_idle(60)
    assert nested_field(doc_of(plane, PODS, "waits"), "spec", "nodeName") == "b"
    new = doc_of(plane, NODES, "b")
    assert not nested_field(new, "spec", "unschedulable")
    assert new["metadata"]["creationTimestamp"] == START.strftime("%Y-%m-%dT%H:%M:10Z")
