"""How long the drain takes: the plan's order run in virtual time, once with usual and once with slow pods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.duration.bounds import Bound, Scarce, bounds, gap
from kubectl_eksdoc.core.plan.drain.duration.node_times import Nodes
from kubectl_eksdoc.core.plan.drain.duration.relaxing import Relaxation, relaxations
from kubectl_eksdoc.core.plan.drain.duration.timing import ASSUMED_STOP_S, StartTimes, learn, stop_of
from kubectl_eksdoc.core.plan.drain.order.rounds import Booking, Order, Tier
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement
from kubectl_eksdoc.core.sim.drain import Move, Span, Terms, simulate

SETTLE_S = 10.0
"""A node is done when it was seen empty twice, 5 s apart; its volumes are detached meanwhile."""

LAG_S = 1.0
"""From a pod's readiness to its budget's status, on a control plane with little to do."""

MOST_RELAXATIONS = 3
MANY_MOVES = 30_000
"""Each relaxation is one more simulation; beyond this many evictions it would take longer than the plan."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds from the first cordon to the last node done. `p95_s`: every pod as slow as its slow ones are.

    `spans` are of the usual run, by node; `peak_away` the most pods that are evicted and not yet replaced by
    a Ready one at any moment.
    """

    p50_s: float
    p95_s: float
    spans: tuple[Span, ...]
    peak_away: int
    assumptions: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()  # largest first: the first binds
    gap: float | None = None  # how much longer p50 is than the bound: 0.03 is 3 %
    relaxations: tuple[Relaxation, ...] = ()


def estimate(world: Survey, order: Order, budgets: Mapping[str, JudgedBudget]) -> Estimate | None:
    """The estimate for what the plan drains; None when it drains nothing, or does not come to its end."""
    if not order.nodes:
        return None
    times = learn(world.cluster.pods, lambda pod: _workload(world, pod))
    terms = terms_of(world.policy, order, budgets)
    moves = moves_of(world, order, times, slow=False)
    usual = simulate(moves, terms)
    slow = simulate(moves_of(world, order, times, slow=True), terms)
    if usual.stuck or slow.stuck:
        return None  # an order that does not come to its end takes no time that could be told
    found = bounds(moves, terms)
    tried = MOST_RELAXATIONS if len(order.bookings) <= MANY_MOVES else 0
    return Estimate(
        p50_s=usual.makespan_s,
        p95_s=max(slow.makespan_s, usual.makespan_s),
        spans=usual.nodes,
        peak_away=usual.peak_away,
        assumptions=_assumptions(world, order, times),
        bounds=tuple(_named(world, bound) for bound in found),
        gap=gap(usual.makespan_s, found[0]) if found else None,
        relaxations=relaxations(moves, terms, found, tried, before=usual),
    )


def _named(world: Survey, bound: Bound) -> Bound:
    """A bound about a pod names it as people do."""
    if bound.name is not Scarce.LONGEST_POD:
        return bound
    pod = world.pod(bound.subject)
    return bound if pod is None else replace(bound, subject=pod.key)


def terms_of(policy: DrainPolicy, order: Order, budgets: Mapping[str, JudgedBudget]) -> Terms:
    """How a run under `policy` would go about it."""
    limits = {limit for booking in order.bookings for limit in booking.task.limits}
    return Terms(
        slots={limit: budgets[limit].per_round if limit in budgets else 1 for limit in limits},
        waves=order.wave,
        in_turn=True,
        between_s=1 / policy.evictions_per_second if policy.evictions_per_second else 0.0,
        lag_s=LAG_S,
        settle_s=SETTLE_S,
    )


def moves_of(world: Survey, order: Order, times: StartTimes, slow: bool) -> Nodes:
    """The planned evictions by node, in the order of emptying, with their times."""
    by_node: dict[str, list[Move]] = defaultdict(list)
    for turn, booking in enumerate(order.bookings):
        by_node[booking.node].append(_move(world, booking, turn, times, slow))
    return [(node, by_node[node]) for node in order.nodes]


def _move(world: Survey, booking: Booking, turn: int, times: StartTimes, slow: bool) -> Move:
    pod = booking.task.pod
    start = times.of(_workload(world, pod))
    stop = stop_of(pod, world.policy.grace_of(pod))
    after = replacement(pod)
    return Move(
        uid=pod.uid,
        # Nothing comes back for a pod that nothing replaces: it keeps what it uses up for good, and no turn.
        limits=booking.task.for_good if after is Replacement.NEVER else booking.task.limits,
        stop_s=stop[slow],
        start_s=start.p95_s if slow else start.p50_s,
        after=after,
        critical=booking.task.tier is not Tier.ORDINARY,
        turn=turn,
    )


def _workload(world: Survey, pod: Pod) -> str:
    top = world.top_of(pod)
    if top is not None:
        return top.uid
    return pod.owner.uid if pod.owner is not None else ""


def _assumptions(world: Survey, order: Order, times: StartTimes) -> tuple[str, ...]:
    workloads = {_workload(world, b.task.pod) for b in order.bookings}
    guessed = sorted(w for w in workloads if times.of(w).assumed)
    said = [
        f"a pod stops within {ASSUMED_STOP_S:g} s, or its grace period if that is shorter; slow ones take all of it",
        f"a node is done {SETTLE_S:g} s after its last pod, a budget shows a Ready pod {LAG_S:g} s later",
        "every replacement is scheduled at once (no waiting for new nodes)",
    ]
    if guessed:
        pooled = times.pooled
        said.append(
            f"{len(guessed)} of {len(workloads)} workloads have too few starts to learn from: theirs are assumed to "
            f"take {pooled.p50_s:g} s, slow ones {pooled.p95_s:g} s"
        )
    return tuple(said)
