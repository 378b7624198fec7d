"""The replica set controller: as many active pods as desired, created from the template; surplus pods are deleted.

A pod that is being deleted does not count, so an evicted pod is replaced at once.
Source: pkg/controller/replicaset/{replica_set,replica_set_utils}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cmp_to_key
from math import log2

from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.kubernetes.budgets import parse_int_or_percent
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement_by_owner
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import FINISHED_PHASES, ControllerOwner

from ..disruptions import initial_status
from ..registry import Registry
from ..store import PODS, ObjectKey, StoreChange, StoredItem, parse_api_time
from .ownership import (
    ObjectController,
    ObjectIndex,
    OwnerClaims,
    PodTemplates,
    api_group,
    is_missing,
)

# Which pods of a replica set go first when there are too many.
#
# Source: pkg/controller/controller_utils.go (ActivePodsWithRanks.Less), pkg/controller/replicaset/replica_set.go
# (getPodsToDelete, getPodsRankedByRelatedPodsOnSameNode), Kubernetes v1.36 (LogarithmicScaleDown, PodDeletionCost on).


DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def surplus_pods(
    active: Sequence[StoredItem], count: int, related: Iterable[StoredItem], now: datetime
) -> list[StoredItem]:
    """`count` of the pods `active`; `related` are those of all replica sets of the same owner."""
    if count >= len(active):
        return list(active)
    pods_per_node = Counter(item.node for item in related if item.active)

    def compare(first: StoredItem, second: StoredItem) -> int:
        # Below zero if `first` is deleted before `second`.
        first_rank, second_rank = _rank(first, pods_per_node), _rank(second, pods_per_node)
        if first_rank != second_rank:
            return -1 if first_rank < second_rank else 1
        if first_rank[2] and (by_ready_time := _compare_age(first.ready_since, second.ready_since, first, second, now)):
            return by_ready_time
        return _compare_age(first.creation_timestamp, second.creation_timestamp, first, second, now)

    return sorted(active, key=cmp_to_key(compare))[:count]


def _rank(pod: StoredItem, pods_per_node: Counter[str]) -> tuple[bool, int, bool, int, int]:
    return (bool(pod.node), _PHASES.get(pod.phase, 0), pod.ready, _deletion_cost(pod), -pods_per_node[pod.node])


def _compare_age(first_time: str, second_time: str, first: StoredItem, second: StoredItem, now: datetime) -> int:
    """The younger first, by powers of two of the age: pods of about the same age are ordered by UID, which is as good
    as random."""
    if first_time == second_time:
        return 0
    if not first_time or not second_time:
        return 1 if first_time else -1
    by_power = _log2_age(first_time, now) - _log2_age(second_time, now)
    if by_power:
        return by_power
    return -1 if first.uid < second.uid else 1


def _log2_age(since: str, now: datetime) -> int:
    age_s = (now - parse_api_time(since)).total_seconds()
    return int(log2(age_s * 1e9)) if age_s > 0 else -1


def _deletion_cost(pod: StoredItem) -> int:
    try:
        return int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


REPLICA_SETS = kinds.REPLICA_SETS.full_name
BURST = 500
"""Pods that are created or deleted at a time (BurstReplicas)."""


class ReplicaSets(ObjectController):
    """A `Controller` whose keys are those of ReplicaSets, or of ReplicationControllers, which the same controller
    serves (pkg/controller/replication/replication_controller.go)."""

    def __init__(self, registry: Registry, index: ObjectIndex, kind: Resource = kinds.REPLICA_SETS) -> None:
        super().__init__(registry, index)
        self.resources = (kind.full_name, PODS)
        self._kind = kind
        self._owners = OwnerClaims(registry, index, kind)
        self._templates = PodTemplates(registry.store)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == self._kind.full_name:
            return () if self._is_writing else (change.key,)
        return self._owners.owner_keys(change)

    def manage(self, item: StoredItem) -> float | None:
        owned = self._owners.claim(item, PODS)
        active = [pod for pod in owned if pod.active]
        labels = nested_field(item.template, "metadata", "labels") or {}
        # An edited dump may contain a set that no API server stores: it would create pods without end.
        refusal = (
            self._adjust_replicas(item, active)
            if not item.deleting and self._owners.matcher(item).matches(labels)
            else None
        )
        terminating = sum(pod.terminating for pod in owned)
        status, requeue_s = self._new_status(item, active, terminating)
        self._write_status(item, status)
        if refusal is not None:
            raise refusal
        return requeue_s

    def _adjust_replicas(self, item: StoredItem, active: list[StoredItem]) -> ApiRefusal | None:
        """Create missing pods or delete surplus ones; returns the refusal that stopped it."""
        missing = item.replicas - len(active)
        try:
            if missing > 0:
                pod = self._templates.build_pod(item.template, item, self._kind)
                for _ in range(min(missing, BURST)):
                    self._registry.create(PODS, pod, item.key[0])
            elif missing < 0:
                related = self._sibling_pods(item) if -missing < len(active) else ()
                for surplus_pod in surplus_pods(active, min(-missing, BURST), related, self._registry.current_time):
                    self._registry.delete(surplus_pod)
        except ApiRefusal as refusal:
            return refusal
        return None

    def _sibling_pods(self, item: StoredItem) -> Iterable[StoredItem]:
        """Pods of all replica sets that have the same controller."""
        owner = item.controller
        sets = [item] if owner is None else self._index.controlled(owner["uid"], self._kind.full_name)
        return (pod for each in sets for pod in self._index.controlled(each.uid, PODS))

    def _new_status(self, item: StoredItem, active: list[StoredItem], terminating: int) -> tuple[Doc, float | None]:
        """The status from these pods, and the seconds until it changes by itself."""
        spec = item.spec
        min_ready_s = int(spec.get("minReadySeconds") or 0)
        labels = nested_field(item.template, "metadata", "labels") or {}
        now = self._registry.current_time
        ready = available = labelled = 0
        available_soon: list[float] = []
        for pod in active:
            labelled += labels.items() <= pod.labels.items()
            remaining_s = pod.available_in_s(min_ready_s, now)
            if pod.ready:
                ready += 1
            if remaining_s == 0.0:
                available += 1
            elif remaining_s is not None:
                available_soon.append(remaining_s)
        status: Doc = {
            "availableReplicas": available,
            "fullyLabeledReplicas": labelled,
            "observedGeneration": item.generation,
            "readyReplicas": ready,
        }
        status = {key: value for key, value in status.items() if value}
        status |= {"replicas": len(active), "terminatingReplicas": terminating}
        # An earlier failure is over, and is not reported.
        if conditions := [each for each in item.conditions if each.get("type") != "ReplicaFailure"]:
            status["conditions"] = conditions
        return status, min(available_soon, default=None)


class OtherControllers:
    """A `Controller` for all controllers that are not simulated (an operator's, for example); keys are those of pods.
    Each is assumed to create another pod as soon as one is evicted, as in a plan."""

    resources = (PODS,)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        self._registry = registry
        self._index = index
        self._leaving_pods: dict[ObjectKey, StoredItem] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        item, before = change.item, change.before
        if before is None or before.deleting or not (item.deleting or change.is_deletion):
            return ()
        owner = item.controller
        if owner is None or owner["kind"] == kinds.NODES.kind or item.phase in FINISHED_PHASES:
            return ()
        if replacement_by_owner(ControllerOwner(owner["kind"], "", "", api_group(owner))) is not Replacement.UNKNOWN:
            return ()
        self._leaving_pods[item.key] = item
        return (item.key,)

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._leaving_pods.pop(key, None)
        owner = item and item.controller
        if not item or not owner or is_missing(self._registry, self._index, owner, key[0]):
            return None
        owner_item = self._index.by_uid(owner["uid"])
        if owner_item is not None and owner_item.deleting:
            return None
        kept_fields = ("labels", "annotations", "ownerReferences", "finalizers")
        meta = {field: item.meta[field] for field in kept_fields if field in item.meta}
        spec = {field: value for field, value in item.spec.items() if field != "nodeName"}
        pod_fields = {"metadata": meta | {"generateName": f"{key[1]}-"}, "spec": spec, "status": initial_status(spec)}
        self._registry.create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod_fields}, key[0])
        return None


# Number of pods for an amount such as ``25%``.
#
# Source: apimachinery pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent), Kubernetes v1.36.


def scaled_value(value: int | str | None, total: int, default: int | str, *, up: bool) -> int:
    """The count, percentages rounded `up` or down; an invalid amount counts as 0."""
    amount = parse_int_or_percent(default if value is None else value)
    if amount is None:
        return 0
    if not amount.percent:
        return amount.value
    return -(-amount.value * total // 100) if up else amount.value * total // 100
