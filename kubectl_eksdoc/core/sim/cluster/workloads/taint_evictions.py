"""The taint eviction controller: pods that do not tolerate a NoExecute taint of their node are deleted, budgets or not.

Source: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode, getMinTolerationTime,
addConditionAndDeletePod), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.disruption_targets import disrupted
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.tolerating import NO_EXECUTE, taints_of, tolerates

NODES = kinds.NODES.full_name
REASON, MESSAGE = "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"


class TaintEvictions:
    """A `Controller`; keys are those of pods."""

    resources = (NODES, pods.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._since: dict[str, float] = {}  # by UID: when its tolerations began to run out

    def touched(self, change: Change) -> Iterable[Key]:
        item, before = change.item, change.before
        if change.what is What.DELETED:
            self._since.pop(item.uid, None)
            return ()
        if item.resource == NODES:
            taints = taints_of(item.doc, NO_EXECUTE)
            if taints == (taints_of(before.doc, NO_EXECUTE) if before else []):
                return ()
            return [pod.key for pod in self._index.on_node(item.key[1])]
        node = pods.node_of(item.doc)
        tolerations = item.doc["spec"].get("tolerations")
        if before and pods.node_of(before.doc) == node and before.doc["spec"].get("tolerations") == tolerations:
            return ()
        return (item.key,) if node else ()

    def reconcile(self, key: Key) -> float | None:
        pod = self._registry.store.get(pods.PODS, key)
        if pod is None or pod.leaving:
            return None
        node = self._registry.store.get(NODES, ("", pods.node_of(pod.doc)))
        taints = taints_of(node.doc, NO_EXECUTE) if node is not None else []
        stays_s = _stays_s(taints, pod.doc["spec"].get("tolerations") or ())
        if stays_s is None:
            self._since.pop(pod.uid, None)
            return None
        now_s = self._registry.agenda.seconds
        left_s = self._since.setdefault(pod.uid, now_s) + stays_s - now_s
        if left_s > 0:
            return left_s
        self._evict(pod)
        return None

    def _evict(self, pod: Item) -> None:
        self._since.pop(pod.uid, None)
        doc = disrupted(pod.doc, REASON, MESSAGE, self._registry.now)
        self._registry.delete(self._registry.update(pod, doc, status=True))


def _stays_s(taints: list[Doc], tolerations: Iterable[Doc]) -> float | None:
    """For how long the pod may stay with these taints; None is for ever."""
    held = list(tolerations)
    shortest: float | None = None
    for taint in taints:
        used = [each for each in held if tolerates(each, taint)]
        if not used:
            return 0.0
        for seconds in (each.get("tolerationSeconds") for each in used):
            if seconds is not None:
                shortest = max(0.0, float(seconds if shortest is None else min(seconds, shortest)))
    return shortest
