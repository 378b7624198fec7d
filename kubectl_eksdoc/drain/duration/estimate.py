"""Estimate of a drain's duration: the plan's order simulated once with typical times, and many times with random
times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.model.quantities import format_duration

from ..budget_verdicts import JudgedBudget
from ..filter_verdicts import restarted_workload
from ..nodes import DrainContext
from ..orders import NodeTasks
from ..outcome import BudgetVerdict, SlowNode
from ..pod_verdicts import ungated_service
from ..policy import DrainPolicy, EvictionMethod, burst_size
from ..rounds import EvictionOrder, gated_waves
from ..simulation import simulate
from ..timeline import (
    DrainTerms,
    NodeSpan,
    PodMove,
    ReplacedPod,
    ReservedPlacement,
    Timeline,
    WatchedBudget,
    headroom_over_time,
    status_writes,
)
from .bounds import Bound, BoundKind, find_bounds, gap_to_bound
from .generations import (
    BUDGET_LAG_S,
    NEW_NODE_TIMES_S,
    NODE_SETTLE_S,
    EvictionTimes,
    NodeSupply,
    ResourceAmounts,
    drain_terms,
    node_supplies,
    without_wave_order,
)
from .node_times import MovesByNode
from .quantiles import MAX_RUNS, RunPace, estimate_quantiles, find_levels
from .slow_nodes import RelaxedBound, find_slow_nodes, relax_bounds
from .timing import MIN_STOP_S

# Assumptions of the estimate about what is not observed: the pace of the control plane, health of load balancer
# targets.


CONTROL_PLANE_RATE = 8.0
"""Approximate evictions per second of a control plane with default limits.

Its controllers may make 20 requests a second each (pkg/controller/apis/config/v1alpha1/defaults.go); an eviction costs
the disruption controller about two of them and the ReplicaSet controller three. EKS' settings are not known.
"""

CAVEAT_SHARE = 1 / 3
"""The share of the estimate from which on the control plane's pace may decide."""


def caveats(context: DrainContext, pods: Sequence[Pod], p50_s: float) -> Iterator[str]:
    """Assumptions about evicting `pods` in `p50_s` seconds, each a clause."""
    minimum_s = len(pods) / CONTROL_PLANE_RATE
    if minimum_s > CAVEAT_SHARE * p50_s:
        yield (
            f"the control plane keeps pace; one with default limits does about {CONTROL_PLANE_RATE:g} evictions a "
            f"second: then it takes at least {format_duration(int(minimum_s))}"
        )
    ungated_count = _ungated_pod_count(context, pods)
    if ungated_count:
        pods_text = "pod is a target" if ungated_count == 1 else "pods are targets"
        yield (
            f"a load balancer's target is healthy when its pod is Ready: {ungated_count} {pods_text} by ip without a "
            "readiness gate, and when the load balancer sends traffic to the new ones is not known"
        )


def _ungated_pod_count(context: DrainContext, pods: Sequence[Pod]) -> int:
    """How many of `pods` get traffic directly from a load balancer and have no readiness gate for it."""
    is_ungated: dict[object, bool] = {}
    count = 0
    for pod in pods:
        if pod.namespace in context.load_balanced_services:
            key = (pod.namespace, id(pod.labels), pod.readiness_gates)  # replicas share their labels
            if key not in is_ungated:
                service = ungated_service(context, pod)
                is_ungated[key] = service is not None and service.ip_targets
            count += is_ungated[key]
    return count


GOOD_ENOUGH = 1.02
"""An order this close to the lower bound is not improved."""

MAX_RELAXATIONS = 3
MAX_RELAXED_MOVES = 30_000
"""Each relaxation is one more simulation; beyond this many evictions it would take longer than the plan."""


@frozen
class MedianRun:
    """The run with p50 times, to be simulated again when more is known. `factor`: its duration divided by the simulated
    one."""

    nodes: MovesByNode
    terms: DrainTerms
    needs: Mapping[str, Sequence[str]]
    factor: float = 1.0

    def makespan_s(self, stop_times: Mapping[str, float], start_times: Mapping[str, float]) -> float | None:
        """Its duration if pods of these uids take so long to stop, and their replacements to start; None: it does not
        end."""
        nodes = [
            (node, [_with_measured_times(move, stop_times, start_times) for move in moves])
            for node, moves in self.nodes
        ]
        timeline = simulate(nodes, self.terms, ReservedPlacement(self.needs), spans_only=True)
        return None if timeline.never_evicted else timeline.makespan_s * self.factor


def _with_measured_times(move: PodMove, stop_times: Mapping[str, float], start_times: Mapping[str, float]) -> PodMove:
    stop_s, start_s = stop_times.get(move.uid, move.stop_s), start_times.get(move.uid, move.start_s)
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
    spans: tuple[NodeSpan, ...]
    peak_away: int
    assumptions: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()  # of any run at that pace, the largest first: it decides the duration
    gap: float | None = None  # excess over the lower bound at that pace: 0.03 is 3 %
    relaxations: tuple[RelaxedBound, ...] = ()
    moves: tuple[ReplacedPod, ...] = ()
    slow_nodes: tuple[SlowNode, ...] = ()  # at which their group's own update gives up, the slowest first
    runs: int = MAX_RUNS
    sampled_part: int = 0
    median_run: MedianRun | None = field(default=None, compare=False, repr=False)
    lower_bounds: tuple[Bound, ...] = ()  # of any run at any pace, largest first: none is faster
    slow_s: Mapping[str, float] = field(default_factory=dict)
    measured: int = 0
    workloads: int = 0
    level: float = 0.0


@frozen
class TypicalRun:
    """A run with typical times: the evictions by node, and the timeline."""

    moves: Mapping[str, Sequence[PodMove]]
    timeline: Timeline


@frozen
class TimingInput:
    """The input of the estimate. `start_order`: the nodes in the order in which they are started; `typical_run`: the
    run of exactly this input, where it is known."""

    order: EvictionOrder
    start_order: tuple[str, ...]
    work: NodeTasks
    needs: Mapping[str, tuple[str, ...]]
    waiting: Mapping[str, str]  # pod uid → new node that its replacement waits for
    typical_run: TypicalRun | None = None
    requested: Mapping[str, ResourceAmounts] = field(default_factory=dict)  # see `node_supplies`
    max_away: Mapping[str, int] = field(default_factory=dict)  # budget key → the most of its pods away at any time
    tried_count: int = 0  # tried orders, if the search was cut short


def estimate(pod_times: EvictionTimes, timing: TimingInput) -> Estimate | None:
    """The estimate for the drained nodes; None when no node is drained, or the drain does not end."""
    if not timing.start_order:
        return None
    run = _TimedRun(pod_times, timing)
    moves, terms = run.moves(), run.terms(slow=False)
    timeline = (timing.typical_run or simulate_typical_run(pod_times, timing)).timeline
    pace = RunPace(moves, terms, run.terms(slow=True))
    result = None if timeline.never_evicted else estimate_quantiles(pace, timeline.makespan_s, timing.needs)
    if result is None:
        return None  # an order that does not end has no duration
    level, (moves, terms, _), median, slow_s = find_levels(pace, timeline, result, timing.needs)
    p50_s = median.makespan_s
    evicted_pods = [booking.task.pod for booking in timing.order.bookings]
    sample_pods = {pod.owner.uid if pod.owner is not None else pod.uid: pod for pod in evicted_pods}.values()
    measured_count, workload_count = _measured_workloads(pod_times, sample_pods)
    supply: tuple[NodeSupply, ...] = ()
    if pod_times.context.policy.surge is not None:
        supply = tuple(node_supplies(pod_times.context, timing.work, timing.waiting, timing.requested))
    free_terms = without_wave_order(pod_times.context, terms, timing.start_order)
    pace_bounds = find_bounds(moves, free_terms, supplies=supply)
    least = find_bounds(
        run.certain_moves(), _best_case_terms(free_terms, timing), keep=1, supplies=supply, fastest=True
    )
    named_bounds = _with_pod_names(pod_times.context, (*pace_bounds, *least))
    near_optimal = bool(pace_bounds) and p50_s <= GOOD_ENOUGH * pace_bounds[0].seconds
    max_relaxed = MAX_RELAXATIONS if len(timing.order.bookings) <= MAX_RELAXED_MOVES else 0
    return Estimate(
        p50_s=p50_s,
        p95_s=max(p50_s, *slow_s.values()),
        runs=result.runs,
        sampled_part=result.sampled_part,
        spans=median.nodes,
        slow_s=slow_s,
        measured=measured_count,
        workloads=workload_count,
        level=level,
        peak_away=median.peak_away,
        assumptions=(
            *_assumptions(pod_times, timing, sample_pods, near_optimal, _stop_text(measured_count, workload_count)),
            result.description,
            *caveats(pod_times.context, evicted_pods, p50_s),
        ),
        lower_bounds=named_bounds[len(pace_bounds) :],
        bounds=named_bounds[: len(pace_bounds)],
        gap=gap_to_bound(p50_s, pace_bounds[0]) if pace_bounds else None,
        moves=median.moves,
        median_run=MedianRun(
            moves,
            terms,
            timing.needs,
            p50_s / timeline.makespan_s if p50_s and not level and timeline.makespan_s else 1.0,
        ),
        slow_nodes=find_slow_nodes(pod_times, timing.work, timing.start_order),
        relaxations=relax_bounds(
            moves, terms, pace_bounds, max_relaxed, typical_timeline=median, needs=timing.needs, regroup=run.regroup
        ),
    )


def simulate_typical_run(pod_times: EvictionTimes, timing: TimingInput) -> TypicalRun:
    """Simulate `timing` with typical times."""
    run = _TimedRun(pod_times, timing)
    return TypicalRun(dict(run.moves()), run.run_simulation())


class _TimedRun:
    """The same input with typical and with slow times."""

    def __init__(self, pod_times: EvictionTimes, timing: TimingInput) -> None:
        self._pod_times = pod_times
        self._timing = timing
        tasks = [booking.task for booking in timing.order.bookings]
        # Where it matters which pod goes last, the plan's order is kept; else waiting evictions are served.
        self._strict_limits = frozenset(
            limit for task in tasks if task.late_reason or task.permanent_limits for limit in task.limits
        )
        self._turns = {task.pod.uid: turn for turn, task in enumerate(tasks)} if self._strict_limits else {}

    def moves(self) -> MovesByNode:
        timing = self._timing
        if timing.typical_run is not None:
            return [(node, timing.typical_run.moves[node]) for node in timing.start_order]
        tasks, turns, waiting, contended_limits = (
            timing.work.tasks,
            self._turns,
            timing.waiting,
            timing.work.contended_limits,
        )
        return [
            (node, self._pod_times.moves(tasks[node], turns=turns, waiting=waiting, contended_limits=contended_limits))
            for node in timing.start_order
        ]

    def certain_moves(self) -> MovesByNode:
        """The evictions that any run makes: pods that may finish by themselves are not among them."""
        tasks, moves = self._timing.work.tasks, self.moves()
        if not self._pod_times.context.policy.wait_jobs:
            return moves
        waiting_uids = {task.pod.uid for node, _ in moves for task in tasks[node] if task.eviction_mode.waits_s}
        return [(node, [move for move in node_moves if move.uid not in waiting_uids]) for node, node_moves in moves]

    def terms(self, slow: bool) -> DrainTerms:
        order = self._timing.order
        return drain_terms(
            self._pod_times.context,
            self._timing.work.per_round,
            order.wave_of if order.is_gated else {},
            self._strict_limits,
            slow,
        )

    def regroup(self, domain: str) -> Mapping[str, int] | None:
        """The waves if one more node of that domain ("": of all) could be under way; None where places forbid it."""
        context, needs = self._pod_times.context, self._timing.needs
        return None if needs else gated_waves(context, self._timing.start_order, extra_domain=domain or ALL)

    def run_simulation(self) -> Timeline:
        return simulate(self.moves(), self.terms(slow=False), ReservedPlacement(self._timing.needs))


def _best_case_terms(terms: DrainTerms, timing: TimingInput) -> DrainTerms:
    """Terms with only this tool's own requirements, and with the most headroom that budgets can have."""
    slots = {limit: max(count, timing.max_away.get(limit, 0)) for limit, count in terms.slots.items()}
    replaced_after_s = None if terms.replaced_after_s is None else 0.0
    burst_count = burst_size(1 / terms.eviction_interval_s) if terms.eviction_interval_s else 1.0
    return replace(
        terms, slots=slots, burst=burst_count, budget_lag_s=0.0, replaced_after_s=replaced_after_s, provisioning_s=0.0
    )


def _with_pod_names(context: DrainContext, pod_bounds: Sequence[Bound]) -> tuple[Bound, ...]:
    """Bounds about pods with the pod's name instead of its uid."""
    pods = context.pods_with_uids({bound.subject for bound in pod_bounds if bound.name is BoundKind.LONGEST_POD})
    return tuple(
        replace(bound, subject=pods[bound.subject].key)
        if bound.name is BoundKind.LONGEST_POD and bound.subject in pods
        else bound
        for bound in pod_bounds
    )


def _measured_workloads(pod_times: EvictionTimes, sample_pods: Iterable[Pod]) -> tuple[int, int]:
    """The number of workloads with known stop times, and of all workloads. `sample_pods`: one pod of each owner."""
    is_measured = {
        pod_times.workload_uid(pod) or pod.uid: bool(pod_times.stop_times.for_pod(pod)) for pod in sample_pods
    }
    return sum(is_measured.values()), len(is_measured)


def _stop_text(measured_count: int, workload_count: int) -> str:
    """The basis of the stop times, and why the estimate has a wide range."""
    if measured_count == workload_count:
        return "pods stop as fast as they did in earlier runs"
    of = "" if not measured_count else f" of {workload_count - measured_count} of {workload_count} workloads"
    return (
        f"how long pods{of} stop is not known, no journal of an earlier run says it: from {MIN_STOP_S:g} s (after "
        "a preStop hook that sleeps) to their grace period, all of a workload alike; so p50 and p95 are far apart "
        "until a run measures it"
    )


def _job_wait_texts(policy: DrainPolicy, order: EvictionOrder) -> Iterator[str]:
    """Assumptions about pods that may finish first."""
    modes = [booking.task.eviction_mode for booking in order.bookings if booking.task.eviction_mode.waits_s]
    if not modes:
        return
    jobs = "1 pod of a Job takes" if len(modes) == 1 else f"{len(modes)} pods of Jobs take"
    never_count = sum(mode.means is EvictionMethod.WAIT for mode in modes)
    end = (
        f" (by then {never_count} that must not be evicted {'has' if never_count == 1 else 'have'} finished)"
        if never_count
        else ""
    )
    yield (
        f"{jobs} all of the {format_duration(policy.wait_jobs)} of --wait-jobs{end}: whether they finish sooner is not "
        "known, and then the drain is over sooner"
    )


def _assumptions(
    pod_times: EvictionTimes, timing: TimingInput, sample_pods: Iterable[Pod], near_optimal: bool, stop_text: str
) -> tuple[str, ...]:
    surge = pod_times.context.policy.surge
    workloads = {pod_times.workload_uid(pod) for pod in sample_pods}
    assumed = sorted(
        workload_uid for workload_uid in workloads if pod_times.start_times.for_workload(workload_uid).is_assumed
    )
    texts = [
        stop_text,
        f"a node is done {NODE_SETTLE_S:g} s after its last pod, a budget shows a Ready pod {BUDGET_LAG_S:g} s later",
        f"a new node is Ready {NEW_NODE_TIMES_S[0]:g} s after it is asked for, a slow one {NEW_NODE_TIMES_S[1]:g} s"
        if timing.waiting or surge is not None
        else "every replacement is scheduled at once (no waiting for new nodes)",
    ]
    texts += _job_wait_texts(pod_times.context.policy, timing.order)
    if timing.tried_count and not near_optimal:
        effort = pod_times.context.policy.effort
        tried_text = (
            "one order was tried" if timing.tried_count == 1 else f"the best of {timing.tried_count} orders is taken"
        )
        texts.append(f"{tried_text}: more than --effort {effort} may find a better one")
    if surge is not None:
        first_nodes = {0: "no new node is", 1: "1 new node is"}.get(surge, f"{surge} new nodes are")
        texts.append(f"{first_nodes} Ready before the drain begins, and each drained node is replaced by a new one")
    if assumed:
        pooled = pod_times.start_times.pooled
        texts.append(
            f"{len(assumed)} of {len(workloads)} workloads have too few starts to learn from: theirs are assumed to "
            f"take {pooled.p50_s:g} s, slow ones {pooled.p95_s:g} s"
        )
    return tuple(texts)


# Headroom of the slowest budgets in the run with p50 times: how many disruptions each allows, and when.


MAX_HEADROOM_LINES = 8
"""Budgets for which it is computed: those with the most rounds."""

HeadroomLine = tuple[tuple[float, int], ...]
"""(second, disruptions allowed from then on), the first at 0 s."""


def headroom_lines(
    context: DrainContext, budgets: Mapping[str, JudgedBudget], estimate: Estimate | None
) -> dict[str, HeadroomLine]:
    """Budget key → its headroom during the run of `estimate`; empty if no run ends."""
    watched_budgets = [
        watched_budget
        for judged in slowest_budgets(budgets.values())
        if (watched_budget := _watched_budget(context, judged)) is not None
    ]
    if not watched_budgets or estimate is None:
        return {}
    # A rollout makes no pod unavailable and starts one more: the additional headroom is not used.
    uids = {pod.uid for each in watched_budgets for pod in each.pods if restarted_workload(context, pod) is None}
    writes_by_budget = status_writes(
        watched_budgets, [replaced for replaced in estimate.moves if replaced.uid in uids], BUDGET_LAG_S
    )
    return {key: headroom_over_time(writes) for key, writes in writes_by_budget.items()}


def slowest_budgets(budgets: Iterable[JudgedBudget]) -> list[JudgedBudget]:
    """The budgets whose pods cannot all go at once, most rounds first."""
    serial = [judged for judged in budgets if judged.verdict is BudgetVerdict.SERIAL]
    return sorted(serial, key=lambda judged: (-judged.rounds, judged.budget.key))[:MAX_HEADROOM_LINES]


def _watched_budget(context: DrainContext, judged: JudgedBudget) -> WatchedBudget | None:
    """None where the controller's numbers are not known, or the plan assumes more headroom than they allow."""
    pods = context.pod_budgets.selected_pods(judged.budget)
    computed = recompute(judged.budget, pods, context.scales, context.now)
    if not isinstance(computed, ComputedStatus) or computed.status.allowed < judged.per_round:
        return None
    return WatchedBudget(judged.budget, pods, computed)
