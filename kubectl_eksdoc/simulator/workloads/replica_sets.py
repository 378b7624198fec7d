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
from kubectl_eksdoc.kubernetes.budgets import amount_of
from kubectl_eksdoc.kubernetes.replacement import Replacement, by_owner
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import ENDED, ControllerOwner

from ..disruptions import first_status
from ..registry import Registry
from ..store import PODS, Key, StoreChange, StoredItem, moment
from .owning import (
    Index,
    ObjectController,
    Owners,
    PodTemplates,
    group_of,
    is_missing,
)

# Which pods of a replica set go first when there are too many.
#
# Source: pkg/controller/controller_utils.go (ActivePodsWithRanks.Less), pkg/controller/replicaset/replica_set.go
# (getPodsToDelete, getPodsRankedByRelatedPodsOnSameNode), Kubernetes v1.36 (LogarithmicScaleDown, PodDeletionCost on).


DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def surplus(active: Sequence[StoredItem], count: int, related: Iterable[StoredItem], now: datetime) -> list[StoredItem]:
    """`count` of the pods `active`; `related` are those of all replica sets of the same owner."""
    if count >= len(active):
        return list(active)
    crowd = Counter(item.node for item in related if item.active)

    def order(one: StoredItem, other: StoredItem) -> int:
        # Below zero if `first` is deleted before `second`.
        a, b = _rank(one, crowd), _rank(other, crowd)
        if a != b:
            return -1 if a < b else 1
        if a[2] and (since := _by_age(one.ready_since, other.ready_since, one, other, now)):
            return since
        return _by_age(one.created, other.created, one, other, now)

    return sorted(active, key=cmp_to_key(order))[:count]


def _rank(pod: StoredItem, crowd: Counter[str]) -> tuple[bool, int, bool, int, int]:
    return (bool(pod.node), _PHASES.get(pod.phase, 0), pod.ready, _cost(pod), -crowd[pod.node])


def _by_age(since: str, other_since: str, one: StoredItem, other: StoredItem, now: datetime) -> int:
    """The younger first, by powers of two of the age: pods of about the same age are ordered by UID, which is as good
    as random."""
    if since == other_since:
        return 0
    if not since or not other_since:
        return 1 if since else -1
    by_power = _power(since, now) - _power(other_since, now)
    if by_power:
        return by_power
    return -1 if one.uid < other.uid else 1


def _power(since: str, now: datetime) -> int:
    age_s = (now - moment(since)).total_seconds()
    return int(log2(age_s * 1e9)) if age_s > 0 else -1


def _cost(pod: StoredItem) -> int:
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

    def __init__(self, registry: Registry, index: Index, kind: Resource = kinds.REPLICA_SETS) -> None:
        super().__init__(registry, index)
        self.resources = (kind.full_name, PODS)
        self._kind = kind
        self._owners = Owners(registry, index, kind)
        self._templates = PodTemplates(registry.store)

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.resource == self._kind.full_name:
            return () if self._writing else (change.key,)
        return self._owners.of(change)

    def look_after(self, item: StoredItem) -> float | None:
        own = self._owners.claimed(item, PODS)
        active = [pod for pod in own if pod.active]
        labels = at(item.template, "metadata", "labels") or {}
        # An edited dump may contain a set that no API server stores: it would create pods without end.
        refused = (
            self._manage(item, active) if not item.leaving and self._owners.matcher(item).matches(labels) else None
        )
        terminating = sum(pod.terminating for pod in own)
        status, again_s = self._status(item, active, terminating)
        self._report(item, status)
        if refused is not None:
            raise refused
        return again_s

    def _manage(self, item: StoredItem, active: list[StoredItem]) -> ApiRefusal | None:
        """Create missing pods or delete surplus ones; returns the refusal that stopped it."""
        missing = item.replicas - len(active)
        try:
            if missing > 0:
                pod = self._templates.pod(item.template, item, self._kind)
                for _ in range(min(missing, BURST)):
                    self._registry.create(PODS, pod, item.key[0])
            elif missing < 0:
                related = self._related(item) if -missing < len(active) else ()
                for gone in surplus(active, min(-missing, BURST), related, self._registry.time):
                    self._registry.delete(gone)
        except ApiRefusal as refusal:
            return refusal
        return None

    def _related(self, item: StoredItem) -> Iterable[StoredItem]:
        """Pods of all replica sets that have the same controller."""
        owner = item.controller
        sets = [item] if owner is None else self._index.controlled(owner["uid"], self._kind.full_name)
        return (pod for each in sets for pod in self._index.controlled(each.uid, PODS))

    def _status(self, item: StoredItem, active: list[StoredItem], terminating: int) -> tuple[Doc, float | None]:
        """The status from these pods, and the seconds until it changes by itself."""
        spec = item.spec
        min_ready_s = int(spec.get("minReadySeconds") or 0)
        labels = at(item.template, "metadata", "labels") or {}
        now = self._registry.time
        ready = available = labelled = 0
        soon: list[float] = []
        for pod in active:
            labelled += labels.items() <= pod.labels.items()
            left_s = pod.available_in(min_ready_s, now)
            if pod.ready:
                ready += 1
            if left_s == 0.0:
                available += 1
            elif left_s is not None:
                soon.append(left_s)
        made: Doc = {
            "availableReplicas": available,
            "fullyLabeledReplicas": labelled,
            "observedGeneration": item.generation,
            "readyReplicas": ready,
        }
        made = {key: value for key, value in made.items() if value}
        made |= {"replicas": len(active), "terminatingReplicas": terminating}
        # An earlier failure is over, and is not reported.
        if conditions := [each for each in item.conditions if each.get("type") != "ReplicaFailure"]:
            made["conditions"] = conditions
        return made, min(soon, default=None)


class OtherControllers:
    """A `Controller` for all controllers that are not simulated (an operator's, for example); keys are those of pods.
    Each is assumed to create another pod as soon as one is evicted, as in a plan."""

    resources = (PODS,)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._gone: dict[Key, StoredItem] = {}

    def touched(self, change: StoreChange) -> Iterable[Key]:
        item, before = change.item, change.before
        if before is None or before.leaving or not (item.leaving or change.gone):
            return ()
        owner = item.controller
        if owner is None or owner["kind"] == kinds.NODES.kind or item.phase in ENDED:
            return ()
        if by_owner(ControllerOwner(owner["kind"], "", "", group_of(owner))) is not Replacement.UNKNOWN:
            return ()
        self._gone[item.key] = item
        return (item.key,)

    def reconcile(self, key: Key) -> float | None:
        item = self._gone.pop(key, None)
        owner = item and item.controller
        if not item or not owner or is_missing(self._registry, self._index, owner, key[0]):
            return None
        there = self._index.of_uid(owner["uid"])
        if there is not None and there.leaving:
            return None
        kept = ("labels", "annotations", "ownerReferences", "finalizers")
        meta = {part: item.meta[part] for part in kept if part in item.meta}
        spec = {part: value for part, value in item.spec.items() if part != "nodeName"}
        made = {"metadata": meta | {"generateName": f"{key[1]}-"}, "spec": spec, "status": first_status(spec)}
        self._registry.create(PODS, {"apiVersion": "v1", "kind": "Pod", **made}, key[0])
        return None


# Number of pods for an amount such as ``25%``.
#
# Source: apimachinery pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent), Kubernetes v1.36.


def scaled(value: int | str | None, total: int, default: int | str, *, up: bool) -> int:
    """The count, percentages rounded `up` or down; an invalid amount counts as 0."""
    amount = amount_of(default if value is None else value)
    if amount is None:
        return 0
    if not amount.percent:
        return amount.value
    return -(-amount.value * total // 100) if up else amount.value * total // 100
