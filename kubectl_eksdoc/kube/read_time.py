"""How long a cluster has been read: what ``--read-timeout`` counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


class ReadTime:
    """The time in which at least one of those who share it was reading, so that a question to the user and a change
    between two reads do not count. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._readers = 0
        self._since_s = 0.0
        self._spent_s = 0.0

    def begin(self) -> None:
        """The cluster is observed once more: nothing has been spent on that yet."""
        with self._lock:
            self._spent_s, self._since_s = 0.0, self._clock()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Within it something is read."""
        with self._lock:
            if not self._readers:
                self._since_s = self._clock()
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    self._spent_s += self._clock() - self._since_s

    def left_s(self, limit_s: float) -> float:
        """Of `limit_s`, below 0 where it is over."""
        with self._lock:
            return limit_s - self._spent_s - (self._clock() - self._since_s if self._readers else 0.0)
