"""When something is to be looked at again though nothing is told about it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from math import inf


class Timers:
    """Mutable: of each name the earliest time that was asked for."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}

    @property
    def next_s(self) -> float:
        """The earliest of all; infinity without one."""
        return self._heap[0][0] if self._heap else inf

    def set(self, name: str, when: float) -> None:
        """At `when` at the latest; infinity: not at all."""
        if when < self._due.get(name, inf):
            self._due[name] = when
            heapq.heappush(self._heap, (when, name))

    def due(self, now_s: float) -> Iterator[str]:
        """Those whose time has come; they are forgotten."""
        while self._heap and self._heap[0][0] <= now_s:
            when, name = heapq.heappop(self._heap)
            if self._due.get(name) == when:
                del self._due[name]
                yield name
