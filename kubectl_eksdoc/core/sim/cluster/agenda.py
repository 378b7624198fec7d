"""What happens when: a queue of things to do by virtual time, in a fixed order for things of the same moment."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta

Deed = Callable[[], object]


class Agenda:
    """Mutable. `now` is the virtual time; it only moves by `run_until` and `next`. `before_each` is called before each
    thing to do, which stays to be done if it raises."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._seconds = 0.0
        self._queue: list[tuple[float, int, Deed]] = []
        self._number = 0
        self.before_each: Deed | None = None

    @property
    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._seconds)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._seconds

    @property
    def due_s(self) -> float | None:
        """When the next thing happens, in seconds since the start; None if nothing does."""
        return self._queue[0][0] if self._queue else None

    def after(self, seconds: float, deed: Deed) -> None:
        """Have `deed` done so much later, after whatever is due then already."""
        self._number += 1
        heapq.heappush(self._queue, (self._seconds + max(0.0, seconds), self._number, deed))

    def next(self) -> bool:
        """Do the next thing, at its time; False if there is none."""
        if not self._queue:
            return False
        if self.before_each is not None:
            self.before_each()
        self._seconds, _, deed = heapq.heappop(self._queue)
        deed()
        return True

    def run_until(self, seconds: float) -> None:
        """Do everything that is due up to then, and let the time be that."""
        while self._queue and self._queue[0][0] <= seconds:
            self.next()
        self._seconds = max(self._seconds, seconds)
