"""Which pods of a StatefulSet a rolling update deletes next.

Source: pkg/controller/statefulset/stateful_set_control.go (updateStatefulSet,
updateStatefulSetAfterInvariantEstablished), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.amounts import scaled
from kubectl_eksdoc.core.sim.cluster.workloads.set_status import revision_of, runs_available


def to_update(item: Item, slots: Sequence[Item | None], update: Item, now: datetime) -> list[Item]:
    """The pods that go for the update, from those by ordinal (None where there is none yet)."""
    strategy: Doc = item.doc["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return []
    rolling: Doc = strategy.get("rollingUpdate") or {}
    first = int(rolling.get("partition") or 0)
    if rolling.get("maxUnavailable") is not None:
        return _several(item, slots, first, update, now)
    for pod in reversed(slots[first:]):
        if pod is None:
            return []
        if revision_of(pod.doc) != update.key[1] and not pod.leaving:
            return [pod]
        if pod.leaving or not runs_available(item, pod, now):
            return []
    return []


def _several(item: Item, slots: Sequence[Item | None], first: int, update: Item, now: datetime) -> list[Item]:
    """As many as may be unavailable at once, less those that are."""
    given = item.doc["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"]
    most = max(1, scaled(given, len(slots), 1, up=False))
    away = sum(pod is None or pod.leaving or not runs_available(item, pod, now) for pod in slots)
    old = [
        pod
        for pod in reversed(slots[first:])
        if pod is not None and not pod.leaving and revision_of(pod.doc) != update.key[1]
    ]
    return old[: max(0, most - away)]
