"""Whether the cluster can be watched: told when a watch has not worked for a while, and when all do again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import inf

from kubectl_eksdoc.core.rules.news import Away, Back, News


class Reach:
    """Times are seconds of one clock. Safe to use from several threads; asked only where a watch begins or ends."""

    def __init__(self, watches: Iterable[str], away_s: float, now_s: float) -> None:
        """None of them works yet. `away_s`: one may be without a connection for so long until that is told, for each
        is taken up again now and then."""
        self._away_s = away_s
        self._lock = threading.Lock()
        self._broken = {name: (now_s, f"{name} have not been listed yet") for name in watches}
        self._told = False

    def works(self, watch: str) -> None:
        with self._lock:
            self._broken.pop(watch, None)

    def broken(self, watch: str, said: str, now_s: float) -> None:
        """It does not work, and why; it may be said again, with another reason."""
        with self._lock:
            since_s, _ = self._broken.get(watch, (now_s, ""))
            self._broken[watch] = since_s, said

    def news(self, now_s: float) -> list[News]:
        """What is to be told now."""
        with self._lock:
            if self._told:
                if self._broken:
                    return []
                self._told = False
                return [Back()]
            late = [each for each in self._broken.values() if now_s - each[0] >= self._away_s]
            if not late:
                return []
            self._told = True
            return [Away(min(late)[1])]

    def due_s(self, now_s: float) -> float:
        """In how many seconds there will be something to tell if nothing else happens; infinity if never."""
        with self._lock:
            if self._told or not self._broken:
                return inf
            return max(0.0, min(since_s for since_s, _ in self._broken.values()) + self._away_s - now_s)
