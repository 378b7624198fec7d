"""The scheduler: binds pods without a node to the best node that every filter allows, or reports why there is none.

The filters are those of `kubernetes.scheduling`, the scores those that mostly decide. Pods without a place are tried
again when a node or a pod that is in the way changes (the queue of unschedulable pods).
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import log

from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import PodClass
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import at, with_value
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import ControllerOwner, Node, Pod
from kubectl_eksdoc.model.placing import CPU, DEFAULT_SCHEDULER, MEMORY
from kubectl_eksdoc.model.selectors import Labels
from kubectl_eksdoc.model.workloads import Workload

from .registry import FactSource, Registry, with_condition
from .store import (
    BUDGETS,
    NAMESPACES,
    NODES,
    PODS,
    Key,
    Store,
    StoreChange,
    StoredItem,
)

# Scores: of the nodes that fit, the scheduler prefers those with few pods of the same controller and much free room.
#
# Source: pkg/scheduler/framework/plugins/podtopologyspread/{scoring,plugin}.go (the system's default constraints: by
# host with a skew of 3, by zone with one of 5, ScheduleAnyway), noderesources/least_allocated.go, and the default
# weights of apis/config/v1/default_plugins.go (spread 2, resources 1), Kubernetes v1.36. Other scores (images,
# preferred affinity, balance) are left out; the only selector of the default constraints is the pod's controller.


SPREAD_WEIGHT = 2
_MOST = 100.0
_SKEWS = (3 - 1) + (5 - 1)


class Replicas:
    """Mutable: the number of pods of each controller on each node."""

    def __init__(self) -> None:
        self._on: dict[str, Counter[str]] = defaultdict(Counter)

    def put(self, owner: ControllerOwner | None, node: str) -> None:
        if owner is not None:
            self._on[owner.uid][node] += 1

    def take(self, owner: ControllerOwner | None, node: str) -> None:
        if owner is not None:
            self._on[owner.uid][node] -= 1

    def clear(self) -> None:
        self._on.clear()

    def preferred(self, owner: ControllerOwner | None, fitting: Sequence[NodeOccupancy]) -> NodeOccupancy | None:
        """The best of these nodes; of equal ones the first by name, so that it is always the same."""
        spread = self._spread(owner, fitting)
        return min(
            fitting, key=lambda seat: (-spread.get(seat.node.name, 0.0) - _left(seat), seat.node.name), default=None
        )

    def _spread(self, owner: ControllerOwner | None, fitting: Sequence[NodeOccupancy]) -> dict[str, float]:
        """Node name → score, the higher the fewer pods of the controller it has."""
        on = self._on.get(owner.uid) if owner is not None else None
        if not on or not fitting:
            return {}
        zones: Counter[str] = Counter()
        for seat in fitting:
            zones[seat.node.zone] += on[seat.node.name]
        host_weight, zone_weight = log(len(fitting) + 2), log(len(zones) + 2)
        raw = {
            seat.node.name: on[seat.node.name] * host_weight + zones[seat.node.zone] * zone_weight + _SKEWS
            for seat in fitting
        }
        most, least = max(raw.values()), min(raw.values())
        return {name: SPREAD_WEIGHT * _MOST * (most + least - score) / most for name, score in raw.items()}


def _left(seat: NodeOccupancy) -> float:
    """The mean free share of cpu and memory, of a hundred (NodeResourcesFit, LeastAllocated)."""
    room, has = seat.room, seat.node.allocatable
    cpu, memory = has.get(CPU, 0), has.get(MEMORY, 0)
    return _MOST / 2 * ((room.cpu / cpu if cpu else 0.0) + (room.memory / memory if memory else 0.0))


_STORAGE = (
    kinds.CLAIMS.full_name,
    kinds.VOLUMES.full_name,
    kinds.STORAGE_CLASSES.full_name,
    kinds.CSI_NODES.full_name,
    kinds.VOLUME_ATTACHMENTS.full_name,
)


class Scheduler:
    """A `Controller` whose keys are those of pods. It keeps the occupancy of nodes up to date."""

    resources = (PODS, NODES, NAMESPACES, *_STORAGE)

    def __init__(self, registry: Registry, facts: FactSource) -> None:
        self._registry = registry
        self._facts = facts
        self._occupancy: Occupancy | None = None  # built when it is needed
        self._replicas = Replicas()
        self._placed: dict[Key, tuple[PodClass, str, ControllerOwner | None]] = {}
        self._unschedulable: dict[Key, None] = {}

    def touched(self, change: StoreChange) -> Iterable[Key]:
        item = change.item
        if item.resource == PODS:
            yield from self._pod_changed(change)
            return
        if item.resource == NODES:
            if not self._node_changed(change):
                return
        else:
            self._occupancy = None
        yield from self._again()

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.find(PODS, key)
        if item is None or not _is_ours(item):
            self._unschedulable.pop(key, None)
            return None
        pod = self._facts.pod(item)
        occupancy = self._taken()
        kind = occupancy.class_of(pod)
        fitting = [seat for seat in occupancy.candidates(kind).values() if occupancy.has_place(kind, seat)]
        seat = self._replicas.preferred(pod.owner, fitting)
        if seat is None:
            self._unschedulable[key] = None
            said = _no_place(occupancy.reasons(kind), len(occupancy.seats))
            made = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
            conditions = with_condition(item.conditions, {**made, "lastProbeTime": None}, self._registry.now)
            self._registry.put(item, ("status", "conditions"), conditions, status=True)
            return None
        self._unschedulable.pop(key, None)
        self._bind(item, seat.node.name)
        return None

    def _bind(self, item: StoredItem, node: str) -> None:
        """The binding subresource: the node and the condition in one write."""
        bound = with_value(item.doc, ("spec", "nodeName"), node)
        made = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        conditions = with_condition(item.conditions, made, self._registry.now)
        conditions = [{k: v for k, v in each.items() if k not in ("reason", "message")} for each in conditions]
        self._registry.store.replace(item, with_value(bound, ("status", "conditions"), conditions))

    def _again(self) -> Iterable[Key]:
        return tuple(self._unschedulable)

    def _pod_changed(self, change: StoreChange) -> Iterable[Key]:
        item = change.item
        if not change.gone and _is_ours(item) and item.key not in self._unschedulable:
            yield item.key
        before = self._placed.get(item.key)
        self._place(item, not change.gone)
        after = self._placed.get(item.key)
        if before is not None and (after is None or after[:2] != before[:2]):
            yield from self._again()

    def _place(self, item: StoredItem, there: bool) -> None:
        if self._occupancy is None:
            return
        held = self._placed.pop(item.key, None)
        if held is not None:
            kind, node, owner = held
            self._occupancy.take(kind, node)
            self._replicas.take(owner, node)
        pod = self._facts.pod(item)
        if there and pod.node in self._occupancy.seats and not pod.finished:
            kind = self._occupancy.class_of(pod)
            self._occupancy.put(kind, pod.node)
            owner = None if pod.deleting else pod.owner
            self._placed[item.key] = kind, pod.node, owner
            self._replicas.put(owner, pod.node)

    def _node_changed(self, change: StoreChange) -> bool:
        """Whether the change affects where pods fit; most changes of nodes are heartbeats."""
        after = None if change.gone else _as_is(self._facts.node(change.item))
        before = None if change.before is None else _as_is(self._facts.node(change.before))
        if after == before:
            return False
        if self._occupancy is not None and after is not None and before is not None:
            self._occupancy.change_node(after)
        else:
            self._occupancy = None
        return after is not None

    def _taken(self) -> Occupancy:
        """The occupancy of all nodes, rebuilt if it was dropped."""
        if self._occupancy is not None:
            return self._occupancy
        store, facts = self._registry.store, self._facts
        nodes = [facts.node(item) for item in store.list(NODES)]
        spaces = {item.key[1]: item.labels for item in store.list(NAMESPACES)}
        self._occupancy = made = Occupancy(nodes, spaces, self._storage())
        self._placed.clear()
        self._replicas.clear()
        for item in store.list(PODS):
            self._place(item, there=True)
        return made

    def _storage(self) -> Storage:
        store, facts = self._registry.store, self._facts
        claims, volumes, classes, csi_nodes, attachments = (tuple(store.list(resource)) for resource in _STORAGE)
        return Storage.of(
            map(facts.claim, claims),
            map(facts.volume, volumes),
            map(facts.storage_class, classes),
            csi_nodes=tuple(map(facts.csi_node, csi_nodes)),
            attachments=tuple(map(facts.attachment, attachments)),
        )


def _is_ours(item: StoredItem) -> bool:
    """Whether the pod waits for this scheduler: no node, no other scheduler, no gates, not being deleted."""
    spec = item.spec
    return not (
        spec.get("nodeName")
        or item.leaving
        or spec.get("schedulingGates")
        or spec.get("schedulerName", DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER
        or at(item.status, "phase") in ("Succeeded", "Failed")
    )


def _as_is(node: Node) -> Node:
    """The node without fields that change all the time and matter to no filter."""
    return node if node.created_at is None else replace(node, created_at=None)


def _no_place(reasons: Counter[str], nodes: int) -> str:
    """The message of the scheduler (FitError); preemption is not tried."""
    said = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda r: f"{r[1]} {r[0]}"))
    return f"0/{nodes} nodes are available: {said}." if said else "no nodes available to schedule pods"


# An index that follows the store: pods by their labels and by node, budgets by namespace, scales.


SCALED = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)

_LabelSet = tuple[tuple[str, str], ...]


class _Namespace:
    """Pods by their labels, budgets by name, and the budgets of each label set; pods of one workload share labels."""

    __slots__ = ("alike", "budgets", "guarded", "guards")

    def __init__(self) -> None:
        self.alike: dict[_LabelSet, dict[Key, None]] = {}
        self.budgets: dict[str, Budget] = {}
        self.guards: dict[_LabelSet, list[str]] = {}  # label set → names of its budgets, sorted
        self.guarded: dict[str, dict[_LabelSet, None]] = {}  # budget → its label sets

    def guards_of(self, labels: _LabelSet) -> list[str]:
        found = self.guards.get(labels)
        if found is None:
            found = self.guards[labels] = [n for n in sorted(self.budgets) if _selects(self.budgets[n], labels)]
            for name in found:
                self.guarded[name][labels] = None
        return found

    def learn(self, budget: Budget) -> None:
        """Add or change a budget."""
        before = self.budgets.get(budget.name)
        self.budgets[budget.name] = budget
        if before is not None and before.selector == budget.selector:
            return
        if before is not None:
            self.forget(budget.name)
            self.budgets[budget.name] = budget
        mine = self.guarded[budget.name] = {labels: None for labels in self.guards if _selects(budget, labels)}
        for labels in mine:
            insort(self.guards[labels], budget.name)

    def forget(self, name: str) -> None:
        self.budgets.pop(name, None)
        for labels in self.guarded.pop(name, ()):
            self.guards[labels].remove(name)


class NodeRoster:
    """Mutable: it listens to the store, and must be created before other listeners that read it."""

    def __init__(self, store: Store, facts: FactSource) -> None:
        self._facts = facts
        self._pods: dict[Key, Pod] = {}
        self._namespaces: dict[str, _Namespace] = defaultdict(_Namespace)
        self._workloads: dict[tuple[str, str, str], Workload] = {}
        self._kinds = {resource.full_name: resource.kind for resource in SCALED}
        self.scales = Scales(self._workloads, {}, complete=True)
        for resource in (PODS, BUDGETS, *self._kinds):
            for item in store.list(resource):
                self._note(item, there=True)
        store.listen(lambda change: self._note(change.item, not change.gone))

    def pod(self, key: Key) -> Pod | None:
        return self._pods.get(key)

    def selected(self, budget: Budget) -> list[Pod]:
        """The pods that `budget`, an existing one, selects."""
        within = self._namespaces[budget.namespace]
        alike = (within.alike.get(labels, {}) for labels in within.guarded.get(budget.name, ()))
        return [self._pods[key] for keys in alike for key in keys]

    def guards(self, namespace: str, labels: Labels) -> list[Budget]:
        """The budgets that select pods with those labels, by name."""
        within = self._namespaces[namespace]
        return [within.budgets[name] for name in within.guards_of(_label_set(labels))]

    def budget(self, key: Key) -> Budget | None:
        return self._namespaces[key[0]].budgets.get(key[1])

    def _note(self, item: StoredItem, there: bool) -> None:
        if item.resource == PODS:
            self._note_pod(item, there)
        elif item.resource == BUDGETS:
            within = self._namespaces[item.key[0]]
            if there:
                within.learn(self._facts.budget(item))
            else:
                within.forget(item.key[1])
        elif item.resource in self._kinds:
            key = (self._kinds[item.resource], *item.key)
            if there:
                self._workloads[key] = self._facts.workload(item)
            else:
                self._workloads.pop(key, None)

    def _note_pod(self, item: StoredItem, there: bool) -> None:
        before = self._pods.get(item.key)
        now = self._facts.pod(item) if there else None
        within = self._namespaces[item.key[0]]
        if before is not None and (now is None or now.labels != before.labels):
            labels = _label_set(before.labels)
            del within.alike[labels][item.key]
            if not within.alike[labels]:
                del within.alike[labels]
        if now is None:
            self._pods.pop(item.key, None)
            return
        self._pods[item.key] = now
        labels = _label_set(now.labels)
        within.guards_of(labels)
        within.alike.setdefault(labels, {})[item.key] = None


def _selects(budget: Budget, labels: _LabelSet) -> bool:
    """policy/v1: an empty selector selects all pods, an invalid one none."""
    return budget.selector.valid and budget.selector.matches(dict(labels))


def _label_set(labels: Labels) -> _LabelSet:
    return tuple(sorted(labels.items()))


def labels_in(change: StoreChange) -> Iterator[Labels]:
    """The object's labels after `change`, and those before it if they differ."""
    now: Labels = change.item.labels
    yield now
    if change.before is not None:
        before: Labels = change.before.labels
        if before != now:
            yield before
