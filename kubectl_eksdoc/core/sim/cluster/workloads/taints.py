"""The taints that the node lifecycle controller keeps: of cordoned nodes, and of those whose conditions are bad.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass, processTaintBaseEviction),
Kubernetes v1.36. NoExecute taints come at once: neither the limit of nodes a second nor zones in disruption are
modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, with_value
from kubectl_eksdoc.core.model.nodes import UNSCHEDULABLE_TAINT
from kubectl_eksdoc.core.sim.cluster.conditions import condition
from kubectl_eksdoc.core.sim.cluster.pod_admission import NOT_READY, UNREACHABLE
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads.tolerating import NO_EXECUTE, NO_SCHEDULE

NODES = kinds.NODES.full_name

BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}

_KEPT = frozenset({*BY_CONDITION.values(), UNSCHEDULABLE_TAINT})


class NodeTaints:
    """A `Controller`; keys are those of Nodes."""

    resources = (NODES,)

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def touched(self, change: Change) -> Iterable[Key]:
        return () if change.what is What.DELETED else (change.item.key,)

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(NODES, key)
        if item is None:
            return None
        held: list[Doc] = (item.doc.get("spec") or {}).get("taints") or []
        wanted = set(_wanted(item.doc))
        kept = [each for each in held if not _ours(each) or (each["key"], each["effect"]) in wanted]
        there = {(each["key"], each.get("effect")) for each in kept}
        now = self._registry.now
        new = [{"key": k, "effect": e, "timeAdded": now} for k, e in sorted(wanted) if (k, e) not in there]
        if new or len(kept) != len(held):
            self._registry.update(item, with_value(item.doc, ("spec", "taints"), [*kept, *new]))
        return None


def _wanted(node: Doc) -> Iterator[tuple[str, str]]:
    """Key and effect of the taints it must have."""
    if (node.get("spec") or {}).get("unschedulable"):
        yield (UNSCHEDULABLE_TAINT, NO_SCHEDULE)
    for (kind, status), key in BY_CONDITION.items():
        held = condition(node, kind)
        if held is not None and held.get("status") == status:
            yield (key, NO_SCHEDULE)
            if kind == "Ready":
                yield (key, NO_EXECUTE)


def _ours(taint: Doc) -> bool:
    if taint["key"] not in _KEPT:
        return False
    return taint.get("effect") == NO_SCHEDULE or (
        taint.get("effect") == NO_EXECUTE and taint["key"] in (NOT_READY, UNREACHABLE)
    )
