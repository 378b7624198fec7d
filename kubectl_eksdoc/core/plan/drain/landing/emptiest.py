"""Nodes by how empty they are, which is how the scheduler prefers them (NodeResourcesFit, LeastAllocated)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from kubectl_eksdoc.core.model.placement import CPU, MEMORY
from kubectl_eksdoc.core.rules.scheduling.occupancy import Seat

LOOKED_AT = 64
"""So many of the emptiest nodes are compared in order; of the others any that fits is taken."""


class Emptiest:
    """Some nodes, the emptiest first. A node's place is brought up to date when its turn comes."""

    __slots__ = ("_heap",)

    def __init__(self, seats: Iterable[Seat]) -> None:
        self._heap = [(-_free(seat), seat.node.name, seat) for seat in seats]
        heapq.heapify(self._heap)

    def add(self, seat: Seat) -> None:
        heapq.heappush(self._heap, (-_free(seat), seat.node.name, seat))

    def first(self, fits: Callable[[Seat], bool]) -> Seat | None:
        """The emptiest node that `fits`."""
        heap = self._heap
        passed: list[tuple[float, str, Seat]] = []
        found = None
        while heap:
            key, name, seat = heap[0]
            now = -_free(seat)
            if now > key:
                heapq.heapreplace(heap, (now, name, seat))
                continue
            if fits(seat):
                found = seat
                break
            passed.append(heapq.heappop(heap))
            if len(passed) == LOOKED_AT:
                found = next((seat for _, _, seat in heap if fits(seat)), None)
                break
        for entry in passed:
            heapq.heappush(heap, entry)
        return found


def _free(seat: Seat) -> float:
    """The share of a node that is left, of what it has least of."""
    room = seat.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    return min(room.cpu / has_cpu if has_cpu else 0.0, room.memory / has_memory if has_memory else 0.0)
