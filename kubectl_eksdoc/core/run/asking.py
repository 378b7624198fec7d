"""Which pods are asked for now: those whose turn it is, in the plan's order, as far as their limits have room.

Who finds none waits for a word of the limit, or for the time at which it may have room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import inf

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.run.answers import Trouble
from kubectl_eksdoc.core.run.ledger import Ledger
from kubectl_eksdoc.core.run.pursuits import REFUSED_S, Pursuit
from kubectl_eksdoc.core.run.seen import Seen
from kubectl_eksdoc.core.run.timers import Timers


class Asking:
    """Mutable. What it returns of nodes are those that have to be looked at again."""

    def __init__(self, plan: DrainPlan, seen: Seen, blocked_s: float) -> None:
        self._seen = seen
        self._blocked_s = blocked_s
        self._ledger = Ledger(plan.slots, seen)
        self._ledger.expect(plan.evictions)
        self._waiting: dict[str, set[str]] = defaultdict(set)  # by limit: nodes with pods that wait for it
        self._timers = Timers()  # of limits

    @property
    def next_s(self) -> float:
        return self._timers.next_s

    def due(self, now_s: float) -> set[str]:
        """The nodes with pods whose limits may have room by now."""
        return self._of(self._timers.due(now_s))

    def ready(self, pod: Pod) -> set[str]:
        """A pod is Ready."""
        return self._of(self._ledger.ready(pod))

    def moved(self, budget: str, now_s: float) -> set[str]:
        """A budget says something else, or is gone."""
        self._ledger.moved(budget, now_s)
        return self._of((budget,))

    def out(self, pursuit: Pursuit, now_s: float) -> None:
        """It may have been asked for by somebody before us."""
        self._ledger.take(pursuit.eviction, now_s)

    def free(self, pursuit: Pursuit) -> set[str]:
        """It was not evicted after all."""
        self._ledger.give_back(pursuit.eviction)
        return self._of(pursuit.eviction.limits)

    def chosen(self, pursuits: Iterable[Pursuit], now_s: float) -> Iterator[Pursuit]:
        """Of those whose turn it is, the ones that are asked for now."""
        for pursuit in sorted(pursuits, key=lambda each: each.eviction.position):
            if pursuit.not_before_s > now_s:
                continue
            version = self._seen.version(pursuit.eviction.budget)
            if pursuit.stays_refused(version, now_s) or not self._ledger.may(pursuit.eviction, now_s):
                self._wait(pursuit, now_s)
                continue
            self._ledger.take(pursuit.eviction, now_s)
            pursuit.asked(version, now_s)
            yield pursuit

    def gives_up_s(self, pursuit: Pursuit) -> float:
        """When a pod that waits for its limits is kept, if none of them moves until then."""
        limits = pursuit.eviction.limits
        return max(map(self._ledger.idle_since_s, limits)) + self._blocked_s if limits else inf

    def why_kept(self, pursuit: Pursuit) -> str:
        of = pursuit.eviction
        return f"{f'budget {of.budget}' if of.budget else of.limits[0]} did not move for {in_words(self._blocked_s)}"

    def _wait(self, pursuit: Pursuit, now_s: float) -> None:
        for limit in pursuit.eviction.limits:
            self._waiting[limit].add(pursuit.eviction.node)
            self._timers.set(limit, self._ledger.changes_s(limit, now_s))
            if pursuit.trouble is Trouble.BUDGET and pursuit.since_s + REFUSED_S > now_s:
                self._timers.set(limit, pursuit.since_s + REFUSED_S)

    def _of(self, limits: Iterable[str]) -> set[str]:
        return {node for limit in limits for node in self._waiting.pop(limit, ())}
