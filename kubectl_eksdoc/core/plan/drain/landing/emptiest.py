"""Nodes by how empty they are, which is how the scheduler prefers them (NodeResourcesFit, LeastAllocated)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from kubectl_eksdoc.core.model.placement import CPU, MEMORY, Requests
from kubectl_eksdoc.core.rules.scheduling.occupancy import Seat

LOOKED_AT = 8
"""So many of the emptiest nodes are looked at in order; of the others any that fits is taken."""


class Emptiest:
    """Some nodes, the emptiest first. A node's place is brought up to date when its turn comes."""

    __slots__ = ("_heap", "too_large")

    def __init__(self, seats: Iterable[Seat]) -> None:
        self._heap = [(-_free(seat), seat.node.name, seat) for seat in seats]
        heapq.heapify(self._heap)
        self.too_large: list[Requests] = []  # that no node has room for, not even if nothing else is in the way

    def settle(self) -> None:
        """Bring all nodes to their places: some may have more room than they had."""
        self.too_large.clear()
        self._heap = [(-_free(seat), name, seat) for _, name, seat in self._heap]
        heapq.heapify(self._heap)

    def add(self, seat: Seat) -> None:
        """One node more, or one that has more room than it had."""
        self.too_large.clear()
        heapq.heappush(self._heap, (-_free(seat), seat.node.name, seat))

    def first(self, fits: Callable[[Seat], bool], thorough: bool = True) -> Seat | None:
        """The emptiest node that `fits`; if not `thorough`, only of the few that are emptiest."""
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
                if thorough:
                    found = next((seat for _, _, seat in heap if fits(seat)), None)
                break
        for entry in passed:
            heapq.heappush(heap, entry)
        return found

    def is_too_large(self, asked: Requests) -> bool:
        """Whether it asks for as much as something that no node has room for."""
        return any(
            asked.cpu >= no.cpu and asked.memory >= no.memory and asked.ephemeral >= no.ephemeral
            for no in self.too_large
        )


def _free(seat: Seat) -> float:
    """The share of a node that is left, of what it has least of."""
    room = seat.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    return min(room.cpu / has_cpu if has_cpu else 0.0, room.memory / has_memory if has_memory else 0.0)
