"""How long a pod is refused, or finds no room, while nothing moves: once it is too long, it is given up.

What moves is others' doing: its budget says something else, a replacement became Ready, a pod that was asked for goes.
That it is asked for again, and refused again, is no movement. Time in which nothing may be asked for does not count,
nor that in which a budget counts a pod as evicted that came back under its name.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.run.answers import Trouble
from kubectl_eksdoc.core.run.pursuits import Pursuit, Step
from kubectl_eksdoc.core.run.seen import Seen

OF_LIMITS = frozenset((Trouble.NONE, Trouble.BUDGET, Trouble.BUDGET_BEHIND, Trouble.CONTENTION))
"""What passes when a limit moves; a webhook that says no looks at something else."""


class Patience:
    """Mutable. All clocks are seconds since the run began, put off by the time that does not count."""

    def __init__(self, seen: Seen, blocked_s: float) -> None:
        self._seen = seen
        self._blocked_s = blocked_s
        self._since_s: dict[str, float] = {}  # by UID: refused, or without room, since
        self._denied_s: dict[str, float] = {}  # by UID: refused by something else than its limits since
        self._paced_s: dict[str, float] = {}  # by UID: waiting for nothing but the pace since
        self._moved_s: dict[str, float] = {}  # by limit
        self._budgets = dict(seen.budgets)

    def waits(self, pursuit: Pursuit, now_s: float) -> None:
        """It is refused, or there is no room for it: since now, or still."""
        self.paced(pursuit, now_s)
        uid = pursuit.pod.uid
        self._since_s.setdefault(uid, now_s)
        if pursuit.trouble not in OF_LIMITS:
            self._denied_s.setdefault(uid, now_s)
        elif pursuit.trouble is not Trouble.NONE:
            self._denied_s.pop(uid, None)

    def waited_s(self, pursuit: Pursuit, now_s: float) -> float | None:
        """For so long; None: it does not wait."""
        since_s = self._since_s.get(pursuit.pod.uid)
        return None if since_s is None else max(0.0, now_s - since_s)

    def waits_for_pace(self, pursuit: Pursuit, now_s: float) -> None:
        self._paced_s.setdefault(pursuit.pod.uid, now_s)

    def paced(self, pursuit: Pursuit, now_s: float) -> None:
        """It waits for the pace no more."""
        uid = pursuit.pod.uid
        paced_s = now_s - self._paced_s.pop(uid, now_s)
        for clocks in (self._since_s, self._denied_s):
            if uid in clocks:
                clocks[uid] = min(clocks[uid] + paced_s, now_s)

    def goes(self, pursuit: Pursuit, now_s: float) -> None:
        """It was granted, or has gone: its clock is stopped, and under its limits something happens."""
        self._since_s.pop(pursuit.pod.uid, None)
        self._denied_s.pop(pursuit.pod.uid, None)
        for limit in pursuit.eviction.limits:
            self.moved(limit, now_s)

    def moved(self, limit: str, now_s: float) -> None:
        self._moved_s[limit] = now_s

    def told(self, now_s: float) -> None:
        """Budgets were told: those that say what they said before did not move."""
        told, before = self._seen.budgets, self._budgets
        for key in told.keys() | before.keys():
            if told.get(key) != before.get(key):
                self.moved(key, now_s)
        self._budgets = dict(told)

    def told_one(self, budget: str, now_s: float) -> None:
        now = self._seen.budgets.get(budget)
        if now != self._budgets.get(budget):
            self.moved(budget, now_s)
        if now is None:
            self._budgets.pop(budget, None)
        else:
            self._budgets[budget] = now

    def held(self, for_s: float, now_s: float) -> None:
        """Nothing was asked for until now, for so long."""
        for clocks in (self._since_s, self._denied_s, self._moved_s):
            for name, since_s in clocks.items():
                clocks[name] = min(since_s + for_s, now_s)

    def ends_s(self, pursuit: Pursuit, now_s: float) -> float:
        """When it is given up if nothing moves until then."""
        uid = pursuit.pod.uid
        paced_s = now_s - self._paced_s.get(uid, now_s)
        if pursuit.trouble not in OF_LIMITS:
            return self._denied_s.get(uid, now_s) + paced_s + self._blocked_s
        limits = self._limits(pursuit)
        moved_s = [max(self._moved_s.get(limit, 0.0), self._seen.hold_s(limit, now_s)) for limit in limits]
        return max([self._since_s.get(uid, now_s) + paced_s, *moved_s]) + self._blocked_s

    def is_over(self, pursuit: Pursuit, now_s: float) -> bool:
        """Whether its last refusal was one too many: after a pause of everything it is asked for once more."""
        refused = pursuit.step is Step.WAITING and pursuit.trouble is not Trouble.NONE
        return refused and pursuit.pod.uid in self._since_s and pursuit.since_s >= self.ends_s(pursuit, now_s)

    def why(self, pursuit: Pursuit) -> str:
        of, limits = pursuit.eviction, pursuit.eviction.limits
        what = "it was refused"
        if limits and pursuit.trouble in OF_LIMITS:
            what = f"{f'budget {of.budget}' if of.budget else limits[0]} did not move"
        said = f": {pursuit.said}" if pursuit.said else ""
        return f"{what} for {in_words(self._blocked_s)}{said}"

    def _limits(self, pursuit: Pursuit) -> tuple[str, ...]:
        """What it waits for: a budget may have been made after the plan was."""
        if pursuit.eviction.limits:
            return pursuit.eviction.limits
        return tuple(key for key, budget in self._budgets.items() if _is_of(budget, pursuit.pod))


def _is_of(budget: Budget, pod: Pod) -> bool:
    return budget.namespace == pod.namespace and budget.selector.matches(pod.labels)
