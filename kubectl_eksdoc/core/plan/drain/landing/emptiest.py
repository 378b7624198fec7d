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

    __slots__ = ("_heap", "_most")

    def __init__(self, seats: Iterable[Seat]) -> None:
        self._heap = [_entry(seat) for seat in seats]
        heapq.heapify(self._heap)
        self._most: list[Requests] | None = None  # see `look`

    def settle(self) -> None:
        """Bring all nodes to their places: some may have more room than they had."""
        self._most = None
        # In order, which is a heap, too, and always the same one.
        self._heap = sorted(_entry(seat) for _, _, seat, _, _ in self._heap)

    def add(self, seat: Seat) -> None:
        """One node more, or one that has more room than it had."""
        self._most = None
        heapq.heappush(self._heap, _entry(seat))

    def with_room(self, asked: Requests, thorough: bool) -> Seat | None:
        """The emptiest node with room for it: the one at the top, as a rule."""
        heap = self._heap
        while heap:
            key, name, seat, per_cpu, per_memory = heap[0]
            room = seat.room
            cpu, memory = per_cpu * room.cpu, per_memory * room.memory
            now = -(cpu if cpu < memory else memory)
            if now <= key:
                return seat if room.fits(asked) else self.first(lambda seat: seat.room.fits(asked), thorough)
            heapq.heapreplace(heap, (now, name, seat, per_cpu, per_memory))
        return None

    def first(self, fits: Callable[[Seat], bool], thorough: bool = True) -> Seat | None:
        """The emptiest node that `fits`; if not `thorough`, only of the few that are emptiest."""
        heap = self._heap
        passed: list[_Entry] = []
        found = None
        while heap:
            key, name, seat, per_cpu, per_memory = heap[0]
            cpu, memory = per_cpu * seat.room.cpu, per_memory * seat.room.memory
            now = -(cpu if cpu < memory else memory)
            if now > key:
                heapq.heapreplace(heap, (now, name, seat, per_cpu, per_memory))
                continue
            if fits(seat):
                found = seat
                break
            passed.append(heapq.heappop(heap))
            if len(passed) == LOOKED_AT:
                if thorough:
                    found = next((entry[2] for entry in heap if fits(entry[2])), None)
                break
        for entry in passed:
            heapq.heappush(heap, entry)
        return found

    def look(self) -> None:
        """Remember the most that any node has left: until one is added, or `settle`, room only shrinks."""
        rooms = (entry[2].room for entry in self._heap if entry[2].room.pods > 0)
        left = {Requests(max(0, r.cpu), max(0, r.memory), max(0, r.ephemeral)) for r in rooms}
        most: list[Requests] = []
        for each in sorted(left, key=lambda room: (-room.cpu, -room.memory, -room.ephemeral)):
            if not any(_at_least(more, each) for more in most):
                most.append(each)
        self._most = most

    def forget(self) -> None:
        """Undo `look`: there is more room again."""
        self._most = None

    def is_too_large(self, asked: Requests) -> bool:
        """Whether no node had room for it at the last `look`, not even if nothing else were in the way."""
        return self._most is not None and not any(_at_least(most, asked) for most in self._most)


def _at_least(one: Requests, other: Requests) -> bool:
    return one.cpu >= other.cpu and one.memory >= other.memory and one.ephemeral >= other.ephemeral


_Entry = tuple[float, str, Seat, float, float]
"""The share of a node that is left, of what it has least of, negated; its name, and it; one over what it has at all,
of cpu and of memory."""


def _entry(seat: Seat) -> _Entry:
    room = seat.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    per_cpu, per_memory = 1 / has_cpu if has_cpu else 0.0, 1 / has_memory if has_memory else 0.0
    return -min(per_cpu * room.cpu, per_memory * room.memory), seat.node.name, seat, per_cpu, per_memory
