"""Taints of the node lifecycle controller: for cordoned nodes, and for nodes with bad conditions.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass, processTaintBaseEviction),
Kubernetes v1.36. NoExecute taints come at once: neither the limit of nodes a second nor zones in disruption are
modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT, Toleration

from ..disruptions import NOT_READY, UNREACHABLE, with_disruption_target
from ..registry import Registry
from ..store import NODES, PODS, ObjectKey, StoreChange, StoredItem
from .ownership import ObjectController, ObjectIndex

# Taints and tolerations of documents.
#
# Source: component-helpers/scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint), Kubernetes v1.36.


NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"


def taints_of(node: StoredItem, *effects: str) -> list[Doc]:
    """The node's taints with these effects."""
    return [each for each in node.spec.get("taints") or () if each.get("effect") in effects]


def tolerates(toleration: Doc, taint: Doc) -> bool:
    parsed = Toleration(
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
    )
    return parsed.tolerates(taint["key"], taint.get("value") or "", taint["effect"])


def all_tolerated(taints: Iterable[Doc], tolerations: Iterable[Doc]) -> bool:
    toleration_list = list(tolerations)
    return all(any(tolerates(each, taint) for each in toleration_list) for taint in taints)


TAINTS_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}

_MANAGED_TAINTS = frozenset({*TAINTS_BY_CONDITION.values(), UNSCHEDULABLE_TAINT})


class NodeTaints(ObjectController):
    """A `Controller` whose keys are those of Nodes."""

    resources = (NODES,)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        return () if change.is_deletion else (change.key,)

    def manage(self, item: StoredItem) -> None:
        taints: list[Doc] = item.spec.get("taints") or []
        desired = set(_desired_taints(item))
        kept_taints = [each for each in taints if not _is_managed(each) or (each["key"], each["effect"]) in desired]
        present = {(each["key"], each.get("effect")) for each in kept_taints}
        now = self._registry.timestamp
        new_taints = [
            {"key": taint_key, "effect": effect, "timeAdded": now}
            for taint_key, effect in sorted(desired)
            if (taint_key, effect) not in present
        ]
        if new_taints or len(kept_taints) != len(taints):
            self._registry.set_value(item, ("spec", "taints"), [*kept_taints, *new_taints])


def _desired_taints(node: StoredItem) -> Iterator[tuple[str, str]]:
    """Key and effect of the taints it must have."""
    if node.spec.get("unschedulable"):
        yield (UNSCHEDULABLE_TAINT, NO_SCHEDULE)
    for (kind, status), key in TAINTS_BY_CONDITION.items():
        if node.condition_status(kind) == status:
            yield (key, NO_SCHEDULE)
            if kind == "Ready":
                yield (key, NO_EXECUTE)


def _is_managed(taint: Doc) -> bool:
    if taint["key"] not in _MANAGED_TAINTS:
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

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._tolerated_since: dict[str, float] = {}  # pod UID → when its tolerations started to expire

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        item, before = change.item, change.before
        if change.is_deletion:
            self._tolerated_since.pop(item.uid, None)
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

    def manage(self, pod: StoredItem) -> float | None:
        if pod.deleting:
            return None
        node = self._registry.find(NODES, ("", pod.node))
        taints = taints_of(node, NO_EXECUTE) if node is not None else []
        tolerated_s = _tolerated_s(taints, pod.spec.get("tolerations") or ())
        if tolerated_s is None:
            self._tolerated_since.pop(pod.uid, None)
            return None
        now_s = self._registry.seconds
        remaining_s = self._tolerated_since.setdefault(pod.uid, now_s) + tolerated_s - now_s
        if remaining_s > 0:
            return remaining_s
        self._tolerated_since.pop(pod.uid, None)
        doc = with_disruption_target(pod, REASON, MESSAGE, self._registry.timestamp)
        self._registry.delete(self._registry.update(pod, doc, status=True))
        return None


def _tolerated_s(taints: list[Doc], tolerations: Iterable[Doc]) -> float | None:
    """How long the pod may stay with these taints; None is for ever."""
    toleration_list = list(tolerations)
    shortest: float | None = None
    for taint in taints:
        matching = [each for each in toleration_list if tolerates(each, taint)]
        if not matching:
            return 0.0
        for seconds in (each.get("tolerationSeconds") for each in matching):
            if seconds is not None:
                shortest = max(0.0, float(seconds if shortest is None else min(seconds, shortest)))
    return shortest
