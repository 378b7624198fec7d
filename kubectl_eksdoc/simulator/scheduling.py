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

from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import PodClass
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import nested_field, with_value
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import ControllerOwner, Node, Pod
from kubectl_eksdoc.model.placement import CPU, DEFAULT_SCHEDULER, MEMORY
from kubectl_eksdoc.model.selectors import Labels
from kubectl_eksdoc.model.workloads import Workload

from .registry import FactSource, Registry, with_condition
from .store import (
    BUDGETS,
    NAMESPACES,
    NODES,
    PODS,
    ObjectKey,
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
_MAX_SCORE = 100.0
_SKEWS = (3 - 1) + (5 - 1)


class ReplicaCounts:
    """Mutable: the number of pods of each controller on each node."""

    def __init__(self) -> None:
        self._count_on: dict[str, Counter[str]] = defaultdict(Counter)

    def add_pod(self, owner: ControllerOwner | None, node: str) -> None:
        if owner is not None:
            self._count_on[owner.uid][node] += 1

    def remove_pod(self, owner: ControllerOwner | None, node: str) -> None:
        if owner is not None:
            self._count_on[owner.uid][node] -= 1

    def clear(self) -> None:
        self._count_on.clear()

    def best_node(self, owner: ControllerOwner | None, fitting: Sequence[NodeOccupancy]) -> NodeOccupancy | None:
        """The best of these nodes; of equal ones the first by name, so that it is always the same."""
        spread_scores = self._spread_scores(owner, fitting)
        return min(
            fitting,
            key=lambda node_room: (
                -spread_scores.get(node_room.node.name, 0.0) - _free_score(node_room),
                node_room.node.name,
            ),
            default=None,
        )

    def _spread_scores(self, owner: ControllerOwner | None, fitting: Sequence[NodeOccupancy]) -> dict[str, float]:
        """Node name → score, the higher the fewer pods of the controller it has."""
        counts = self._count_on.get(owner.uid) if owner is not None else None
        if not counts or not fitting:
            return {}
        zones: Counter[str] = Counter()
        for node_room in fitting:
            zones[node_room.node.zone] += counts[node_room.node.name]
        host_weight, zone_weight = log(len(fitting) + 2), log(len(zones) + 2)
        raw_scores = {
            node_room.node.name: counts[node_room.node.name] * host_weight
            + zones[node_room.node.zone] * zone_weight
            + _SKEWS
            for node_room in fitting
        }
        max_score, min_score = max(raw_scores.values()), min(raw_scores.values())
        return {
            name: SPREAD_WEIGHT * _MAX_SCORE * (max_score + min_score - score) / max_score
            for name, score in raw_scores.items()
        }


def _free_score(node_room: NodeOccupancy) -> float:
    """The mean free share of cpu and memory, of a hundred (NodeResourcesFit, LeastAllocated)."""
    room, allocatable = node_room.room, node_room.node.allocatable
    cpu, memory = allocatable.get(CPU, 0), allocatable.get(MEMORY, 0)
    return _MAX_SCORE / 2 * ((room.cpu / cpu if cpu else 0.0) + (room.memory / memory if memory else 0.0))


_STORAGE_KINDS = (
    kinds.CLAIMS.full_name,
    kinds.VOLUMES.full_name,
    kinds.STORAGE_CLASSES.full_name,
    kinds.CSI_NODES.full_name,
    kinds.VOLUME_ATTACHMENTS.full_name,
)


class Scheduler:
    """A `Controller` whose keys are those of pods. It keeps the occupancy of nodes up to date."""

    resources = (PODS, NODES, NAMESPACES, *_STORAGE_KINDS)

    def __init__(self, registry: Registry, facts: FactSource) -> None:
        self._registry = registry
        self._facts = facts
        self._occupancy: Occupancy | None = None  # built when it is needed
        self._replica_counts = ReplicaCounts()
        self._placements: dict[ObjectKey, tuple[PodClass, str, ControllerOwner | None]] = {}
        self._unschedulable: dict[ObjectKey, None] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        item = change.item
        if item.resource == PODS:
            yield from self._pod_changed(change)
            return
        if item.resource == NODES:
            if not self._node_changed(change):
                return
        else:
            self._occupancy = None
        yield from self._unschedulable_keys()

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(PODS, key)
        if item is None or not _waits_for_scheduler(item):
            self._unschedulable.pop(key, None)
            return None
        pod = self._facts.pod(item)
        occupancy = self._current_occupancy()
        pod_class = occupancy.class_of(pod)
        fitting = [
            node_room
            for node_room in occupancy.candidates(pod_class).values()
            if occupancy.fits_now(pod_class, node_room)
        ]
        node_room = self._replica_counts.best_node(pod.owner, fitting)
        if node_room is None:
            self._unschedulable[key] = None
            message = _fit_error_message(occupancy.refusal_reasons(pod_class), len(occupancy.by_node))
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            conditions = with_condition(item.conditions, {**condition, "lastProbeTime": None}, self._registry.timestamp)
            self._registry.set_value(item, ("status", "conditions"), conditions, status=True)
            return None
        self._unschedulable.pop(key, None)
        self._bind(item, node_room.node.name)
        return None

    def _bind(self, item: StoredItem, node: str) -> None:
        """The binding subresource: the node and the condition in one write."""
        bound_doc = with_value(item.doc, ("spec", "nodeName"), node)
        condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        conditions = with_condition(item.conditions, condition, self._registry.timestamp)
        conditions = [
            {field: value for field, value in each.items() if field not in ("reason", "message")} for each in conditions
        ]
        self._registry.store.replace(item, with_value(bound_doc, ("status", "conditions"), conditions))

    def _unschedulable_keys(self) -> Iterable[ObjectKey]:
        return tuple(self._unschedulable)

    def _pod_changed(self, change: StoreChange) -> Iterable[ObjectKey]:
        item = change.item
        if not change.is_deletion and _waits_for_scheduler(item) and item.key not in self._unschedulable:
            yield item.key
        before = self._placements.get(item.key)
        self._update_placement(item, not change.is_deletion)
        after = self._placements.get(item.key)
        if before is not None and (after is None or after[:2] != before[:2]):
            yield from self._unschedulable_keys()

    def _update_placement(self, item: StoredItem, exists: bool) -> None:
        if self._occupancy is None:
            return
        old_placement = self._placements.pop(item.key, None)
        if old_placement is not None:
            pod_class, node, owner = old_placement
            self._occupancy.take(pod_class, node)
            self._replica_counts.remove_pod(owner, node)
        pod = self._facts.pod(item)
        if exists and pod.node in self._occupancy.by_node and not pod.finished:
            pod_class = self._occupancy.class_of(pod)
            self._occupancy.put(pod_class, pod.node)
            owner = None if pod.deleting else pod.owner
            self._placements[item.key] = pod_class, pod.node, owner
            self._replica_counts.add_pod(owner, pod.node)

    def _node_changed(self, change: StoreChange) -> bool:
        """Whether the change affects where pods fit; most changes of nodes are heartbeats."""
        after = None if change.is_deletion else _without_volatile_fields(self._facts.node(change.item))
        before = None if change.before is None else _without_volatile_fields(self._facts.node(change.before))
        if after == before:
            return False
        if self._occupancy is not None and after is not None and before is not None:
            self._occupancy.change_node(after)
        else:
            self._occupancy = None
        return after is not None

    def _current_occupancy(self) -> Occupancy:
        """The occupancy of all nodes, rebuilt if it was dropped."""
        if self._occupancy is not None:
            return self._occupancy
        store, facts = self._registry.store, self._facts
        nodes = [facts.node(item) for item in store.list(NODES)]
        namespaces = {item.key[1]: item.labels for item in store.list(NAMESPACES)}
        self._occupancy = new_occupancy = Occupancy(nodes, namespaces, self._storage())
        self._placements.clear()
        self._replica_counts.clear()
        for item in store.list(PODS):
            self._update_placement(item, exists=True)
        return new_occupancy

    def _storage(self) -> Storage:
        store, facts = self._registry.store, self._facts
        claims, volumes, classes, csi_nodes, attachments = (tuple(store.list(resource)) for resource in _STORAGE_KINDS)
        return Storage.of(
            map(facts.claim, claims),
            map(facts.volume, volumes),
            map(facts.storage_class, classes),
            csi_nodes=tuple(map(facts.csi_node, csi_nodes)),
            attachments=tuple(map(facts.attachment, attachments)),
        )


def _waits_for_scheduler(item: StoredItem) -> bool:
    """Whether the pod waits for this scheduler: no node, no other scheduler, no gates, not being deleted."""
    spec = item.spec
    return not (
        spec.get("nodeName")
        or item.deleting
        or spec.get("schedulingGates")
        or spec.get("schedulerName", DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER
        or nested_field(item.status, "phase") in ("Succeeded", "Failed")
    )


def _without_volatile_fields(node: Node) -> Node:
    """The node without fields that change all the time and matter to no filter."""
    return node if node.created_at is None else replace(node, created_at=None)


def _fit_error_message(reasons: Counter[str], nodes: int) -> str:
    """The message of the scheduler (FitError); preemption is not tried."""
    reasons_text = ", ".join(
        f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: f"{item[1]} {item[0]}")
    )
    return f"0/{nodes} nodes are available: {reasons_text}." if reasons_text else "no nodes available to schedule pods"


# An index that follows the store: pods by their labels and by node, budgets by namespace, scales.


SCALED_KINDS = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)

_LabelSet = tuple[tuple[str, str], ...]


class _NamespaceIndex:
    """Pods by their labels, budgets by name, and the budgets of each label set; pods of one workload share labels."""

    __slots__ = ("alike", "budgets", "guarded", "guards")

    def __init__(self) -> None:
        self.alike: dict[_LabelSet, dict[ObjectKey, None]] = {}
        self.budgets: dict[str, Budget] = {}
        self.guards: dict[_LabelSet, list[str]] = {}  # label set → names of its budgets, sorted
        self.guarded: dict[str, dict[_LabelSet, None]] = {}  # budget → its label sets

    def budgets_for(self, labels: _LabelSet) -> list[str]:
        names = self.guards.get(labels)
        if names is None:
            names = self.guards[labels] = [
                budget_name for budget_name in sorted(self.budgets) if _selects(self.budgets[budget_name], labels)
            ]
            for name in names:
                self.guarded[name][labels] = None
        return names

    def update_budget(self, budget: Budget) -> None:
        """Add or change a budget."""
        before = self.budgets.get(budget.name)
        self.budgets[budget.name] = budget
        if before is not None and before.selector == budget.selector:
            return
        if before is not None:
            self.remove_budget(budget.name)
            self.budgets[budget.name] = budget
        label_sets = self.guarded[budget.name] = {labels: None for labels in self.guards if _selects(budget, labels)}
        for labels in label_sets:
            insort(self.guards[labels], budget.name)

    def remove_budget(self, name: str) -> None:
        self.budgets.pop(name, None)
        for labels in self.guarded.pop(name, ()):
            self.guards[labels].remove(name)


class BudgetIndex:
    """Mutable: it listens to the store, and must be created before other listeners that read it."""

    def __init__(self, store: Store, facts: FactSource) -> None:
        self._facts = facts
        self._pods: dict[ObjectKey, Pod] = {}
        self._namespaces: dict[str, _NamespaceIndex] = defaultdict(_NamespaceIndex)
        self._workloads: dict[tuple[str, str, str], Workload] = {}
        self._kind_of_resource = {resource.full_name: resource.kind for resource in SCALED_KINDS}
        self.scales = ScaleIndex(self._workloads, {}, complete=True)
        for resource in (PODS, BUDGETS, *self._kind_of_resource):
            for item in store.list(resource):
                self._update(item, exists=True)
        store.listen(lambda change: self._update(change.item, not change.is_deletion))

    def pod(self, key: ObjectKey) -> Pod | None:
        return self._pods.get(key)

    def selected_pods(self, budget: Budget) -> list[Pod]:
        """The pods that `budget`, an existing one, selects."""
        namespace_index = self._namespaces[budget.namespace]
        keys_by_labels = (
            namespace_index.alike.get(labels, {}) for labels in namespace_index.guarded.get(budget.name, ())
        )
        return [self._pods[key] for keys in keys_by_labels for key in keys]

    def budgets_for(self, namespace: str, labels: Labels) -> list[Budget]:
        """The budgets that select pods with those labels, by name."""
        namespace_index = self._namespaces[namespace]
        return [namespace_index.budgets[name] for name in namespace_index.budgets_for(_label_set(labels))]

    def budget(self, key: ObjectKey) -> Budget | None:
        return self._namespaces[key[0]].budgets.get(key[1])

    def _update(self, item: StoredItem, exists: bool) -> None:
        if item.resource == PODS:
            self._update_pod(item, exists)
        elif item.resource == BUDGETS:
            namespace_index = self._namespaces[item.key[0]]
            if exists:
                namespace_index.update_budget(self._facts.budget(item))
            else:
                namespace_index.remove_budget(item.key[1])
        elif item.resource in self._kind_of_resource:
            key = (self._kind_of_resource[item.resource], *item.key)
            if exists:
                self._workloads[key] = self._facts.workload(item)
            else:
                self._workloads.pop(key, None)

    def _update_pod(self, item: StoredItem, exists: bool) -> None:
        before = self._pods.get(item.key)
        after = self._facts.pod(item) if exists else None
        namespace_index = self._namespaces[item.key[0]]
        if before is not None and (after is None or after.labels != before.labels):
            labels = _label_set(before.labels)
            del namespace_index.alike[labels][item.key]
            if not namespace_index.alike[labels]:
                del namespace_index.alike[labels]
        if after is None:
            self._pods.pop(item.key, None)
            return
        self._pods[item.key] = after
        labels = _label_set(after.labels)
        namespace_index.budgets_for(labels)
        namespace_index.alike.setdefault(labels, {})[item.key] = None


def _selects(budget: Budget, labels: _LabelSet) -> bool:
    """policy/v1: an empty selector selects all pods, an invalid one none."""
    return budget.selector.valid and budget.selector.matches(dict(labels))


def _label_set(labels: Labels) -> _LabelSet:
    return tuple(sorted(labels.items()))


def labels_of_change(change: StoreChange) -> Iterator[Labels]:
    """The object's labels after `change`, and those before it if they differ."""
    after: Labels = change.item.labels
    yield after
    if change.before is not None:
        before: Labels = change.before.labels
        if before != after:
            yield before
