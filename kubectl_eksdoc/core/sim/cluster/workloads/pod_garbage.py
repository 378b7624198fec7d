"""The pod garbage collector: pods on nodes that are gone are failed and deleted by force, budgets or not.

Source: pkg/controller/podgc/gc_controller.go (gcOrphaned, markFailedAndDeletePodWithCondition), Kubernetes v1.36.
Finished pods beyond the threshold of 12,500 are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import with_value
from kubectl_eksdoc.core.sim.cluster.disruption_targets import disrupted
from kubectl_eksdoc.core.sim.cluster.registry import DeleteOptions, Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index

NODES = kinds.NODES.full_name

PERIOD_S = 20.0
"""It looks as often as that (gcCheckPeriod)."""

QUARANTINE_S = 40.0
"""A node must have been away for so long since it was first missed (quarantineTime)."""

REASON, MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"


class PodGarbage:
    """A `Controller`; keys are ("", name of a node). Without any node in the store none is missed."""

    resources = (NODES, pods.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._due: dict[str, float] = {}

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == NODES:
            return (change.item.key,) if change.what is not What.MODIFIED else ()
        node = pods.node_of(change.item.doc)
        if change.what is What.DELETED or not node or self._there(node):
            return ()
        before = change.before
        return (("", node),) if before is None or pods.node_of(before.doc) != node else ()

    def reconcile(self, key: Key) -> float | None:
        node = key[1]
        if self._there(node) or not self._index.held(NODES):
            self._due.pop(node, None)
            return None
        now_s = self._registry.agenda.seconds
        due_s = self._due.setdefault(node, now_s + (-now_s % PERIOD_S) + QUARANTINE_S)
        if now_s < due_s:
            return due_s - now_s
        del self._due[node]
        for pod in self._index.on_node(node):
            self._remove(pod)
        return None

    def _there(self, node: str) -> bool:
        return self._registry.store.get(NODES, ("", node)) is not None

    def _remove(self, pod: Item) -> None:
        if not pods.is_finished(pod.doc):
            doc = disrupted(pod.doc, REASON, MESSAGE, self._registry.now)
            pod = self._registry.update(pod, with_value(doc, ("status", "phase"), "Failed"), status=True)
        self._registry.delete(pod, DeleteOptions(grace_s=0))
