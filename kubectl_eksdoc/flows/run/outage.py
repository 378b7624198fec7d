"""While nobody knows whether the lock is still ours: the server is away, or this machine stood still.

Nothing is asked for meanwhile. Where the lock becomes ours again, nobody else has drained here since, and everything is
listed anew before the run goes on; where somebody else had it, the run ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubectl_eksdoc.errors import LockInDoubt, LockLost
from kubectl_eksdoc.flows.ports import DrainLock, Field
from kubectl_eksdoc.kubernetes.news import AllBudgets, AllNodes, AllPods, News
from kubectl_eksdoc.model.quantities import in_words

LOOK_S = 1.0
"""So often it is looked whether somebody wishes to end it."""

_LISTS: frozenset[type] = frozenset((AllNodes, AllPods, AllBudgets))


@dataclass(frozen=True, slots=True)
class ApiOutage:
    """`longest_s`: so long the lock may be in doubt. `hear` takes what is told, `ends` says why it is to end, "" if
    it is not, and is asked every second."""

    _lock: DrainLock
    _field: Field
    _longest_s: float
    _hear: Callable[[News], object]
    _ends: Callable[[], str]

    def said(self, doubt: LockInDoubt) -> str:
        """Why nothing is done now, for users."""
        so_long = in_words(round(self._lock.doubted_s))
        if not doubt.failed:
            return f"this machine stood still for {so_long}: it continues if no other client has drained here meanwhile"
        why = f"{doubt.failed}, so the lock could not be renewed for {so_long}"
        return f"{why}; nothing is changed meanwhile; it continues automatically or can be stopped"

    def sit_out(self, doubt: LockInDoubt) -> None:
        """Until the lock is ours again and all was seen anew.

        Raises:
            LockLost: it never will be, or is not waited for any longer.
            Unauthorized, Forbidden: the cluster must not be watched any more.
        """
        while True:
            self._check(doubt)
            if self._lock.regained(LOOK_S) and self._looked_anew(doubt):
                try:
                    self._lock.go_on()
                except LockInDoubt as again:
                    doubt = again
                else:
                    return

    def _looked_anew(self, doubt: LockInDoubt) -> bool:
        """Whether everything was listed; not if the lock was lost again meanwhile."""
        self._check(doubt)
        self._field.renew()
        unseen = set(_LISTS)
        while unseen:
            for news in self._field.news(LOOK_S):
                self._hear(news)
                unseen.discard(type(news))
            self._check(doubt)
            if unseen and not self._lock.regained(0.0):
                return False
        return True

    def _check(self, doubt: LockInDoubt) -> None:
        """Raises LockLost: nobody waits any longer."""
        why, for_s = self._ends(), self._lock.doubted_s
        if why:
            raise LockLost(f"{why}; {doubt.message}", doubt.hint)
        if for_s >= self._longest_s:
            limit = in_words(round(self._longest_s))
            raise LockLost(f"it was unknown for {limit} whose the lock was: {doubt.message}", doubt.hint)
