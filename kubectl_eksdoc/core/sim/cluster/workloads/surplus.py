"""Which pods of a replica set go first when there are too many.

Source: pkg/controller/controller_utils.go (ActivePodsWithRanks.Less), pkg/controller/replicaset/replica_set.go
(getPodsToDelete, getPodsRankedByRelatedPodsOnSameNode), Kubernetes v1.36 (LogarithmicScaleDown, PodDeletionCost on).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cmp_to_key
from math import log2

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.times import moment
from kubectl_eksdoc.core.sim.cluster.workloads import pods

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def surplus(active: Sequence[Item], count: int, related: Iterable[Item], now: datetime) -> list[Item]:
    """`count` of the pods `active`; `related` are those of all replica sets of the same owner."""
    if count >= len(active):
        return list(active)
    crowd = Counter(pods.node_of(item.doc) for item in related if pods.is_active(item.doc))

    def order(one: Item, other: Item) -> int:
        return _order(one.doc, other.doc, crowd, now)

    return sorted(active, key=cmp_to_key(order))[:count]


def _order(one: Doc, other: Doc, crowd: Counter[str], now: datetime) -> int:
    """Below zero if `one` goes before `other`."""
    a, b = _rank(one, crowd), _rank(other, crowd)
    if a != b:
        return -1 if a < b else 1
    if a[2] and (since := _by_age(pods.ready_since(one), pods.ready_since(other), one, other, now)):
        return since
    restarts_a, restarts_b = _restarts(one), _restarts(other)
    if restarts_a != restarts_b:
        return -1 if restarts_a > restarts_b else 1
    made = [str(pod["metadata"].get("creationTimestamp") or "") for pod in (one, other)]
    return _by_age(made[0], made[1], one, other, now)


def _rank(pod: Doc, crowd: Counter[str]) -> tuple[bool, int, bool, int, int]:
    node = pods.node_of(pod)
    return (bool(node), _PHASES.get(pods.phase(pod), 0), pods.is_ready(pod), _cost(pod), -crowd[node])


def _by_age(since: str, other_since: str, one: Doc, other: Doc, now: datetime) -> int:
    """The younger first, by powers of two of the age: what is about as old goes by UID, which is as good as chance."""
    if since == other_since:
        return 0
    if not since or not other_since:
        return 1 if since else -1
    by_power = _power(since, now) - _power(other_since, now)
    if by_power:
        return by_power
    return -1 if str(one["metadata"].get("uid")) < str(other["metadata"].get("uid")) else 1


def _power(since: str, now: datetime) -> int:
    age_s = (now - moment(since)).total_seconds()
    return int(log2(age_s * 1e9)) if age_s > 0 else -1


def _cost(pod: Doc) -> int:
    try:
        return int(pods.annotations_of(pod).get(DELETION_COST, "0"))
    except ValueError:
        return 0


def _restarts(pod: Doc) -> tuple[int, int]:
    """The most of its containers, then of its sidecars."""
    status = pod.get("status") or {}
    sidecars = {
        each.get("name") for each in pod["spec"].get("initContainers") or () if each.get("restartPolicy") == "Always"
    }
    of_init = status.get("initContainerStatuses") or ()
    return (
        max((int(each.get("restartCount") or 0) for each in status.get("containerStatuses") or ()), default=0),
        max((int(each.get("restartCount") or 0) for each in of_init if each.get("name") in sidecars), default=0),
    )
