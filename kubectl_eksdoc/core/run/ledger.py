"""How many more pods may be asked for now: of each budget, and of whatever else only so many may be away of.

The server counts an eviction in the budget's status at once, and deletes the pod then; what is watched comes later. So
what a status allows is taken for less by every eviction that it cannot know of yet. And never are more of our own
evictions out than the plan says, even while the server would allow them (a rollout that surges lets budgets swell).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.run.seen import Seen

UNSEEN_S = 5.0
"""After so long a status that does not show an eviction is believed: its change was told, or will not be."""

RETURNS_S = 60.0
"""So long after it was asked for an eviction counts as out at the most, while the budget itself allows more."""


class _Out:
    """One eviction that was asked for."""

    __slots__ = ("asked_s", "counted", "eviction")

    def __init__(self, eviction: Eviction, asked_s: float) -> None:
        self.eviction = eviction
        self.asked_s = asked_s
        self.counted = False  # whether the budget's status is known to show it


class Ledger:
    """Mutable. `slots`: of each limit (budgets by ns/name) how many of our evictions may be out at once."""

    def __init__(self, slots: Mapping[str, int], seen: Seen) -> None:
        self._slots = dict(slots)
        self._seen = seen
        self._out: dict[str, dict[str, _Out]] = defaultdict(dict)  # by limit and UID, oldest first
        self._limits_of: dict[str, tuple[str, ...]] = {}  # by the UID of the owner whose pods use them
        self._were_ready: set[str] = {pod.uid for pod in seen.pods() if pod.ready}

    def expect(self, evictions: Sequence[Eviction]) -> None:
        """These may be asked for: what replaces their pods is recognised by its owner."""
        for eviction in evictions:
            if eviction.pod.owner is not None and eviction.limits:
                self._limits_of[eviction.pod.owner.uid] = eviction.limits

    def add(self, slots: Mapping[str, int]) -> None:
        """Of limits that were not known before: what is known of the others was planned when none of ours was out."""
        self._slots = {**slots, **self._slots}

    def may(self, eviction: Eviction, now_s: float) -> bool:
        return all(self.room(limit, now_s) > 0 for limit in eviction.limits)

    def room(self, limit: str, now_s: float) -> int:
        """How many more may be asked for."""
        out = self._out.get(limit, {})
        budget = self._seen.budgets.get(limit)
        if budget is None:
            return self._slots.get(limit, 1) - len(out)
        if budget.observed_generation < budget.generation:
            return 0
        unseen = ours = 0
        for each in out.values():
            waited_s = now_s - each.asked_s
            each.counted = each.counted or self._is_counted(limit, each) or waited_s >= UNSEEN_S
            unseen += not each.counted
            ours += waited_s < RETURNS_S
        return min(budget.status.allowed - unseen, self._slots.get(limit, 1) - ours)

    def changes_s(self, limit: str, now_s: float) -> float:
        """When it may have more room because time passes; infinity where it does not."""
        if limit not in self._seen.budgets:
            return inf
        times = [each.asked_s + UNSEEN_S for each in self._out[limit].values() if not each.counted]
        times += [each.asked_s + RETURNS_S for each in self._out[limit].values()]
        return min((each for each in times if each > now_s), default=inf)

    def take(self, eviction: Eviction, now_s: float) -> None:
        """It is asked for now; with infinity at some time, and until that is known it counts as out."""
        for limit in eviction.limits:
            self._out[limit][eviction.pod.uid] = _Out(eviction, now_s)

    def give_back(self, eviction: Eviction) -> None:
        """It was refused: nothing is away for it."""
        for limit in eviction.limits:
            self._out[limit].pop(eviction.pod.uid, None)

    def ready(self, pod: Pod) -> tuple[str, ...]:
        """A pod is Ready: if it was not before, it stands for the one of its kind that is out the longest.

        Returns the limits that may have more room now.
        """
        if pod.owner is None or pod.deleting or pod.uid in self._were_ready:
            return ()
        limits = self._limits_of.get(pod.owner.uid, ())
        if not limits:
            return ()
        self._were_ready.add(pod.uid)
        for limit in limits:
            out = self._out[limit]
            found = next((uid for uid, each in out.items() if each.eviction.pod.owner == pod.owner), None)
            if found is not None:
                del out[found]
        return limits

    def _is_counted(self, limit: str, out: _Out) -> bool:
        pod, budget = out.eviction.pod, self._seen.budgets[limit]
        told = self._seen.version(limit)
        if not told:
            return False
        if pod.name in budget.disrupted:
            return True
        now = self._seen.pod(pod.uid)
        return (now is None or now.deleting) and told > self._seen.version(pod.uid)
