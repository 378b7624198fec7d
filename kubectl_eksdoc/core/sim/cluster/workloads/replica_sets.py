"""The replica set controller: as many active pods as wanted, made from the template; the surplus goes.

A pod that is being deleted does not count, so what is evicted is replaced at once.
Source: pkg/controller/replicaset/{replica_set,replica_set_utils}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.api.statuses import Refusal
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.owning import claimed, controller_of, keys_of_owner, may_be_adopted
from kubectl_eksdoc.core.sim.cluster.workloads.selecting import Selectors
from kubectl_eksdoc.core.sim.cluster.workloads.surplus import surplus
from kubectl_eksdoc.core.sim.cluster.workloads.templates import Templates

REPLICA_SETS = kinds.REPLICA_SETS.full_name
BURST = 500
"""Pods that are made or deleted in one go (BurstReplicas)."""


class ReplicaSets:
    """A `Controller`; keys are those of ReplicaSets."""

    resources = (REPLICA_SETS, pods.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._selectors = Selectors()
        self._templates = Templates(registry.store)
        self._writing = False

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == REPLICA_SETS:
            return () if self._writing else (change.item.key,)
        if may_be_adopted(change):
            return (*keys_of_owner(change, kinds.REPLICA_SETS), *self._would_adopt(change.item))
        return keys_of_owner(change, kinds.REPLICA_SETS)

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(REPLICA_SETS, key)
        if item is None:
            return None
        selector = self._selectors.of(item.doc["spec"].get("selector"))
        own = claimed(self._registry, self._index, item, kinds.REPLICA_SETS, selector, pods.PODS)
        active = [pod for pod in own if pods.is_active(pod.doc)]
        labels = (((item.doc["spec"].get("template") or {}).get("metadata")) or {}).get("labels") or {}
        # A dump that was edited may hold what no API server stores: such a set would make pods without an end.
        refused = self._manage(item, active) if not item.leaving and selector.matches(labels) else None
        terminating = sum(pods.is_terminating(pod.doc) for pod in own)
        status, again_s = self._status(item, active, terminating, refused)
        self._write(key, status)
        if refused is not None:
            raise refused
        return again_s

    def _write(self, key: Key, status: Doc) -> None:
        """It need not look again at what it wrote itself."""
        current = self._registry.store.get(REPLICA_SETS, key)
        if current is None or status == current.doc.get("status"):
            return
        self._writing = True
        try:
            self._registry.update(current, {**current.doc, "status": status}, status=True)
        finally:
            self._writing = False

    def _would_adopt(self, pod: Item) -> Iterable[Key]:
        labels = pods.labels_of(pod.doc)
        for item in self._registry.store.list(REPLICA_SETS, pod.key[0]):
            if self._selectors.of(item.doc["spec"].get("selector")).matches(labels):
                yield item.key

    def _manage(self, item: Item, active: list[Item]) -> Refusal | None:
        """Make what is missing or delete the surplus; the refusal that stopped it."""
        missing = wanted(item.doc) - len(active)
        try:
            if missing > 0:
                pod = self._templates.pod(item.doc["spec"].get("template") or {}, item, kinds.REPLICA_SETS)
                for _ in range(min(missing, BURST)):
                    self._registry.create(pods.PODS, pod, item.key[0])
            elif missing < 0:
                related = self._related(item) if -missing < len(active) else ()
                for gone in surplus(active, min(-missing, BURST), related, self._registry.agenda.now):
                    self._registry.delete(gone)
        except Refusal as refusal:
            return refusal
        return None

    def _related(self, item: Item) -> Iterable[Item]:
        """Pods of all replica sets that have the same controller."""
        owner = controller_of(item.doc)
        sets = [item] if owner is None else self._index.controlled(owner["uid"], REPLICA_SETS)
        return (pod for each in sets for pod in self._index.controlled(each.uid, pods.PODS))

    def _status(
        self, item: Item, active: list[Item], terminating: int, refused: Refusal | None
    ) -> tuple[Doc, float | None]:
        """The status as of these pods, and in how many seconds it changes by itself."""
        spec = item.doc["spec"]
        min_ready_s = int(spec.get("minReadySeconds") or 0)
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        now = self._registry.agenda.now
        ready = available = labelled = 0
        soon: list[float] = []
        for pod in active:
            labelled += labels.items() <= pods.labels_of(pod.doc).items()
            left_s = pods.available_in(pod.doc, min_ready_s, now)
            if pods.is_ready(pod.doc):
                ready += 1
            if left_s == 0.0:
                available += 1
            elif left_s is not None:
                soon.append(left_s)
        made: Doc = {
            "availableReplicas": available,
            "fullyLabeledReplicas": labelled,
            "observedGeneration": int(item.doc["metadata"].get("generation") or 0),
            "readyReplicas": ready,
        }
        made = {key: value for key, value in made.items() if value}
        made |= {"replicas": len(active), "terminatingReplicas": terminating}
        if conditions := self._conditions(item, len(active), refused):
            made["conditions"] = conditions
        return made, min(soon, default=None)

    def _conditions(self, item: Item, active: int, refused: Refusal | None) -> list[Doc]:
        """ReplicaFailure while pods cannot be made or deleted."""
        held: list[Doc] = (item.doc.get("status") or {}).get("conditions") or []
        others = [each for each in held if each.get("type") != "ReplicaFailure"]
        if refused is None:
            return others
        reason = "FailedCreate" if active < wanted(item.doc) else "FailedDelete"
        same = [each for each in held if each.get("type") == "ReplicaFailure" and each.get("reason") == reason]
        if same:
            return held
        failure = {"type": "ReplicaFailure", "status": "True", "reason": reason, "message": refused.status.message}
        return [*others, {**failure, "lastTransitionTime": self._registry.now}]


def wanted(doc: Doc) -> int:
    """spec.replicas, 1 where it is not given."""
    given = doc["spec"].get("replicas")
    return 1 if given is None else int(given)
