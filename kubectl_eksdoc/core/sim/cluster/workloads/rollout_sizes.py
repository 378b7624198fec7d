"""How large each ReplicaSet of a Deployment is to be: rolling updates step by step, and scaling in proportion.

Source: pkg/controller/deployment/{rolling,sync}.go, pkg/controller/deployment/util/deployment_util.go
(ResolveFenceposts, NewRSNewReplicas, GetReplicaSetProportion), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.amounts import scaled
from kubectl_eksdoc.core.sim.cluster.workloads.pods import annotations_of
from kubectl_eksdoc.core.sim.cluster.workloads.replica_sets import wanted

DESIRED, MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"

Sizes = list[tuple[Item, int]]


class Limits(NamedTuple):
    """`replicas` that are wanted; pods beyond them (`surge`) and away from them (`away`) while it rolls."""

    replicas: int
    surge: int
    away: int
    rolling: bool

    @property
    def most(self) -> int:
        return self.replicas + self.surge


def limits_of(deployment: Doc) -> Limits:
    """With surge rounded up, unavailable down, and one unavailable where both would be none."""
    spec = deployment["spec"]
    replicas = 1 if spec.get("replicas") is None else int(spec["replicas"])
    strategy: Doc = spec.get("strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return Limits(replicas, 0, 0, rolling=False)
    rolling: Doc = strategy.get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge"), replicas, "25%", up=True)
    away = scaled(rolling.get("maxUnavailable"), replicas, "25%", up=False)
    if not surge and not away:
        away = 1
    return Limits(replicas, surge, min(away, replicas), rolling=True)


def counted(item: Item, what: str) -> int:
    """A number of its status."""
    return int((item.doc.get("status") or {}).get(what) or 0)


def noted(item: Item, annotation: str) -> int | None:
    """A number of its annotations, None where it is none."""
    try:
        return int(annotations_of(item.doc)[annotation])
    except (KeyError, ValueError):
        return None


def first_size(limits: Limits, size: int, total: int) -> int:
    """Of the new ReplicaSet that has `size`, with `total` in all: as large as the surge allows."""
    if not limits.rolling:
        return limits.replicas
    if total >= limits.most:
        return size
    return size + min(limits.most - total, limits.replicas - size)


def rolled(limits: Limits, new: Item, old: Sequence[Item]) -> Sizes:
    """The next step of a rolling update: the new one grows first, then the old ones shrink."""
    size = wanted(new.doc)
    active = [item for item in old if wanted(item.doc)]
    total = size + sum(wanted(item.doc) for item in active)
    if size > limits.replicas:
        return [(new, limits.replicas)]
    if size < limits.replicas and (larger := first_size(limits, size, total)) != size:
        return [(new, larger)]
    not_there = size - counted(new, "availableReplicas")
    room = total - (limits.replicas - limits.away) - not_there
    return _shrunk(limits, new, active, room) if active and room > 0 else []


def _shrunk(limits: Limits, new: Item, active: Sequence[Item], room: int) -> Sizes:
    """Old ones lose what is not available, the oldest first, then what need not be available."""
    by_age = sorted(active, key=_made)
    sizes = {item: wanted(item.doc) for item in by_age}
    for item in by_age:
        ailing = min(room, max(0, sizes[item] - counted(item, "availableReplicas")))
        sizes[item] -= ailing
        room -= ailing
    available = sum(counted(item, "availableReplicas") for item in (*by_age, new))
    spare = available - (limits.replicas - limits.away)
    for item in by_age:
        less = min(sizes[item], max(0, spare))
        sizes[item] -= less
        spare -= less
    return [(item, size) for item, size in sizes.items() if size != wanted(item.doc)]


def scaled_sizes(limits: Limits, new: Item | None, old: Sequence[Item], total_before: int) -> Sizes:
    """Sizes after spec.replicas changed, whether or not an update is under way."""
    every = [*old, *((new,) if new is not None else ())]
    active = [item for item in every if wanted(item.doc)]
    if len(active) <= 1:
        latest = active[0] if active else new or max(old, key=_made, default=None)
        return [(latest, limits.replicas)] if latest is not None else []
    if new is not None and _saturated(limits, new):
        return [(item, 0) for item in active if item is not new]
    return _in_proportion(limits, active, total_before) if limits.rolling else []


def _saturated(limits: Limits, new: Item) -> bool:
    return (
        wanted(new.doc) == noted(new, DESIRED) == limits.replicas
        and counted(new, "availableReplicas") == limits.replicas
    )


def _in_proportion(limits: Limits, active: Sequence[Item], total_before: int) -> Sizes:
    """What is added or taken away is shared out by size; what cannot be shared goes to the largest."""
    add = (limits.most if limits.replicas else 0) - sum(wanted(item.doc) for item in active)
    newer_first = add > 0
    order = sorted(active, key=_made, reverse=newer_first)
    order.sort(key=lambda item: wanted(item.doc), reverse=True)
    sizes: Sizes = []
    added = 0
    for item in order:
        share = _share(limits, item, add - added, total_before) if add else 0
        added += share
        sizes.append((item, wanted(item.doc) + share))
    first, size = sizes[0]
    sizes[0] = first, max(0, size + add - added)
    return sizes


def _share(limits: Limits, item: Item, left: int, total_before: int) -> int:
    size = wanted(item.doc)
    if not left:
        return 0
    if not limits.replicas:
        share = -size
    else:
        before = noted(item, MAX) or total_before
        if not before:
            return 0
        share = int(size * limits.most / before + 0.5) - size
    return min(share, left) if left > 0 else max(share, left)


def _made(item: Item) -> tuple[str, str]:
    return str(item.doc["metadata"].get("creationTimestamp") or ""), item.key[1]
