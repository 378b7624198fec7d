"""Which pods are asked for now: those whose turn it is, in the plan's order, as far as their limits and the pace allow.

Who finds no room waits for a word of the limit, or for the time at which it may have some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.run.answers import Reading, Trouble
from kubectl_eksdoc.core.run.ledger import Ledger
from kubectl_eksdoc.core.run.pacing import Pace
from kubectl_eksdoc.core.run.patience import Patience
from kubectl_eksdoc.core.run.pursuits import REFUSED_S, Pursuit
from kubectl_eksdoc.core.run.seen import Seen
from kubectl_eksdoc.core.run.timers import Timers


class Asking:
    """Mutable. What it returns of nodes are those that have to be looked at again."""

    def __init__(self, plan: DrainPlan, seen: Seen, blocked_s: float) -> None:
        self._seen = seen
        self._patience = Patience(seen, blocked_s)
        self._ledger = Ledger(plan.slots, seen)
        self._ledger.expect(plan.evictions)
        self._waiting: dict[str, set[str]] = defaultdict(set)  # by limit: nodes with pods that wait for it
        self._timers = Timers()  # of limits
        self._pace = Pace(plan.policy.evictions_per_second)
        self._paced: set[str] = set()  # nodes with pods that wait for nothing else

    @property
    def next_s(self) -> float:
        return min(self._timers.next_s, self._pace.next_s if self._paced else inf)

    @property
    def rate(self) -> float | None:
        """Evictions a second as of now; None: as many as there are."""
        return self._pace.rate

    def due(self, now_s: float) -> set[str]:
        """The nodes with pods whose limits, or the pace, may have room by now."""
        found = self._of(self._timers.due(now_s))
        if self._pace.next_s <= now_s:
            found, self._paced = found | self._paced, set()
        return found

    def answered(self, reading: Reading, now_s: float) -> None:
        """What was answered to an eviction, the server may have too much to do."""
        self._pace.answered(reading, now_s)

    def expect(self, evictions: Sequence[Eviction], slots: Mapping[str, int]) -> None:
        """These may be asked for as well; `slots` of limits that were not known before."""
        self._ledger.add(slots)
        self._ledger.expect(evictions)

    def ready(self, pod: Pod, now_s: float) -> set[str]:
        """A pod is Ready."""
        limits = self._ledger.ready(pod)
        for limit in limits:
            self._patience.moved(limit, now_s)
        return self._of(limits)

    def moved(self, budget: str, now_s: float) -> set[str]:
        """A budget was told, or is gone."""
        self._patience.told_one(budget, now_s)
        return self._of((budget,))

    def all_told(self, now_s: float) -> None:
        """All budgets were."""
        self._patience.told(now_s)

    def held(self, for_s: float, now_s: float) -> None:
        """Nothing was asked for until now, for so long."""
        self._patience.held(for_s, now_s)

    def goes(self, pursuit: Pursuit, now_s: float) -> None:
        """It was granted, or has gone."""
        self._patience.goes(pursuit, now_s)

    def refused_s(self, pursuit: Pursuit, now_s: float) -> float | None:
        """For so long it has been refused, or there was no room for it; None: it is not."""
        return self._patience.waited_s(pursuit, now_s)

    def refused(self, pursuit: Pursuit, now_s: float) -> None:
        """It is to be asked for again, whoever refused it."""
        self._patience.waits(pursuit, now_s)

    def out(self, pursuit: Pursuit, now_s: float) -> None:
        """It may have been asked for by somebody before us."""
        self._ledger.take(pursuit.eviction, now_s)

    def put_off(self, pursuit: Pursuit) -> None:
        """It was chosen, and something else comes first: its places are taken until it is sent, however late."""
        self._ledger.take(pursuit.eviction, inf)

    def sent(self, pursuit: Pursuit, now_s: float) -> None:
        """It is asked for now, after it was put off."""
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
            if self._pace.next_s > now_s:
                self._wait_for_pace(pursuit, now_s)
                continue
            self._pace.asked(now_s)
            self._patience.paced(pursuit, now_s)
            self._ledger.take(pursuit.eviction, now_s)
            pursuit.asked(version, now_s)
            yield pursuit

    def gives_up_s(self, pursuit: Pursuit, now_s: float) -> float:
        """When a pod that waits is kept, if nothing moves until then."""
        return self._patience.ends_s(pursuit, now_s)

    def is_given_up(self, pursuit: Pursuit, now_s: float) -> bool:
        """Whether it was refused for too long, and is not asked for once more."""
        return self._patience.is_over(pursuit, now_s)

    def why_kept(self, pursuit: Pursuit) -> str:
        return self._patience.why(pursuit)

    def _wait(self, pursuit: Pursuit, now_s: float) -> None:
        self._patience.waits(pursuit, now_s)
        if not pursuit.eviction.limits:  # a budget that was made after the plan: of which nobody tells it when it moves
            pursuit.not_before_s = pursuit.since_s + REFUSED_S
        for limit in pursuit.eviction.limits:
            self._waiting[limit].add(pursuit.eviction.node)
            self._timers.set(limit, self._ledger.changes_s(limit, now_s))
            if pursuit.trouble is Trouble.BUDGET and pursuit.since_s + REFUSED_S > now_s:
                self._timers.set(limit, pursuit.since_s + REFUSED_S)

    def _wait_for_pace(self, pursuit: Pursuit, now_s: float) -> None:
        """Its limits have room: they stand in nobody's way meanwhile."""
        self._paced.add(pursuit.eviction.node)
        self._patience.waits_for_pace(pursuit, now_s)

    def _of(self, limits: Iterable[str]) -> set[str]:
        return {node for limit in limits for node in self._waiting.pop(limit, ())}
