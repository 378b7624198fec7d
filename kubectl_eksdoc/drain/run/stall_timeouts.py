"""Stall timeout: a pod that is refused or has no room for too long while nothing changes is given up.

A change is made by others: the budget's status changes, a replacement becomes Ready, an evicted pod goes. Another
request with another refusal is no change. Time in which no requests may be sent does not count, nor time in which a
budget counts a pod as evicted that came back under its name.
"""

from __future__ import annotations

from enum import Enum
from math import inf

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import duration

from ..policy import DrainPolicy
from ..result import DrainPlan
from .answers import RunTrouble, by_admission
from .events import Happened
from .journal import is_another
from .pod_evictions import ObservedState, PodPursuit, PodStep
from .state import DrainedNode, DrainRunState, NodePhase

OF_LIMITS = frozenset((RunTrouble.NONE, RunTrouble.BUDGET, RunTrouble.BUDGET_BEHIND, RunTrouble.CONTENTION))
"""Obstacles that pass when a limit changes; a webhook's denial depends on something else."""


class StallTimeout:
    """Mutable. All times are seconds since the run started, shifted by the time that does not count."""

    def __init__(self, seen: ObservedState, blocked_s: float) -> None:
        self._seen = seen
        self._blocked_s = blocked_s
        self._since_s: dict[str, float] = {}  # by UID: refused, or without room, since
        self._denied_s: dict[str, float] = {}  # by UID: refused by something other than its limits since
        self._paced_s: dict[str, float] = {}  # by UID: waiting only for the eviction rate since
        self._moved_s: dict[str, float] = {}  # by limit
        self._budgets = dict(seen.budgets)

    def waits(self, pursuit: PodPursuit, now_s: float) -> None:
        """Record that the pod is refused, or has no room."""
        self.paced(pursuit, now_s)
        uid = pursuit.pod.uid
        self._since_s.setdefault(uid, now_s)
        if pursuit.trouble not in OF_LIMITS:
            self._denied_s.setdefault(uid, now_s)
        elif pursuit.trouble is not RunTrouble.NONE:
            self._denied_s.pop(uid, None)

    def waited_s(self, pursuit: PodPursuit, now_s: float) -> float | None:
        """Return how long it has waited; None if it does not wait."""
        since_s = self._since_s.get(pursuit.pod.uid)
        return None if since_s is None else max(0.0, now_s - since_s)

    def waits_for_pace(self, pursuit: PodPursuit, now_s: float) -> None:
        self._paced_s.setdefault(pursuit.pod.uid, now_s)

    def paced(self, pursuit: PodPursuit, now_s: float) -> None:
        """Record that it no longer waits for the eviction rate."""
        uid = pursuit.pod.uid
        paced_s = now_s - self._paced_s.pop(uid, now_s)
        for clocks in (self._since_s, self._denied_s):
            if uid in clocks:
                clocks[uid] = min(clocks[uid] + paced_s, now_s)

    def goes(self, pursuit: PodPursuit, now_s: float) -> None:
        """Record that its eviction was granted, or it has gone: its clock stops, and its limits have changed."""
        self._since_s.pop(pursuit.pod.uid, None)
        self._denied_s.pop(pursuit.pod.uid, None)
        for limit in pursuit.eviction.limits:
            self.moved(limit, now_s)

    def moved(self, limit: str, now_s: float) -> None:
        self._moved_s[limit] = now_s

    def told(self, now_s: float) -> None:
        """Handle a list of all budgets: those with the same status as before have not changed."""
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
        """Shift the clocks by a hold of `hold_s` seconds that ends now."""
        for clocks in (self._since_s, self._denied_s, self._moved_s):
            for name, since_s in clocks.items():
                clocks[name] = min(since_s + for_s, now_s)

    def ends_s(self, pursuit: PodPursuit, now_s: float) -> float:
        """Return when it is given up if nothing changes until then."""
        uid = pursuit.pod.uid
        paced_s = now_s - self._paced_s.get(uid, now_s)
        if pursuit.trouble not in OF_LIMITS:
            return self._denied_s.get(uid, now_s) + paced_s + self._blocked_s
        limits = self._limits(pursuit)
        moved_s = [max(self._moved_s.get(limit, 0.0), self._seen.hold_s(limit, now_s)) for limit in limits]
        return max([self._since_s.get(uid, now_s) + paced_s, *moved_s]) + self._blocked_s

    def is_over(self, pursuit: PodPursuit, now_s: float) -> bool:
        """Whether its last refusal came after the timeout: after a hold it is requested once more."""
        refused = pursuit.step is PodStep.WAITING and pursuit.trouble is not RunTrouble.NONE
        return refused and pursuit.pod.uid in self._since_s and pursuit.since_s >= self.ends_s(pursuit, now_s)

    def why(self, pursuit: PodPursuit) -> str:
        of, limits = pursuit.eviction, pursuit.eviction.limits
        what = "it was refused"
        if limits and pursuit.trouble in OF_LIMITS:
            what = f"{f'budget {of.budget}' if of.budget else limits[0]} did not move"
        said = f": {pursuit.said}" if pursuit.said else ""
        return f"{what} for {duration(self._blocked_s)}{said}"

    def _limits(self, pursuit: PodPursuit) -> tuple[str, ...]:
        """Return the limits that it waits for: a budget may have been created after the plan."""
        if pursuit.eviction.limits:
            return pursuit.eviction.limits
        return tuple(key for key, budget in self._budgets.items() if _is_of(budget, pursuit.pod))


def _is_of(budget: Budget, pod: Pod) -> bool:
    return budget.namespace == pod.namespace and budget.selector.matches(pod.labels)


# Alarms about a pod whose eviction is retried for too long.


BEHIND_S = 300.0
"""A budget whose controller is behind for this long is a problem of the control plane."""

DOUBTS = 3
"""Number of uncertain responses in a row to one pod's eviction that is reported."""


def alarm(pursuit: PodPursuit, now_s: float, blocked_s: float) -> str:
    """Return the alarm of a pod as a clause; "" if there is none. `blocked_s`: how long after the first uncertain
    response it is given up."""
    trouble, times, since_s = pursuit.row
    if trouble is RunTrouble.BUDGET_BEHIND and now_s - since_s >= BEHIND_S:
        whose = f"budget {pursuit.eviction.budget}" if pursuit.eviction.budget else "its budget"
        return f"the controller of {whose} has been behind for {duration(now_s - since_s)}: {pursuit.said}"
    if trouble is RunTrouble.SERVER and times >= DOUBTS:
        then = f"its eviction is retried more and more slowly, and given up after {duration(blocked_s)}"
        return f"{times} answers in a row tell nothing of whether it goes: {pursuit.said}; {then}"
    return ""


# Termination timeout: pods that stop for longer than their grace period, or do not start to stop on a node that another
# client drains, are not waited for indefinitely.
#
# A finalizer that is never removed, or a kubelet that does not respond, keeps a pod's object for good. Its budget
# continues to count it, here as on the server.


LATE_S = 60.0
"""How long after its grace period an existing pod counts as overdue: a kubelet needs seconds."""


class Stopping:
    """Mutable by its parts. `blocked_s`: how long after it was reported as overdue a pod is given up."""

    def __init__(self, board: DrainRunState, policy: DrainPolicy, blocked_s: float) -> None:
        self._board = board
        self._policy = policy
        self._blocked_s = blocked_s

    def look(self, node: DrainedNode, now_s: float) -> None:
        if node.over:
            return
        for pursuit in node.pursuits.values():
            pod = self._board.seen.pod(pursuit.pod.uid) if pursuit.step is PodStep.LEAVING else None
            if pod is not None:
                if pursuit.ends_s == inf:
                    pursuit.ends_s = self._ends_s(pursuit, pod)
                if now_s >= pursuit.ends_s + LATE_S:
                    pursuit.said = _holder(pod)
                    if not pursuit.late:
                        pursuit.late = True
                        why = why_late(pursuit, now_s)
                        self._board.tell(now_s, Happened.WARNED, pod.key, pursuit.eviction.node, why)
                if now_s >= pursuit.ends_s + LATE_S + self._blocked_s:
                    pursuit.said = why_late(pursuit, now_s)
                    pursuit.keep(pursuit.said, now_s)
                    self._board.tell_pod(pursuit, PodStep.LEAVING, now_s)

    def next_s(self, node: DrainedNode, now_s: float) -> float:
        """When one of its pods becomes overdue, is given up, or the node counts as abandoned; infinity if none can."""
        if node.over:
            return inf
        if (ends_s := self._abandoned_s(node)) != inf:
            return ends_s
        leaving = (p for p in node.pursuits.values() if p.step is PodStep.LEAVING)
        times = (p.ends_s + LATE_S + (self._blocked_s if p.late else 0.0) for p in leaving)
        return min((each for each in times if each > now_s), default=inf)

    def is_abandoned(self, node: DrainedNode, now_s: float) -> bool:
        """Whether another client should drain the node, and none of its pods has started to stop for too long."""
        return now_s >= self._abandoned_s(node)

    def _abandoned_s(self, node: DrainedNode) -> float:
        steps = {pursuit.step for pursuit in node.pursuits.values()}
        if node.phase is not NodePhase.GOING or node.empty or PodStep.LEAVING in steps:
            return inf
        gone_s = (pursuit.since_s for pursuit in node.pursuits.values() if pursuit.step is PodStep.GONE)
        return max([node.since_s, *gone_s]) + self._blocked_s

    def why_abandoned(self, node: DrainedNode) -> str:
        there = self._board.seen.nodes.get(node.name)
        foreign = foreign_drain(there) if there is not None else None
        who = "it is not in the cluster any more" if there is None else "the other client no longer drains it"
        who = foreign.said if foreign is not None else who
        return f"{who}, and none of its pods has gone for {duration(self._blocked_s)}"

    def _ends_s(self, pursuit: PodPursuit, pod: Pod) -> float:
        """Return when its grace period ends: by the policy, or by its deletion deadline if another client granted more
        time."""
        ends_s = pursuit.since_s + self._policy.grace_of(pod)
        if pod.deletion_deadline is not None:
            ends_s = max(ends_s, (pod.deletion_deadline - self._board.seen.first.observed_at).total_seconds())
        return ends_s


def why_late(pursuit: PodPursuit, now_s: float) -> str:
    """Describe an overdue pod, as a clause."""
    so_long = f"has been stopping for {duration(now_s - pursuit.since_s)}"
    return f"{so_long}, {duration(now_s - pursuit.ends_s)} longer than its grace period: {pursuit.said}"


def is_stuck(node: DrainedNode) -> bool:
    """Whether another client drains the node, and one of its pods was given up: it is not waited for any longer."""
    return node.phase is NodePhase.GOING and any(pursuit.late for pursuit in node.kept)


def _holder(pod: Pod) -> str:
    if not pod.finalizers:
        return "its kubelet holds it"
    several = len(pod.finalizers) > 1
    return f"the finalizer{'s' if several else ''} {', '.join(pod.finalizers)} {'hold' if several else 'holds'} it"


# Same-name holds: a budget counts a pod as evicted that was created again under the same name. They end by themselves.


def held_by_name(seen: ObservedState, budget: str, now_s: float) -> str:
    """Return why the budget has no room, as a clause; "" if a same-name hold is not the reason."""
    holds = seen.holds(budget, now_s)
    known = seen.budgets.get(budget)
    if not holds or known is None or known.status.allowed > 0:
        return ""
    last = holds[-1]
    left_s = (last.until - seen.first.observed_at).total_seconds() - now_s
    names = ", ".join(hold.pod for hold in holds)
    return (
        f"budget {budget} counts {names} as evicted, which came back under the same name (disruptedPods): until "
        f"{last.until:%H:%M:%S}Z, for {duration(round(left_s))} more; only time helps"
    )


class SameNames:
    """Mutable. Reports each hold once."""

    def __init__(self, board: DrainRunState) -> None:
        self._board = board
        self._told: set[tuple[str, str]] = set()  # budget, and end of the hold

    def look(self, budget: str, now_s: float) -> None:
        """Report the hold of a budget for which pods wait."""
        seen = self._board.seen
        why = held_by_name(seen, budget, now_s)
        if not why:
            return
        key = (budget, f"{seen.holds(budget, now_s)[-1].until}")
        if key not in self._told:
            self._told.add(key)
            self._board.tell(now_s, Happened.HELD_BY_NAME, budget, why=why)


# Soak time: how much longer a drain takes than its plan because of waits after waves.


@frozen
class Soak:
    """`each_s` after each of the first `times` waves; there is none after the last."""

    each_s: float
    times: int

    @property
    def total_s(self) -> float:
        return self.each_s * self.times


def soak_of(plan: DrainPlan, each_s: float) -> Soak | None:
    """Return the soak of a plan; None if no wave waits for another."""
    waves = {target.wave for target in plan.targets if target.order}
    if not each_s or not in_waves(plan) or len(waves) < 2:
        return None
    return Soak(each_s, len(waves) - 1)


def in_waves(plan: DrainPlan) -> bool:
    """Whether a wave waits for the one before; otherwise the whole drain is one wave."""
    return bool(plan.policy.max_unavailable or plan.policy.pins)


# Responses to changes of nodes, which can be repeated without harm.


TRIES = 5
"""Number of attempts while the response is uncertain, another writer was faster, or the request is forbidden."""

AGAIN_S = 5.0
"""Delay between two attempts."""


class TryResult(Enum):
    """Result of one attempt."""

    DONE = "done"
    GONE = "gone"  # the node does not exist any more
    AGAIN = "again"  # no effect, or unknown; a webhook that denies may allow it later
    FORBIDDEN = "forbidden"  # if repeated, it is forbidden for every node
    REFUSED = "refused"


def came_of(answer: ApiStatus | LostAnswer) -> TryResult:
    if may_be_done(answer):
        return TryResult.AGAIN
    assert isinstance(answer, ApiStatus)
    if answer.ok:
        return TryResult.DONE
    if answer.code == 404 or is_another(answer):
        return TryResult.GONE
    if answer.code in (409, 429) or by_admission(answer.message):
        return TryResult.AGAIN
    return TryResult.FORBIDDEN if answer.code in (401, 403) else TryResult.REFUSED


def may_be_done(answer: ApiStatus | LostAnswer) -> bool:
    """Whether it is unknown if the change was made."""
    return isinstance(answer, LostAnswer) or answer.code >= 500


def said_of(answer: ApiStatus | LostAnswer) -> str:
    return answer.said if isinstance(answer, LostAnswer) else answer.message
