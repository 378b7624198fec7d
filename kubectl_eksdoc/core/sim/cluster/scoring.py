"""Which of the nodes that fit the scheduler prefers: where few pods of the same controller are, and much is left.

Source: pkg/scheduler/framework/plugins/podtopologyspread/{scoring,plugin}.go (the system's default constraints: by host
with a skew of 3, by zone with one of 5, ScheduleAnyway), noderesources/least_allocated.go, and the default weights of
apis/config/v1/default_plugins.go (spread 2, resources 1), Kubernetes v1.36. Other scores (images, preferred affinity,
balance) are left out; of the default constraints' selectors only the pod's controller is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

from kubectl_eksdoc.core.model.placement import CPU, MEMORY
from kubectl_eksdoc.core.model.pods import Owner
from kubectl_eksdoc.core.rules.scheduling.occupancy import Seat

SPREAD_WEIGHT = 2
_MOST = 100.0
_SKEWS = (3 - 1) + (5 - 1)


class Replicas:
    """Mutable: how many pods of each controller are on each node."""

    def __init__(self) -> None:
        self._on: dict[str, Counter[str]] = defaultdict(Counter)

    def put(self, owner: Owner | None, node: str) -> None:
        if owner is not None:
            self._on[owner.uid][node] += 1

    def take(self, owner: Owner | None, node: str) -> None:
        if owner is not None:
            self._on[owner.uid][node] -= 1

    def clear(self) -> None:
        self._on.clear()

    def preferred(self, owner: Owner | None, fitting: Sequence[Seat]) -> Seat | None:
        """The best of them; of equal ones the first by name, so that it is always the same."""
        spread = self._spread(owner, fitting)
        return min(
            fitting, key=lambda seat: (-spread.get(seat.node.name, 0.0) - _left(seat), seat.node.name), default=None
        )

    def _spread(self, owner: Owner | None, fitting: Sequence[Seat]) -> dict[str, float]:
        """By node, the less there is already the more."""
        on = self._on.get(owner.uid) if owner is not None else None
        if not on or not fitting:
            return {}
        zones: Counter[str] = Counter()
        for seat in fitting:
            zones[seat.node.zone] += on[seat.node.name]
        host_weight, zone_weight = log(len(fitting) + 2), log(len(zones) + 2)
        raw = {
            seat.node.name: on[seat.node.name] * host_weight + zones[seat.node.zone] * zone_weight + _SKEWS
            for seat in fitting
        }
        most, least = max(raw.values()), min(raw.values())
        return {name: SPREAD_WEIGHT * _MOST * (most + least - score) / most for name, score in raw.items()}


def _left(seat: Seat) -> float:
    """The mean share of cpu and memory that is left, of a hundred (NodeResourcesFit, LeastAllocated)."""
    room, has = seat.room, seat.node.allocatable
    cpu, memory = has.get(CPU, 0), has.get(MEMORY, 0)
    return _MOST / 2 * ((room.cpu / cpu if cpu else 0.0) + (room.memory / memory if memory else 0.0))
