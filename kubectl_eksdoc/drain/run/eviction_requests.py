"""Selects the pods to evict now: in the plan's order, as far as their limits and the eviction rate allow. A pod without
room waits for a change of its limit, or for the time at which it may have room."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from kubectl_eksdoc.model.nodes import Pod

from ..outcome import Eviction
from ..policy import burst
from ..result import DrainPlan
from .answers import SOON_S, Next, Reading, RunTrouble
from .pod_evictions import REFUSED_S, ObservedState, PodPursuit
from .stall_timeouts import StallTimeout
from .state import Timers

# Eviction rate: never above the user's limit, and lower while the API server is overloaded.
#
# Additive increase, multiplicative decrease, as in TCP: a throttled response or a server error halves the rate; normal
# responses raise it again by a tenth of the earlier rate per second. Without a user limit there is no limit until the
# server throttles; after that twice the earlier rate is tried, then twice that. The rate is enforced by the generic
# cell rate algorithm (ITU-T I.371): a token bucket that stores only the time at which the next request is due.


LOWEST = 0.1
"""Evictions per second: responses do not lower the rate below this."""

HIGHEST = 20
"""Evictions per second: the assumed rate of an unlimited run when the server throttles. It is client-go's own limit for
the controllers that create the replacements (kube-controller-manager's 20 QPS)."""

ENOUGH = 100.0
"""Evictions per second: above this rate the limit is removed again if the user set none."""

ONCE_S = 1.0
"""Requests that were sent together are refused together: they halve the rate only once in this time."""

RISES = 0.1
"""Increase per second, as a share of the rate before the server throttled."""


class EvictionRate:
    """Mutable. `limit`: evictions per second, 0 for none. In any time at most `limit` × time + `burst(limit)`
    evictions."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._ceiling = limit or inf  # the rate to return to; without a limit, the rate when the server throttled
        self._rate = self._ceiling
        self._due_s = 0.0  # when the next one is due, without bursts
        self._quiet_s = 0.0  # until when the server asked to wait
        self._slowed_s = -inf
        self._raised_s = 0.0
        self._latest: deque[float] = deque(maxlen=HIGHEST)  # request times

    @property
    def rate(self) -> float | None:
        """Current evictions per second; None: unlimited."""
        return None if self._rate == inf else self._rate

    @property
    def next_s(self) -> float:
        """From when on another eviction may be requested."""
        if self._rate == inf:
            return self._quiet_s
        return max(self._due_s - (burst(self._rate) - 1) / self._rate, self._quiet_s)

    def asked(self, now_s: float) -> None:
        """Record a request."""
        self._latest.append(now_s)
        if self._rate != inf:
            self._due_s = max(now_s, self._due_s) + 1 / self._rate

    def answered(self, reading: Reading, now_s: float) -> None:
        if reading.trouble is RunTrouble.THROTTLED or (
            reading.trouble is RunTrouble.SERVER and reading.after_s > SOON_S
        ):
            self._quiet_s = max(self._quiet_s, now_s + reading.after_s)
        if reading.trouble in (RunTrouble.THROTTLED, RunTrouble.SERVER):
            self._slow_down(now_s)
        elif reading.next in (Next.LEAVES, Next.GONE) and self._rate < self._ceiling:
            self._speed_up(now_s)

    def _slow_down(self, now_s: float) -> None:
        self._raised_s = now_s
        if now_s - self._slowed_s < ONCE_S:
            return
        self._slowed_s = now_s
        if self._ceiling == inf:
            lately = sum(now_s - asked_s <= ONCE_S for asked_s in self._latest)
            self._ceiling = self._rate = float(max(1, lately))
            self._due_s = now_s
        self._rate = max(self._rate / 2, min(LOWEST, self._ceiling))

    def _speed_up(self, now_s: float) -> None:
        """Raise the rate by the time since the last raise, at most one second's worth: few requests tell little."""
        self._rate += RISES * self._ceiling * min(now_s - self._raised_s, 1.0)
        self._raised_s = now_s
        if self._rate < self._ceiling:
            return
        self._rate = self._ceiling
        if not self._limit:
            self._ceiling *= 2
            if self._ceiling > ENOUGH:
                self._ceiling = self._rate = inf


# Room of limits: how many more pods may be evicted now under each budget or other limit.
#
# The server counts an eviction in the budget's status at once, and deletes the pod then; watched updates come later. So
# the allowed disruptions of a status are reduced by each eviction that the status cannot include yet. In addition, no
# more evictions of this run are outstanding than the plan allows, even if the server would allow them (a rollout with
# surge inflates budgets).


UNSEEN_S = 5.0
"""After this time a status that does not show an eviction is trusted: its change was reported, or will not be."""

RETURNS_S = 60.0
"""How long after its request an eviction counts as outstanding at most, while the budget itself allows more."""


class _Out:
    """One outstanding eviction."""

    __slots__ = ("asked_s", "counted", "eviction")

    def __init__(self, eviction: Eviction, asked_s: float) -> None:
        self.eviction = eviction
        self.asked_s = asked_s
        self.counted = False  # whether the budget's status is known to include it


class EvictionLedger:
    """Mutable. `slots`: for each limit (budgets by ns/name) how many evictions of this run may be outstanding at
    once."""

    def __init__(self, slots: Mapping[str, int], seen: ObservedState) -> None:
        self._slots = dict(slots)
        self._seen = seen
        self._out: dict[str, dict[str, _Out]] = defaultdict(dict)  # by limit and UID, oldest first
        self._limits_of: dict[str, tuple[str, ...]] = {}  # by the UID of the owner whose pods use them
        self._were_ready: set[str] = {pod.uid for pod in seen.pods() if pod.ready}

    def expect(self, evictions: Sequence[Eviction]) -> None:
        """Add planned evictions: replacements of their pods are recognised by the owner."""
        for eviction in evictions:
            if eviction.pod.owner is not None and eviction.limits:
                self._limits_of[eviction.pod.owner.uid] = eviction.limits

    def add(self, slots: Mapping[str, int]) -> None:
        """Add slots of new limits. Known limits keep theirs, which were planned while no eviction was outstanding."""
        self._slots = {**slots, **self._slots}

    def may(self, eviction: Eviction, now_s: float) -> bool:
        return all(self.room(limit, now_s) > 0 for limit in eviction.limits)

    def room(self, limit: str, now_s: float) -> int:
        """Return how many more evictions may be requested."""
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
        """Return when the limit may have more room because time passes; infinity if it does not."""
        if limit not in self._seen.budgets:
            return inf
        times = [each.asked_s + UNSEEN_S for each in self._out[limit].values() if not each.counted]
        times += [each.asked_s + RETURNS_S for each in self._out[limit].values()]
        return min((each for each in times if each > now_s), default=inf)

    def take(self, eviction: Eviction, now_s: float) -> None:
        """Count an eviction as outstanding from `now_s`; infinity: its request time is not known yet."""
        for limit in eviction.limits:
            self._out[limit][eviction.pod.uid] = _Out(eviction, now_s)

    def give_back(self, eviction: Eviction) -> None:
        """Release the slots of an eviction that was refused."""
        for limit in eviction.limits:
            self._out[limit].pop(eviction.pod.uid, None)

    def ready(self, pod: Pod) -> tuple[str, ...]:
        """Handle a Ready pod: if it was not Ready before, it replaces the oldest outstanding eviction of its owner.

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


class EvictionRequests:
    """Mutable. Its methods return the nodes that must be checked again. `stall_timeout` knows how long each pod has
    waited, `ledger` which slots are taken, and `rate_limit` how many evictions the server can take."""

    def __init__(self, plan: DrainPlan, seen: ObservedState, blocked_s: float) -> None:
        self._seen = seen
        self.patience = StallTimeout(seen, blocked_s)
        self.ledger = EvictionLedger(plan.slots, seen)
        self.ledger.expect(plan.evictions)
        self._waiting: dict[str, set[str]] = defaultdict(set)  # by limit: nodes with pods that wait for it
        self._timers = Timers()  # of limits
        self.pace = EvictionRate(plan.policy.evictions_per_second)
        self._paced: set[str] = set()  # nodes with pods that wait only for the rate

    @property
    def next_s(self) -> float:
        return min(self._timers.next_s, self.pace.next_s if self._paced else inf)

    @property
    def rate(self) -> float | None:
        """Current evictions per second; None: unlimited."""
        return self.pace.rate

    def due(self, now_s: float) -> set[str]:
        """Return the nodes with pods whose limits, or the rate, may have room now."""
        found = self._of(self._timers.due(now_s))
        if self.pace.next_s <= now_s:
            found, self._paced = found | self._paced, set()
        return found

    def expect(self, evictions: Sequence[Eviction], slots: Mapping[str, int]) -> None:
        """Add planned evictions; `slots` of new limits."""
        self.ledger.add(slots)
        self.ledger.expect(evictions)

    def ready(self, pod: Pod, now_s: float) -> set[str]:
        """Handle a Ready pod."""
        limits = self.ledger.ready(pod)
        for limit in limits:
            self.patience.moved(limit, now_s)
        return self._of(limits)

    def moved(self, budget: str, now_s: float) -> set[str]:
        """Handle an update or the deletion of a budget."""
        self.patience.told_one(budget, now_s)
        return self._of((budget,))

    def free(self, pursuit: PodPursuit) -> set[str]:
        """Release the slots of a pod that was not evicted after all."""
        self.ledger.give_back(pursuit.eviction)
        return self._of(pursuit.eviction.limits)

    def chosen(self, pursuits: Iterable[PodPursuit], now_s: float) -> Iterator[PodPursuit]:
        """Yield the pods to evict now, out of those that are due."""
        for pursuit in sorted(pursuits, key=lambda each: each.eviction.position):
            if pursuit.not_before_s > now_s:
                continue
            version = self._seen.version(pursuit.eviction.budget)
            if pursuit.stays_refused(version, now_s) or not self.ledger.may(pursuit.eviction, now_s):
                self._wait(pursuit, now_s)
                continue
            if self.pace.next_s > now_s:
                # Its limits have room: it blocks no other pod meanwhile.
                self._paced.add(pursuit.eviction.node)
                self.patience.waits_for_pace(pursuit, now_s)
                continue
            self.pace.asked(now_s)
            self.patience.paced(pursuit, now_s)
            self.ledger.take(pursuit.eviction, now_s)
            pursuit.asked(version, now_s)
            yield pursuit

    def _wait(self, pursuit: PodPursuit, now_s: float) -> None:
        self.patience.waits(pursuit, now_s)
        if not pursuit.eviction.limits:  # a budget that was created after the plan: no update of it wakes this pod
            pursuit.not_before_s = pursuit.since_s + REFUSED_S
        for limit in pursuit.eviction.limits:
            self._waiting[limit].add(pursuit.eviction.node)
            self._timers.set(limit, self.ledger.changes_s(limit, now_s))
            if pursuit.trouble is RunTrouble.BUDGET and pursuit.since_s + REFUSED_S > now_s:
                self._timers.set(limit, pursuit.since_s + REFUSED_S)

    def _of(self, limits: Iterable[str]) -> set[str]:
        return {node for limit in limits for node in self._waiting.pop(limit, ())}
