"""Gaps in which nobody knew whose a lock was: from one on nothing is relied on until everything was looked at anew.

Who keeps the lock alive begins a gap, who relies on it ends it: after a look that began when the gap was over. A second
gap meanwhile needs a second look, whichever thread a process is stopped in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Gaps:
    """Mutable. Safe to use from several threads. Times are of the lock's monotonic clock."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._begun = self._looked_at = 0
        self.is_open = False
        self.sure_s = 0.0
        """The lock was surely renewed at that time, for the last time before the gap, if there is one."""

    def begin(self) -> None:
        with self._turn:
            self.is_open = True
            self._begun += 1

    def forget(self) -> None:
        """The lock was taken anew, by somebody who relies on nothing."""
        with self._turn:
            self.is_open = False

    def renewed(self, since_s: float) -> None:
        if not self.is_open:
            self.sure_s = since_s

    def look(self) -> None:
        """What is looked at from now on is seen after all gaps so far."""
        self._looked_at = self._begun

    def end(self, held: Callable[[], bool]) -> None:
        """Everything was looked at; the gap stays open if there was another one since, or if it is not `held`."""
        with self._turn:
            if self._begun == self._looked_at and held():
                self.is_open = False
