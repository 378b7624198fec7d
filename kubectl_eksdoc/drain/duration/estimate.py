"""Estimate of a drain's duration: the plan's order simulated once with typical times, and many times with random
times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.budgets import Computed, recompute
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.model.quantities import duration

from ..budget_verdicts import JudgedBudget
from ..course import (
    BudgetCourse,
    DrainTerms,
    Move,
    ReplacedPod,
    Reserved,
    Span,
    Timeline,
    headroom,
    status_writes,
)
from ..filter_verdicts import restarted
from ..nodes import DrainContext
from ..orders import NodeTasks
from ..outcome import BudgetVerdict, SlowNode
from ..pod_verdicts import ungated
from ..policy import DrainPolicy, Means, burst
from ..rounds import EvictionOrder, gates
from ..simulation import simulate
from .bounds import Bound, Scarce, bounds, gap
from .generations import (
    LAG_S,
    NEW_NODE_S,
    SETTLE_S,
    Amounts,
    EvictionTimes,
    NodeSupply,
    any_waves,
    supplies,
    terms_of,
)
from .node_times import Nodes
from .quantiles import MOST_RUNS, RunPace, levels, quantiles
from .slow_nodes import RelaxedBound, relaxations, slow_nodes
from .timing import SHORTEST_STOP_S

# Assumptions of the estimate about what is not observed: the pace of the control plane, health of load balancer
# targets.


EVICTIONS_PER_SECOND = 8.0
"""Approximate evictions per second of a control plane with default limits.

Its controllers may make 20 requests a second each (pkg/controller/apis/config/v1alpha1/defaults.go); an eviction costs
the disruption controller about two of them and the ReplicaSet controller three. EKS' settings are not known.
"""

WORTH_SAYING = 1 / 3
"""The share of the estimate from which on the control plane's pace may decide."""


def caveats(world: DrainContext, pods: Sequence[Pod], p50_s: float) -> Iterator[str]:
    """Assumptions about evicting `pods` in `p50_s` seconds, each a clause."""
    least_s = len(pods) / EVICTIONS_PER_SECOND
    if least_s > WORTH_SAYING * p50_s:
        yield (
            f"the control plane keeps pace; one with default limits does about {EVICTIONS_PER_SECOND:g} evictions a "
            f"second: then it takes at least {duration(int(least_s))}"
        )
    ungated_targets = _ungated_targets(world, pods)
    if ungated_targets:
        are = "pod is a target" if ungated_targets == 1 else "pods are targets"
        yield (
            f"a load balancer's target is healthy when its pod is Ready: {ungated_targets} {are} by ip without a "
            "readiness gate, and when the load balancer sends traffic to the new ones is not known"
        )


def _ungated_targets(world: DrainContext, pods: Sequence[Pod]) -> int:
    """How many of `pods` get traffic directly from a load balancer and have no readiness gate for it."""
    known: dict[object, bool] = {}
    count = 0
    for pod in pods:
        if pod.namespace in world.balanced:
            like = (pod.namespace, id(pod.labels), pod.readiness_gates)  # replicas share their labels
            if like not in known:
                service = ungated(world, pod)
                known[like] = service is not None and service.ip_targets
            count += known[like]
    return count


GOOD_ENOUGH = 1.02
"""An order this close to the lower bound is not improved."""

MOST_RELAXATIONS = 3
MANY_MOVES = 30_000
"""Each relaxation is one more simulation; beyond this many evictions it would take longer than the plan."""


@frozen
class MedianRun:
    """The run with p50 times, to be simulated again when more is known. `factor`: its duration divided by the simulated
    one."""

    nodes: Nodes
    terms: DrainTerms
    needs: Mapping[str, Sequence[str]]
    by: float = 1.0

    def takes_s(self, stops: Mapping[str, float], starts: Mapping[str, float]) -> float | None:
        """Its duration if pods of these uids take so long to stop, and their replacements to start; None: it does not
        end."""
        nodes = [(node, [_timed(move, stops, starts) for move in moves]) for node, moves in self.nodes]
        timeline = simulate(nodes, self.terms, Reserved(self.needs), brief=True)
        return None if timeline.stuck else timeline.makespan_s * self.by


def _timed(move: Move, stops: Mapping[str, float], starts: Mapping[str, float]) -> Move:
    stop_s, start_s = stops.get(move.uid, move.stop_s), starts.get(move.uid, move.start_s)
    return move._replace(stop_s=stop_s, start_s=start_s)


@frozen
class Estimate:
    """Seconds from the first cordon to the last node done: see `estimate_quantiles`, also for `runs` and
    `sampled_part`.

    All other fields are of one run with p50 times (see `find_levels`): `spans` by node; `moves`; `peak_away`, the most
    pods that are evicted and not yet replaced by a Ready one at the same time. `slow_s`: node → when it is done in the
    run with p95 times. `measured`: of how many of the `workloads` earlier runs have measured the stop times. `level`:
    how slow pods are in the p50 run, as a draw of the normal distribution.
    """

    p50_s: float
    p95_s: float
    spans: tuple[Span, ...]
    peak_away: int
    assumptions: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()  # of any run at that pace, the largest first: it decides the duration
    gap: float | None = None  # excess over the lower bound at that pace: 0.03 is 3 %
    relaxations: tuple[RelaxedBound, ...] = ()
    moves: tuple[ReplacedPod, ...] = ()
    slow_nodes: tuple[SlowNode, ...] = ()  # at which their group's own update gives up, the slowest first
    runs: int = MOST_RUNS
    part: int = 0
    rerun: MedianRun | None = field(default=None, compare=False, repr=False)
    least: tuple[Bound, ...] = ()  # of any run at any pace, the largest first
    slow_s: Mapping[str, float] = field(default_factory=dict)
    measured: int = 0
    workloads: int = 0
    level: float = 0.0


@frozen
class UsualRun:
    """A run with typical times: the evictions by node, and the timeline."""

    moves: Mapping[str, Sequence[Move]]
    timeline: Timeline


@frozen
class TimedPlan:
    """The input of the estimate. `start_order`: the nodes in the order in which they are started; `typical_run`: the
    run of exactly this input, where it is known."""

    order: EvictionOrder
    activation: tuple[str, ...]
    work: NodeTasks
    needs: Mapping[str, tuple[str, ...]]
    waiting: Mapping[str, str]  # pod uid → new node that its replacement waits for
    usual: UsualRun | None = None
    asked: Mapping[str, Amounts] = field(default_factory=dict)  # see `node_supplies`
    most_away: Mapping[str, int] = field(default_factory=dict)  # budget key → the most of its pods away at any time
    tried: int = 0  # tried orders, if the search was cut short


def estimate(clock: EvictionTimes, course: TimedPlan) -> Estimate | None:
    """The estimate for the drained nodes; None when no node is drained, or the drain does not end."""
    if not course.activation:
        return None
    run = _Run(clock, course)
    moves, terms = run.moves(), run.terms(slow=False)
    usual = (course.usual or usual_run(clock, course)).timeline
    pace = RunPace(moves, terms, run.terms(slow=True))
    times = None if usual.stuck else quantiles(pace, usual.makespan_s, course.needs)
    if times is None:
        return None  # an order that does not end has no duration
    level, (moves, terms, _), typical, slow_s = levels(pace, usual, times, course.needs)
    p50_s = typical.makespan_s
    evicted = [booking.task.pod for booking in course.order.bookings]
    one_of_each = {pod.owner.uid if pod.owner is not None else pod.uid: pod for pod in evicted}.values()
    measured, workloads = _measured(clock, one_of_each)
    scarce: tuple[NodeSupply, ...] = ()
    if clock.world.policy.surge is not None:
        scarce = tuple(supplies(clock.world, course.work, course.waiting, course.asked))
    in_any_waves = any_waves(clock.world, terms, course.activation)
    found = bounds(moves, in_any_waves, supplies=scarce)
    least = bounds(run.certain(), _at_best(in_any_waves, course), keep=1, supplies=scarce, soonest=True)
    named = _named(clock.world, (*found, *least))
    near = bool(found) and p50_s <= GOOD_ENOUGH * found[0].seconds
    tried = MOST_RELAXATIONS if len(course.order.bookings) <= MANY_MOVES else 0
    return Estimate(
        p50_s=p50_s,
        p95_s=max(p50_s, *slow_s.values()),
        runs=times.runs,
        part=times.part,
        spans=typical.nodes,
        slow_s=slow_s,
        measured=measured,
        workloads=workloads,
        level=level,
        peak_away=typical.peak_away,
        assumptions=(
            *_assumptions(clock, course, one_of_each, near, _stops(measured, workloads)),
            times.said,
            *caveats(clock.world, evicted, p50_s),
        ),
        least=named[len(found) :],
        bounds=named[: len(found)],
        gap=gap(p50_s, found[0]) if found else None,
        moves=typical.moves,
        rerun=MedianRun(
            moves, terms, course.needs, p50_s / usual.makespan_s if p50_s and not level and usual.makespan_s else 1.0
        ),
        slow_nodes=slow_nodes(clock, course.work, course.activation),
        relaxations=relaxations(moves, terms, found, tried, before=typical, needs=course.needs, regroup=run.regroup),
    )


def usual_run(clock: EvictionTimes, course: TimedPlan) -> UsualRun:
    """Simulate `timing` with typical times."""
    run = _Run(clock, course)
    return UsualRun(dict(run.moves()), run.simulated())


class _Run:
    """The same input with typical and with slow times."""

    def __init__(self, clock: EvictionTimes, course: TimedPlan) -> None:
        self._clock = clock
        self._course = course
        tasks = [booking.task for booking in course.order.bookings]
        # Where it matters which pod goes last, the plan's order is kept; else waiting evictions are served.
        self._strict = frozenset(limit for task in tasks if task.late or task.for_good for limit in task.limits)
        self._turns = {task.pod.uid: turn for turn, task in enumerate(tasks)} if self._strict else {}

    def moves(self) -> Nodes:
        course = self._course
        if course.usual is not None:
            return [(node, course.usual.moves[node]) for node in course.activation]
        tasks, turns, waiting, crowded = course.work.tasks, self._turns, course.waiting, course.work.crowded
        return [
            (node, self._clock.moves(tasks[node], turns=turns, waiting=waiting, crowded=crowded))
            for node in course.activation
        ]

    def certain(self) -> Nodes:
        """The evictions that any run makes: pods that may finish by themselves are not among them."""
        tasks, moves = self._course.work.tasks, self.moves()
        if not self._clock.world.policy.wait_jobs:
            return moves
        waited = {task.pod.uid for node, _ in moves for task in tasks[node] if task.manner.waits_s}
        return [(node, [move for move in given if move.uid not in waited]) for node, given in moves]

    def terms(self, slow: bool) -> DrainTerms:
        order = self._course.order
        return terms_of(
            self._clock.world, self._course.work.per_round, order.wave if order.gated else {}, self._strict, slow
        )

    def regroup(self, domain: str) -> Mapping[str, int] | None:
        """The waves if one more node of that domain ("": of all) could be under way; None where places forbid it."""
        world, needs = self._clock.world, self._course.needs
        return None if needs else gates(world, self._course.activation, more=domain or ALL)

    def simulated(self) -> Timeline:
        return simulate(self.moves(), self.terms(slow=False), Reserved(self._course.needs))


def _at_best(terms: DrainTerms, course: TimedPlan) -> DrainTerms:
    """Terms with only this tool's own requirements, and with the most headroom that budgets can have."""
    slots = {limit: max(count, course.most_away.get(limit, 0)) for limit, count in terms.slots.items()}
    renewed_after_s = None if terms.renewed_after_s is None else 0.0
    at_once = burst(1 / terms.between_s) if terms.between_s else 1.0
    return replace(terms, slots=slots, burst=at_once, lag_s=0.0, renewed_after_s=renewed_after_s, new_node_s=0.0)


def _named(world: DrainContext, found: Sequence[Bound]) -> tuple[Bound, ...]:
    """Bounds about pods with the pod's name instead of its uid."""
    pods = world.pods_with({bound.subject for bound in found if bound.name is Scarce.LONGEST_POD})
    return tuple(
        replace(bound, subject=pods[bound.subject].key)
        if bound.name is Scarce.LONGEST_POD and bound.subject in pods
        else bound
        for bound in found
    )


def _measured(clock: EvictionTimes, one_of_each: Iterable[Pod]) -> tuple[int, int]:
    """The number of workloads with known stop times, and of all workloads. `sample_pods`: one pod of each owner."""
    known = {clock.workload(pod) or pod.uid: bool(clock.stops.of(pod)) for pod in one_of_each}
    return sum(known.values()), len(known)


def _stops(measured: int, count: int) -> str:
    """The basis of the stop times, and why the estimate has a wide range."""
    if measured == count:
        return "pods stop as fast as they did in earlier runs"
    of = "" if not measured else f" of {count - measured} of {count} workloads"
    return (
        f"how long pods{of} stop is not known, no journal of an earlier run says it: from {SHORTEST_STOP_S:g} s (after "
        "a preStop hook that sleeps) to their grace period, all of a workload alike; so p50 and p95 are far apart "
        "until a run measures it"
    )


def _waited_for(policy: DrainPolicy, order: EvictionOrder) -> Iterator[str]:
    """Assumptions about pods that may finish first."""
    waited = [booking.task.manner for booking in order.bookings if booking.task.manner.waits_s]
    if not waited:
        return
    jobs = "1 pod of a Job takes" if len(waited) == 1 else f"{len(waited)} pods of Jobs take"
    never = sum(manner.means is Means.PATIENCE for manner in waited)
    ended = f" (by then {never} that must not be evicted {'has' if never == 1 else 'have'} finished)" if never else ""
    yield (
        f"{jobs} all of the {duration(policy.wait_jobs)} of --wait-jobs{ended}: whether they finish sooner is not "
        "known, and then the drain is over sooner"
    )


def _assumptions(
    clock: EvictionTimes, course: TimedPlan, one_of_each: Iterable[Pod], near: bool, stops: str
) -> tuple[str, ...]:
    surge = clock.world.policy.surge
    workloads = {clock.workload(pod) for pod in one_of_each}
    guessed = sorted(w for w in workloads if clock.starts.of(w).assumed)
    said = [
        stops,
        f"a node is done {SETTLE_S:g} s after its last pod, a budget shows a Ready pod {LAG_S:g} s later",
        f"a new node is Ready {NEW_NODE_S[0]:g} s after it is asked for, a slow one {NEW_NODE_S[1]:g} s"
        if course.waiting or surge is not None
        else "every replacement is scheduled at once (no waiting for new nodes)",
    ]
    said += _waited_for(clock.world.policy, course.order)
    if course.tried and not near:
        effort = clock.world.policy.effort
        tried = "one order was tried" if course.tried == 1 else f"the best of {course.tried} orders is taken"
        said.append(f"{tried}: more than --effort {effort} may find a better one")
    if surge is not None:
        first = {0: "no new node is", 1: "1 new node is"}.get(surge, f"{surge} new nodes are")
        said.append(f"{first} Ready before the drain begins, and each drained node is replaced by a new one")
    if guessed:
        pooled = clock.starts.pooled
        said.append(
            f"{len(guessed)} of {len(workloads)} workloads have too few starts to learn from: theirs are assumed to "
            f"take {pooled.p50_s:g} s, slow ones {pooled.p95_s:g} s"
        )
    return tuple(said)


# Headroom of the slowest budgets in the run with p50 times: how many disruptions each allows, and when.


MOST_LINES = 8
"""Budgets for which it is computed: those with the most rounds."""

Line = tuple[tuple[float, int], ...]
"""(second, disruptions allowed from then on), the first at 0 s."""


def headrooms(world: DrainContext, budgets: Mapping[str, JudgedBudget], estimate: Estimate | None) -> dict[str, Line]:
    """Budget key → its headroom during the run of `estimate`; empty if no run ends."""
    watched = [found for judged in slowest(budgets.values()) if (found := _watched(world, judged)) is not None]
    if not watched or estimate is None:
        return {}
    # A rollout makes no pod unavailable and starts one more: the additional headroom is not used.
    uids = {pod.uid for each in watched for pod in each.pods if restarted(world, pod) is None}
    written = status_writes(watched, [moved for moved in estimate.moves if moved.uid in uids], LAG_S)
    return {key: headroom(writes) for key, writes in written.items()}


def slowest(budgets: Iterable[JudgedBudget]) -> list[JudgedBudget]:
    """The budgets whose pods cannot all go at once, most rounds first."""
    serial = [judged for judged in budgets if judged.verdict is BudgetVerdict.SERIAL]
    return sorted(serial, key=lambda judged: (-judged.rounds, judged.budget.key))[:MOST_LINES]


def _watched(world: DrainContext, judged: JudgedBudget) -> BudgetCourse | None:
    """None where the controller's numbers are not known, or the plan assumes more headroom than they allow."""
    pods = world.guards.pods(judged.budget)
    start = recompute(judged.budget, pods, world.scales, world.now)
    if not isinstance(start, Computed) or start.status.allowed < judged.per_round:
        return None
    return BudgetCourse(judged.budget, pods, start)
