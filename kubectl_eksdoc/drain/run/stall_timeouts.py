"""Stall timeout: a pod that is refused or has no room for too long while nothing changes is given up.

A change is made by others: the budget's status changes, a replacement becomes Ready, an evicted pod goes. Another
request with another refusal is no change. Time in which no requests may be sent does not count, nor time in which a
budget counts a pod as evicted that came back under its name.
"""

from __future__ import annotations

from enum import Enum
from math import inf

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import format_duration

from ..policy import DrainPolicy
from ..result import DrainPlan
from .answers import RunTrouble, is_admission_denial
from .events import DrainEventKind
from .journal import is_other_node
from .pod_evictions import ObservedState, PodEviction, PodStep
from .state import DrainedNode, DrainRunState, NodePhase

LIMIT_TROUBLES = frozenset((RunTrouble.NONE, RunTrouble.BUDGET, RunTrouble.BUDGET_BEHIND, RunTrouble.CONTENTION))
"""Obstacles that pass when a limit changes; a webhook's denial depends on something else."""


class StallTimeout:
    """Mutable. All times are seconds since the run started, shifted by the time that does not count."""

    def __init__(self, observed: ObservedState, blocked_s: float) -> None:
        self._observed = observed
        self._blocked_s = blocked_s
        self._waiting_since_s: dict[str, float] = {}  # by UID: refused, or without room, since
        self._denied_since_s: dict[str, float] = {}  # by UID: refused by something other than its limits since
        self._rate_limited_since_s: dict[str, float] = {}  # by UID: waiting only for the eviction rate since
        self._changed_s: dict[str, float] = {}  # by limit
        self._budgets = dict(observed.budgets)

    def start_waiting(self, eviction: PodEviction, now_s: float) -> None:
        """Record that the pod is refused, or has no room."""
        self.stop_waiting_for_rate(eviction, now_s)
        uid = eviction.pod.uid
        self._waiting_since_s.setdefault(uid, now_s)
        if eviction.trouble not in LIMIT_TROUBLES:
            self._denied_since_s.setdefault(uid, now_s)
        elif eviction.trouble is not RunTrouble.NONE:
            self._denied_since_s.pop(uid, None)

    def waited_s(self, eviction: PodEviction, now_s: float) -> float | None:
        """Return how long it has waited; None if it does not wait."""
        since_s = self._waiting_since_s.get(eviction.pod.uid)
        return None if since_s is None else max(0.0, now_s - since_s)

    def start_waiting_for_rate(self, eviction: PodEviction, now_s: float) -> None:
        self._rate_limited_since_s.setdefault(eviction.pod.uid, now_s)

    def stop_waiting_for_rate(self, eviction: PodEviction, now_s: float) -> None:
        """Record that it no longer waits for the eviction rate."""
        uid = eviction.pod.uid
        limited_s = now_s - self._rate_limited_since_s.pop(uid, now_s)
        for clocks in (self._waiting_since_s, self._denied_since_s):
            if uid in clocks:
                clocks[uid] = min(clocks[uid] + limited_s, now_s)

    def stop_waiting(self, eviction: PodEviction, now_s: float) -> None:
        """Record that its eviction was granted, or it has gone: its clock stops, and its limits have changed."""
        self._waiting_since_s.pop(eviction.pod.uid, None)
        self._denied_since_s.pop(eviction.pod.uid, None)
        for limit in eviction.planned.limits:
            self.record_change(limit, now_s)

    def record_change(self, limit: str, now_s: float) -> None:
        self._changed_s[limit] = now_s

    def handle_budgets(self, now_s: float) -> None:
        """Handle a list of all budgets: those with the same status as before have not changed."""
        observed, previous = self._observed.budgets, self._budgets
        for key in observed.keys() | previous.keys():
            if observed.get(key) != previous.get(key):
                self.record_change(key, now_s)
        self._budgets = dict(observed)

    def handle_budget(self, budget: str, now_s: float) -> None:
        observed = self._observed.budgets.get(budget)
        if observed != self._budgets.get(budget):
            self.record_change(budget, now_s)
        if observed is None:
            self._budgets.pop(budget, None)
        else:
            self._budgets[budget] = observed

    def shift_by_hold(self, hold_s: float, now_s: float) -> None:
        """Shift the clocks by a hold of `hold_s` seconds that ends now."""
        for clocks in (self._waiting_since_s, self._denied_since_s, self._changed_s):
            for name, since_s in clocks.items():
                clocks[name] = min(since_s + hold_s, now_s)

    def ends_s(self, eviction: PodEviction, now_s: float) -> float:
        """Return when it is given up if nothing changes until then."""
        uid = eviction.pod.uid
        paced_s = now_s - self._rate_limited_since_s.get(uid, now_s)
        if eviction.trouble not in LIMIT_TROUBLES:
            return self._denied_since_s.get(uid, now_s) + paced_s + self._blocked_s
        limits = self._limits(eviction)
        changed_s = [max(self._changed_s.get(limit, 0.0), self._observed.hold_end_s(limit, now_s)) for limit in limits]
        return max([self._waiting_since_s.get(uid, now_s) + paced_s, *changed_s]) + self._blocked_s

    def has_expired(self, eviction: PodEviction, now_s: float) -> bool:
        """Whether its last refusal came after the timeout: after a hold it is requested once more."""
        refused = eviction.step is PodStep.WAITING and eviction.trouble is not RunTrouble.NONE
        return (
            refused and eviction.pod.uid in self._waiting_since_s and eviction.since_s >= self.ends_s(eviction, now_s)
        )

    def reason(self, eviction: PodEviction) -> str:
        planned, limits = eviction.planned, eviction.planned.limits
        problem = "it was refused"
        if limits and eviction.trouble in LIMIT_TROUBLES:
            problem = f"{f'budget {planned.budget}' if planned.budget else limits[0]} did not move"
        detail = f": {eviction.message}" if eviction.message else ""
        return f"{problem} for {format_duration(self._blocked_s)}{detail}"

    def _limits(self, eviction: PodEviction) -> tuple[str, ...]:
        """Return the limits that it waits for: a budget may have been created after the plan."""
        if eviction.planned.limits:
            return eviction.planned.limits
        return tuple(key for key, budget in self._budgets.items() if _selects(budget, eviction.pod))


def _selects(budget: Budget, pod: Pod) -> bool:
    return budget.namespace == pod.namespace and budget.selector.matches(pod.labels)


# Alarms about a pod whose eviction is retried for too long.


BUDGET_BEHIND_S = 300.0
"""A budget whose controller is behind for this long is a problem of the control plane."""

MAX_UNCERTAIN = 3
"""Number of uncertain responses in a row to one pod's eviction that is reported."""


def eviction_alarm(eviction: PodEviction, now_s: float, blocked_s: float) -> str:
    """Return the alarm of a pod as a clause; "" if there is none. `blocked_s`: how long after the first uncertain
    response it is given up."""
    trouble, times, since_s = eviction.responses
    if trouble is RunTrouble.BUDGET_BEHIND and now_s - since_s >= BUDGET_BEHIND_S:
        budget_text = f"budget {eviction.planned.budget}" if eviction.planned.budget else "its budget"
        return (
            f"the controller of {budget_text} has been behind for {format_duration(now_s - since_s)}: "
            f"{eviction.message}"
        )
    if trouble is RunTrouble.SERVER and times >= MAX_UNCERTAIN:
        consequence = f"its eviction is retried more and more slowly, and given up after {format_duration(blocked_s)}"
        return f"{times} answers in a row tell nothing of whether it goes: {eviction.message}; {consequence}"
    return ""


# Termination timeout: pods that stop for longer than their grace period, or do not start to stop on a node that another
# client drains, are not waited for indefinitely.
#
# A finalizer that is never removed, or a kubelet that does not respond, keeps a pod's object for good. Its budget
# continues to count it, here as on the server.


OVERDUE_S = 60.0
"""How long after its grace period an existing pod counts as overdue: a kubelet needs seconds."""


class TerminationTimeout:
    """Mutable by its parts. `blocked_s`: how long after it was reported as overdue a pod is given up."""

    def __init__(self, run_state: DrainRunState, policy: DrainPolicy, blocked_s: float) -> None:
        self._run_state = run_state
        self._policy = policy
        self._blocked_s = blocked_s

    def update_node(self, node: DrainedNode, now_s: float) -> None:
        if node.has_ended:
            return
        for eviction in node.evictions.values():
            pod = self._run_state.observed.pod(eviction.pod.uid) if eviction.step is PodStep.STOPPING else None
            if pod is not None:
                if eviction.grace_ends_s == inf:
                    eviction.grace_ends_s = self._grace_ends_s(eviction, pod)
                if now_s >= eviction.grace_ends_s + OVERDUE_S:
                    eviction.message = _holder_reason(pod)
                    if not eviction.overdue:
                        eviction.overdue = True
                        reason = overdue_reason(eviction, now_s)
                        self._run_state.record_event(
                            now_s, DrainEventKind.WARNED, pod.key, eviction.planned.node, reason
                        )
                if now_s >= eviction.grace_ends_s + OVERDUE_S + self._blocked_s:
                    eviction.message = overdue_reason(eviction, now_s)
                    eviction.keep(eviction.message, now_s)
                    self._run_state.record_pod_end(eviction, PodStep.STOPPING, now_s)

    def next_s(self, node: DrainedNode, now_s: float) -> float:
        """When one of its pods becomes overdue, is given up, or the node counts as abandoned; infinity if none can."""
        if node.has_ended:
            return inf
        if (ends_s := self._abandoned_at_s(node)) != inf:
            return ends_s
        stopping = (p for p in node.evictions.values() if p.step is PodStep.STOPPING)
        times = (p.grace_ends_s + OVERDUE_S + (self._blocked_s if p.overdue else 0.0) for p in stopping)
        return min((each for each in times if each > now_s), default=inf)

    def is_abandoned(self, node: DrainedNode, now_s: float) -> bool:
        """Whether another client should drain the node, and none of its pods has started to stop for too long."""
        return now_s >= self._abandoned_at_s(node)

    def _abandoned_at_s(self, node: DrainedNode) -> float:
        steps = {eviction.step for eviction in node.evictions.values()}
        if node.phase is not NodePhase.GOING or node.is_empty or PodStep.STOPPING in steps:
            return inf
        gone_s = (eviction.since_s for eviction in node.evictions.values() if eviction.step is PodStep.GONE)
        return max([node.since_s, *gone_s]) + self._blocked_s

    def abandoned_reason(self, node: DrainedNode) -> str:
        observed_node = self._run_state.observed.nodes.get(node.name)
        foreign = foreign_drain(observed_node) if observed_node is not None else None
        state = "it is not in the cluster any more" if observed_node is None else "the other client no longer drains it"
        state = foreign.message if foreign is not None else state
        return f"{state}, and none of its pods has gone for {format_duration(self._blocked_s)}"

    def _grace_ends_s(self, eviction: PodEviction, pod: Pod) -> float:
        """Return when its grace period ends: by the policy, or by its deletion deadline if another client granted more
        time."""
        ends_s = eviction.since_s + self._policy.grace_period_of(pod)
        if pod.deletion_deadline is not None:
            ends_s = max(ends_s, (pod.deletion_deadline - self._run_state.observed.first.observed_at).total_seconds())
        return ends_s


def overdue_reason(eviction: PodEviction, now_s: float) -> str:
    """Describe an overdue pod, as a clause."""
    duration_text = f"has been stopping for {format_duration(now_s - eviction.since_s)}"
    return (
        f"{duration_text}, {format_duration(now_s - eviction.grace_ends_s)} longer than its grace period: "
        f"{eviction.message}"
    )


def is_stuck(node: DrainedNode) -> bool:
    """Whether another client drains the node, and one of its pods was given up: it is not waited for any longer."""
    return node.phase is NodePhase.GOING and any(eviction.overdue for eviction in node.kept_evictions)


def _holder_reason(pod: Pod) -> str:
    if not pod.finalizers:
        return "its kubelet holds it"
    is_plural = len(pod.finalizers) > 1
    return f"the finalizer{'s' if is_plural else ''} {', '.join(pod.finalizers)} {'hold' if is_plural else 'holds'} it"


# Same-name holds: a budget counts a pod as evicted that was created again under the same name. They end by themselves.


def same_name_hold_reason(observed: ObservedState, budget: str, now_s: float) -> str:
    """Return why the budget has no room, as a clause; "" if a same-name hold is not the reason."""
    holds = observed.holds(budget, now_s)
    known_budget = observed.budgets.get(budget)
    if not holds or known_budget is None or known_budget.status.allowed > 0:
        return ""
    last = holds[-1]
    remaining_s = (last.until - observed.first.observed_at).total_seconds() - now_s
    names = ", ".join(hold.pod for hold in holds)
    return (
        f"budget {budget} counts {names} as evicted, which came back under the same name (disruptedPods): until "
        f"{last.until:%H:%M:%S}Z, for {format_duration(round(remaining_s))} more; only time helps"
    )


class SameNameHolds:
    """Mutable. Reports each hold once."""

    def __init__(self, run_state: DrainRunState) -> None:
        self._run_state = run_state
        self._reported: set[tuple[str, str]] = set()  # budget, and end of the hold

    def report(self, budget: str, now_s: float) -> None:
        """Report the hold of a budget for which pods wait."""
        observed = self._run_state.observed
        reason = same_name_hold_reason(observed, budget, now_s)
        if not reason:
            return
        key = (budget, f"{observed.holds(budget, now_s)[-1].until}")
        if key not in self._reported:
            self._reported.add(key)
            self._run_state.record_event(now_s, DrainEventKind.HELD_BY_NAME, budget, reason=reason)


# Soak time: how much longer a drain takes than its plan because of waits after waves.


@frozen
class Soak:
    """`each_s` after each of the first `times` waves; there is none after the last."""

    each_s: float
    times: int

    @property
    def total_s(self) -> float:
        return self.each_s * self.times


def soak_time(plan: DrainPlan, each_s: float) -> Soak | None:
    """Return the soak of a plan; None if no wave waits for another."""
    waves = {target.wave for target in plan.targets if target.order}
    if not each_s or not waits_between_waves(plan) or len(waves) < 2:
        return None
    return Soak(each_s, len(waves) - 1)


def waits_between_waves(plan: DrainPlan) -> bool:
    """Whether a wave waits for the one before; otherwise the whole drain is one wave."""
    return bool(plan.policy.max_unavailable or plan.policy.pins)


# Responses to changes of nodes, which can be repeated without harm.


MAX_ATTEMPTS = 5
"""Number of attempts while the response is uncertain, another writer was faster, or the request is forbidden."""

RETRY_S = 5.0
"""Delay between two attempts."""


class AttemptResult(Enum):
    """Result of one attempt."""

    DONE = "done"
    GONE = "gone"  # the node does not exist any more
    RETRY = "again"  # no effect, or unknown; a webhook that denies may allow it later
    FORBIDDEN = "forbidden"  # if repeated, it is forbidden for every node
    REFUSED = "refused"


def attempt_result(response: ApiStatus | LostResponse) -> AttemptResult:
    if is_uncertain(response):
        return AttemptResult.RETRY
    assert isinstance(response, ApiStatus)
    if response.ok:
        return AttemptResult.DONE
    if response.code == 404 or is_other_node(response):
        return AttemptResult.GONE
    if response.code in (409, 429) or is_admission_denial(response.message):
        return AttemptResult.RETRY
    return AttemptResult.FORBIDDEN if response.code in (401, 403) else AttemptResult.REFUSED


def is_uncertain(response: ApiStatus | LostResponse) -> bool:
    """Whether it is unknown if the change was made."""
    return isinstance(response, LostResponse) or response.code >= 500
