"""Taints of the node lifecycle controller: for cordoned nodes, and for nodes with bad conditions.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass, processTaintBaseEviction),
Kubernetes v1.36. NoExecute taints come at once: neither the limit of nodes a second nor zones in disruption are
modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT, Toleration

from ..disruptions import NOT_READY, UNREACHABLE, disrupted
from ..registry import Registry
from ..store import NODES, PODS, Key, StoreChange, StoredItem
from .owning import Index, ObjectController

# Taints and tolerations of documents.
#
# Source: component-helpers/scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint), Kubernetes v1.36.


NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"


def taints_of(node: StoredItem, *effects: str) -> list[Doc]:
    """The node's taints with these effects."""
    return [each for each in node.spec.get("taints") or () if each.get("effect") in effects]


def tolerates(toleration: Doc, taint: Doc) -> bool:
    read = Toleration(
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
    )
    return read.tolerates(taint["key"], taint.get("value") or "", taint["effect"])


def all_tolerated(taints: Iterable[Doc], tolerations: Iterable[Doc]) -> bool:
    held = list(tolerations)
    return all(any(tolerates(each, taint) for each in held) for taint in taints)


BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}

_KEPT = frozenset({*BY_CONDITION.values(), UNSCHEDULABLE_TAINT})


class NodeTaints(ObjectController):
    """A `Controller` whose keys are those of Nodes."""

    resources = (NODES,)

    def touched(self, change: StoreChange) -> Iterable[Key]:
        return () if change.gone else (change.key,)

    def look_after(self, item: StoredItem) -> None:
        held: list[Doc] = item.spec.get("taints") or []
        wanted = set(_wanted(item))
        kept = [each for each in held if not _ours(each) or (each["key"], each["effect"]) in wanted]
        there = {(each["key"], each.get("effect")) for each in kept}
        now = self._registry.now
        new = [{"key": k, "effect": e, "timeAdded": now} for k, e in sorted(wanted) if (k, e) not in there]
        if new or len(kept) != len(held):
            self._registry.put(item, ("spec", "taints"), [*kept, *new])


def _wanted(node: StoredItem) -> Iterator[tuple[str, str]]:
    """Key and effect of the taints it must have."""
    if node.spec.get("unschedulable"):
        yield (UNSCHEDULABLE_TAINT, NO_SCHEDULE)
    for (kind, status), key in BY_CONDITION.items():
        if node.says(kind) == status:
            yield (key, NO_SCHEDULE)
            if kind == "Ready":
                yield (key, NO_EXECUTE)


def _ours(taint: Doc) -> bool:
    if taint["key"] not in _KEPT:
        return False
    return taint.get("effect") == NO_SCHEDULE or (
        taint.get("effect") == NO_EXECUTE and taint["key"] in (NOT_READY, UNREACHABLE)
    )


# The taint eviction controller: pods that do not tolerate a NoExecute taint of their node are deleted, budgets or not.
#
# Source: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode, getMinTolerationTime,
# addConditionAndDeletePod), Kubernetes v1.36.


REASON, MESSAGE = "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"


class TaintEvictions(ObjectController):
    """A `Controller` whose keys are those of pods."""

    resources = (PODS, NODES)

    def __init__(self, registry: Registry, index: Index) -> None:
        super().__init__(registry, index)
        self._since: dict[str, float] = {}  # pod UID → when its tolerations started to expire

    def touched(self, change: StoreChange) -> Iterable[Key]:
        item, before = change.item, change.before
        if change.gone:
            self._since.pop(item.uid, None)
            return ()
        if item.resource == NODES:
            taints = taints_of(item, NO_EXECUTE)
            if taints == (taints_of(before, NO_EXECUTE) if before else []):
                return ()
            return [pod.key for pod in self._index.on_node(item.key[1])]
        node = item.node
        tolerations = item.spec.get("tolerations")
        if before and before.node == node and before.spec.get("tolerations") == tolerations:
            return ()
        return (item.key,) if node else ()

    def look_after(self, pod: StoredItem) -> float | None:
        if pod.leaving:
            return None
        node = self._registry.find(NODES, ("", pod.node))
        taints = taints_of(node, NO_EXECUTE) if node is not None else []
        stays_s = _stays_s(taints, pod.spec.get("tolerations") or ())
        if stays_s is None:
            self._since.pop(pod.uid, None)
            return None
        now_s = self._registry.seconds
        left_s = self._since.setdefault(pod.uid, now_s) + stays_s - now_s
        if left_s > 0:
            return left_s
        self._since.pop(pod.uid, None)
        doc = disrupted(pod, REASON, MESSAGE, self._registry.now)
        self._registry.delete(self._registry.update(pod, doc, status=True))
        return None


def _stays_s(taints: list[Doc], tolerations: Iterable[Doc]) -> float | None:
    """How long the pod may stay with these taints; None is for ever."""
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
