"""Selects the pods to evict now: in the plan's order, as far as their limits and the eviction rate allow. A pod without
room waits for a change of its limit, or for the time at which it may have room."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from kubectl_eksdoc.model.nodes import Pod

from ..outcome import Eviction
from ..policy import burst_size
from ..result import DrainPlan
from .answers import CONFLICT_RETRY_S, FollowUp, ResponseMeaning, RunTrouble
from .pod_evictions import REFUSAL_TRUSTED_S, ObservedState, PodEviction
from .stall_timeouts import StallTimeout
from .state import Timers

# Eviction rate: never above the user's limit, and lower while the API server is overloaded.
#
# Additive increase, multiplicative decrease, as in TCP: a throttled response or a server error halves the rate; normal
# responses raise it again by a tenth of the earlier rate per second. Without a user limit there is no limit until the
# server throttles; after that twice the earlier rate is tried, then twice that. The rate is enforced by the generic
# cell rate algorithm (ITU-T I.371): a token bucket that stores only the time at which the next request is due.


MIN_RATE = 0.1
"""Evictions per second: responses do not lower the rate below this."""

MAX_UNLIMITED_RATE = 20
"""Evictions per second: when the server throttles, an unlimited run counts as no faster than this. It is client-go's
own limit for the controllers that create the replacements (kube-controller-manager's 20 QPS)."""

UNLIMITED_ABOVE = 100.0
"""Evictions per second: above this rate the limit is removed again if the user set none."""

SLOWDOWN_INTERVAL_S = 1.0
"""Requests that were sent together are refused together: they halve the rate only once in this time."""

RATE_INCREASE = 0.1
"""Increase per second, as a share of the rate before the server throttled."""


class EvictionRate:
    """Mutable. `limit`: evictions per second, 0 for none. In any time at most `limit` × time + `burst(limit)`
    evictions."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._ceiling = limit or inf  # the rate to return to; without a limit, the rate when the server throttled
        self._rate = self._ceiling
        self._due_s = 0.0  # when the next one is due, without bursts
        self._paused_until_s = 0.0  # until when the server asked to wait
        self._slowed_s = -inf
        self._raised_s = 0.0
        self._request_times: deque[float] = deque(maxlen=MAX_UNLIMITED_RATE)  # request times

    @property
    def rate(self) -> float | None:
        """Current evictions per second; None: unlimited."""
        return None if self._rate == inf else self._rate

    @property
    def next_s(self) -> float:
        """From when on another eviction may be requested."""
        if self._rate == inf:
            return self._paused_until_s
        return max(self._due_s - (burst_size(self._rate) - 1) / self._rate, self._paused_until_s)

    def record_request(self, now_s: float) -> None:
        """Record a request."""
        self._request_times.append(now_s)
        if self._rate != inf:
            self._due_s = max(now_s, self._due_s) + 1 / self._rate

    def handle_response(self, meaning: ResponseMeaning, now_s: float) -> None:
        if meaning.trouble is RunTrouble.THROTTLED or (
            meaning.trouble is RunTrouble.SERVER and meaning.retry_after_s > CONFLICT_RETRY_S
        ):
            self._paused_until_s = max(self._paused_until_s, now_s + meaning.retry_after_s)
        if meaning.trouble in (RunTrouble.THROTTLED, RunTrouble.SERVER):
            self._slow_down(now_s)
        elif meaning.follow_up in (FollowUp.ACCEPTED, FollowUp.GONE) and self._rate < self._ceiling:
            self._speed_up(now_s)

    def _slow_down(self, now_s: float) -> None:
        self._raised_s = now_s
        if now_s - self._slowed_s < SLOWDOWN_INTERVAL_S:
            return
        self._slowed_s = now_s
        if self._ceiling == inf:
            recent = sum(now_s - requested_s <= SLOWDOWN_INTERVAL_S for requested_s in self._request_times)
            self._ceiling = self._rate = float(max(1, recent))
            self._due_s = now_s
        self._rate = max(self._rate / 2, min(MIN_RATE, self._ceiling))

    def _speed_up(self, now_s: float) -> None:
        """Raise the rate by the time since the last raise, at most one second's worth: few requests tell little."""
        self._rate += RATE_INCREASE * self._ceiling * min(now_s - self._raised_s, 1.0)
        self._raised_s = now_s
        if self._rate < self._ceiling:
            return
        self._rate = self._ceiling
        if not self._limit:
            self._ceiling *= 2
            if self._ceiling > UNLIMITED_ABOVE:
                self._ceiling = self._rate = inf


# Room of limits: how many more pods may be evicted now under each budget or other limit.
#
# The server counts an eviction in the budget's status at once, and deletes the pod then; watched updates come later. So
# the allowed disruptions of a status are reduced by each eviction that the status cannot include yet. In addition, no
# more evictions of this run are outstanding than the plan allows, even if the server would allow them (a rollout with
# surge inflates budgets).


STATUS_TRUSTED_S = 5.0
"""After this time a status that does not show an eviction is trusted: its change was reported, or will not be."""

MAX_OUTSTANDING_S = 60.0
"""How long after its request an eviction counts as outstanding at most, while the budget itself allows more."""


class _OutstandingEviction:
    """One outstanding eviction."""

    __slots__ = ("counted", "eviction", "requested_s")

    def __init__(self, eviction: Eviction, requested_s: float) -> None:
        self.eviction = eviction
        self.requested_s = requested_s
        self.counted = False  # whether the budget's status is known to include it


class EvictionLedger:
    """Mutable. `slots`: for each limit (budgets by ns/name) how many evictions of this run may be outstanding at
    once."""

    def __init__(self, slots: Mapping[str, int], observed: ObservedState) -> None:
        self._slots = dict(slots)
        self._observed = observed
        self._outstanding: dict[str, dict[str, _OutstandingEviction]] = defaultdict(
            dict
        )  # by limit and UID, oldest first
        self._limits_of: dict[str, tuple[str, ...]] = {}  # by the UID of the owner whose pods use them
        self._were_ready: set[str] = {pod.uid for pod in observed.pods() if pod.ready}

    def add_planned(self, evictions: Sequence[Eviction]) -> None:
        """Add planned evictions: replacements of their pods are recognised by the owner."""
        for eviction in evictions:
            if eviction.pod.owner is not None and eviction.limits:
                self._limits_of[eviction.pod.owner.uid] = eviction.limits

    def add_slots(self, slots: Mapping[str, int]) -> None:
        """Add slots of new limits. Known limits keep theirs, which were planned while no eviction was outstanding."""
        self._slots = {**slots, **self._slots}

    def has_room(self, eviction: Eviction, now_s: float) -> bool:
        return all(self.room(limit, now_s) > 0 for limit in eviction.limits)

    def room(self, limit: str, now_s: float) -> int:
        """Return how many more evictions may be requested."""
        outstanding = self._outstanding.get(limit, {})
        budget = self._observed.budgets.get(limit)
        if budget is None:
            return self._slots.get(limit, 1) - len(outstanding)
        if budget.observed_generation < budget.generation:
            return 0
        uncounted = own = 0
        for entry in outstanding.values():
            waited_s = now_s - entry.requested_s
            entry.counted = entry.counted or self._is_counted(limit, entry) or waited_s >= STATUS_TRUSTED_S
            uncounted += not entry.counted
            own += waited_s < MAX_OUTSTANDING_S
        return min(budget.status.allowed - uncounted, self._slots.get(limit, 1) - own)

    def next_room_s(self, limit: str, now_s: float) -> float:
        """Return when the limit may have more room because time passes; infinity if it does not."""
        if limit not in self._observed.budgets:
            return inf
        times = [each.requested_s + STATUS_TRUSTED_S for each in self._outstanding[limit].values() if not each.counted]
        times += [each.requested_s + MAX_OUTSTANDING_S for each in self._outstanding[limit].values()]
        return min((each for each in times if each > now_s), default=inf)

    def reserve(self, eviction: Eviction, now_s: float) -> None:
        """Count an eviction as outstanding from `now_s`; infinity: its request time is not known yet."""
        for limit in eviction.limits:
            self._outstanding[limit][eviction.pod.uid] = _OutstandingEviction(eviction, now_s)

    def release(self, eviction: Eviction) -> None:
        """Release the slots of an eviction that was refused."""
        for limit in eviction.limits:
            self._outstanding[limit].pop(eviction.pod.uid, None)

    def handle_ready_pod(self, pod: Pod) -> tuple[str, ...]:
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
            outstanding = self._outstanding[limit]
            replaced_uid = next(
                (uid for uid, each in outstanding.items() if each.eviction.pod.owner == pod.owner), None
            )
            if replaced_uid is not None:
                del outstanding[replaced_uid]
        return limits

    def _is_counted(self, limit: str, outstanding: _OutstandingEviction) -> bool:
        pod, budget = outstanding.eviction.pod, self._observed.budgets[limit]
        version = self._observed.version(limit)
        if not version:
            return False
        if pod.name in budget.disrupted:
            return True
        observed_pod = self._observed.pod(pod.uid)
        return (observed_pod is None or observed_pod.deleting) and version > self._observed.version(pod.uid)


class EvictionRequests:
    """Mutable. Its methods return the nodes that must be checked again. `stall_timeout` knows how long each pod has
    waited, `ledger` which slots are taken, and `rate_limit` how many evictions the server can take."""

    def __init__(self, plan: DrainPlan, observed: ObservedState, blocked_s: float) -> None:
        self._observed = observed
        self.stall_timeout = StallTimeout(observed, blocked_s)
        self.ledger = EvictionLedger(plan.slots, observed)
        self.ledger.add_planned(plan.evictions)
        self._waiting: dict[str, set[str]] = defaultdict(set)  # by limit: nodes with pods that wait for it
        self._timers = Timers()  # of limits
        self.rate_limit = EvictionRate(plan.policy.evictions_per_second)
        self._waiting_for_rate: set[str] = set()  # nodes with pods that wait only for the rate

    @property
    def next_s(self) -> float:
        return min(self._timers.next_s, self.rate_limit.next_s if self._waiting_for_rate else inf)

    @property
    def rate(self) -> float | None:
        """Current evictions per second; None: unlimited."""
        return self.rate_limit.rate

    def due_nodes(self, now_s: float) -> set[str]:
        """Return the nodes with pods whose limits, or the rate, may have room now."""
        nodes = self._waiting_nodes(self._timers.due(now_s))
        if self.rate_limit.next_s <= now_s:
            nodes, self._waiting_for_rate = nodes | self._waiting_for_rate, set()
        return nodes

    def add_planned(self, evictions: Sequence[Eviction], slots: Mapping[str, int]) -> None:
        """Add planned evictions; `slots` of new limits."""
        self.ledger.add_slots(slots)
        self.ledger.add_planned(evictions)

    def handle_ready_pod(self, pod: Pod, now_s: float) -> set[str]:
        """Handle a Ready pod."""
        limits = self.ledger.handle_ready_pod(pod)
        for limit in limits:
            self.stall_timeout.record_change(limit, now_s)
        return self._waiting_nodes(limits)

    def handle_budget_change(self, budget: str, now_s: float) -> set[str]:
        """Handle an update or the deletion of a budget."""
        self.stall_timeout.handle_budget(budget, now_s)
        return self._waiting_nodes((budget,))

    def release(self, eviction: PodEviction) -> set[str]:
        """Release the slots of a pod that was not evicted after all."""
        self.ledger.release(eviction.planned)
        return self._waiting_nodes(eviction.planned.limits)

    def select(self, evictions: Iterable[PodEviction], now_s: float) -> Iterator[PodEviction]:
        """Yield the pods to evict now, out of those that are due."""
        for eviction in sorted(evictions, key=lambda each: each.planned.position):
            if eviction.not_before_s > now_s:
                continue
            version = self._observed.version(eviction.planned.budget)
            if eviction.would_be_refused(version, now_s) or not self.ledger.has_room(eviction.planned, now_s):
                self._wait_for_limits(eviction, now_s)
                continue
            if self.rate_limit.next_s > now_s:
                # Its limits have room: it blocks no other pod meanwhile.
                self._waiting_for_rate.add(eviction.planned.node)
                self.stall_timeout.start_waiting_for_rate(eviction, now_s)
                continue
            self.rate_limit.record_request(now_s)
            self.stall_timeout.stop_waiting_for_rate(eviction, now_s)
            self.ledger.reserve(eviction.planned, now_s)
            eviction.mark_requested(version, now_s)
            yield eviction

    def _wait_for_limits(self, eviction: PodEviction, now_s: float) -> None:
        self.stall_timeout.start_waiting(eviction, now_s)
        if not eviction.planned.limits:  # a budget that was created after the plan: no update of it wakes this pod
            eviction.not_before_s = eviction.since_s + REFUSAL_TRUSTED_S
        for limit in eviction.planned.limits:
            self._waiting[limit].add(eviction.planned.node)
            self._timers.set(limit, self.ledger.next_room_s(limit, now_s))
            if eviction.trouble is RunTrouble.BUDGET and eviction.since_s + REFUSAL_TRUSTED_S > now_s:
                self._timers.set(limit, eviction.since_s + REFUSAL_TRUSTED_S)

    def _waiting_nodes(self, limits: Iterable[str]) -> set[str]:
        return {node for limit in limits for node in self._waiting.pop(limit, ())}
