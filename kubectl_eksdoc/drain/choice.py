"""Search for the best drain order: each candidate is simulated with places and times, and the best is kept.

Belongs here: the search over orders, and the result of the chosen one.
Never here: how an order is generated, where pods are placed, how long an order takes (these are imported modules).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.placement import CPU, MEMORY

from . import placement as places
from .duration import node_times
from .duration.bounds import find_bounds
from .duration.estimate import GOOD_ENOUGH, TimingInput, TypicalRun, simulate_typical_run
from .duration.generations import EvictionTimes, drain_terms
from .judging import Judgement, block_exhausted
from .nodes import DrainContext
from .orders import (
    STRATEGIES,
    NodeTasks,
    NodeTraits,
    build_node_tasks,
    order_from_list,
    soonest_first,
    vary_order,
)
from .outcome import PodVerdict
from .placement import node_adder
from .policy import AUTO_ORDER, EvictionMethod
from .reservations import PlacementReservations, ReplacementPlaces
from .rounds import (
    EvictionOrder,
    NodeWaves,
    arrange_rounds,
    assign_generations,
    gated_waves,
    pods_needing_place,
)
from .simulation import simulate
from .timeline import PodMove, Timeline, slot_hold_s

# The result of one order: nodes in their turns, reserved places, and the simulated run of exactly this order.


@frozen
class TriedOrder:
    """One order that was tried: its simulated duration in seconds, and how many nodes it could not drain."""

    name: str
    makespan_s: float
    not_drained: int


class Score(NamedTuple):
    """Sort key of a plan, the smaller the better: nodes that are not drained, evictions (negated: more is better),
    seconds, replacements that wait for new nodes, most pods away at once."""

    not_drained: int
    evictions: int  # negated
    makespan_s: float
    waiting: int
    peak_away: int


@frozen
class OrderedPlan:
    """The plan for one order, including the verdicts after placement. `name`: name of the order. `start_order`: nodes
    in the order in which they are started; `started_s`: when each is started in the run that reserved its places.
    `typical_run`: the run of exactly this plan, None where it is not known. `reservations`: holds the reserved places.
    `effort_exhausted`: the search stopped because its effort (``--effort``) was used up."""

    name: str
    judgement: Judgement
    work: NodeTasks
    order: EvictionOrder
    start_order: tuple[str, ...]
    started_s: Mapping[str, float]
    placement: ReplacementPlaces
    pod_times: EvictionTimes
    typical_run: TypicalRun | None
    tried_orders: tuple[TriedOrder, ...]
    reservations: PlacementReservations
    effort_exhausted: bool = False

    @property
    def timing_input(self) -> TimingInput:
        """The input of the time estimate."""
        waiting = self.placement.waiting_for_nodes
        evicted_uids = {task.pod.uid for tasks in self.work.tasks.values() for task in tasks} if waiting else set()
        return TimingInput(
            order=self.order,
            start_order=self.start_order,
            work=self.work,
            needs=self.placement.needs,
            waiting={uid: node for uid, node in waiting.items() if uid in evicted_uids},
            typical_run=self.typical_run,
            tried_count=len(self.tried_orders) if self.effort_exhausted else 0,
            requested={} if self.placement.unplaced else self.reservations.requested,
            max_away={key: judged.max_away for key, judged in self.judgement.budgets.items()},
        )

    def score(self, target_count: int) -> Score:
        """The score, where `target_count` nodes could be drained."""
        timing_input, timeline = self.timing_input, self.typical_run.timeline if self.typical_run is not None else None
        return Score(
            target_count - len(self.start_order),
            -self.work.eviction_count,
            inf if timeline is None or timeline.never_evicted else timeline.makespan_s,
            len(timing_input.waiting),
            timeline.peak_away if timeline is not None else 0,
        )


# Simulation of one order: places are reserved as nodes are drained in virtual time.


@frozen
class OrderTrial:
    """The result of one simulated order. `order`: the order that was tried; `drained`: its nodes that were drained;
    `refused_nodes`: the others, for whose pods there was no room. `gated_waves`: node → wave, from 1; empty where nodes
    do not wait for waves."""

    name: str
    order: tuple[str, ...]
    drained: tuple[str, ...]
    refused_nodes: tuple[str, ...]
    gated_waves: Mapping[str, int]
    timeline: Timeline


_NodeMoves = tuple[str, list[PodMove]]
"""A node name, and the simulated evictions of its pods."""


class OrderTrials:
    """Simulates orders of the same evictions, one after the other, with one set of reservations."""

    def __init__(self, context: DrainContext, work: NodeTasks, pod_times: EvictionTimes) -> None:
        self._context = context
        self.work = work
        can_add_node = node_adder(context)
        self.reservations = PlacementReservations(context, can_add_node, work.partial_nodes)
        policy = context.policy
        self._can_score_early = not (
            (policy.surge is not None or policy.partial or policy.surge_singles)
            or any(each.late_reason or each.permanent_limits for on_node in work.tasks.values() for each in on_node)
            or any(can_add_node(node, {}) for node in context.cluster.nodes)
        )
        self.moves: dict[str, list[PodMove]] = {}
        contended_limits = work.contended_limits
        for node, tasks in work.tasks.items():
            self.reservations.add_node(node, pods_needing_place(tasks))
            self.moves[node] = pod_times.moves(tasks, contended_limits=contended_limits)
        self.latest_trial: OrderTrial | None = None  # the trial whose places `reservations` holds

    def run(self, name: str, order: Sequence[str]) -> OrderTrial:
        """Simulate the drain of the nodes in this order, as far as there is room."""
        surge = self._context.policy.surge
        self.latest_trial = trial = (
            self._run_without_new_nodes(name, order) if surge is None else self._run_with_new_nodes(name, order)
        )
        return trial

    def reserve(self, trial: OrderTrial) -> None:
        """Make `reservations` hold the places of this trial again."""
        if self.latest_trial is not trial:
            self._admit_nodes(trial.order) if self._context.policy.surge is None else self.run(trial.name, trial.order)
            self.latest_trial = trial

    def score(self, trial: OrderTrial) -> Score | None:
        """The score of the plan where the trial alone tells it (no node joins, and some nodes are left out for lack of
        room: the plan's run is then that of the trial); else None."""
        if not (self._can_score_early and trial.refused_nodes):
            return None
        evictions, timeline = sum([len(self.work.tasks[node]) for node in trial.drained]), trial.timeline
        makespan_s = inf if timeline.never_evicted else timeline.makespan_s
        return Score(len(trial.refused_nodes), -evictions, makespan_s, 0, timeline.peak_away)

    def placement(self) -> ReplacementPlaces:
        """The places of the replacements in the latest trial, and the pods without a place."""
        assert self.latest_trial is not None, "nothing was tried"
        return self.reservations.placement((*self.latest_trial.drained, *self.latest_trial.refused_nodes))

    def _run_without_new_nodes(self, name: str, order: Sequence[str]) -> OrderTrial:
        """Without new nodes it is known from the start for which nodes there is room."""
        accepted = self._admit_nodes(order)
        admitted = [node for node in order if node in accepted]
        waves = gated_waves(self._context, admitted)
        timeline = simulate(self._moves_in_order(admitted), drain_terms(self._context, self.work.per_round, waves))
        return OrderTrial(
            name, tuple(order), tuple(admitted), tuple(n for n in order if n not in accepted), waves, timeline
        )

    def _admit_nodes(self, order: Sequence[str]) -> set[str]:
        self.reservations.reset()
        admitted = {node for node in order if self.reservations.admit(node, thorough=False)}
        # A drained node may allow others to be drained: its pods are no longer in the way of other placements.
        while added := {
            node for node in order if node not in admitted and self.reservations.admit(node, thorough=True)
        }:
            admitted |= added
        return admitted | {
            n for n in order if n not in admitted and self.reservations.admit(n, thorough=True, partly=True)
        }

    def _run_with_new_nodes(self, name: str, order: Sequence[str]) -> OrderTrial:
        """Leave out nodes that find no room after all earlier waves are replaced, and simulate again without them."""
        left_out: set[str] = set()
        while True:
            self.reservations.reset()
            candidates = [node for node in order if node not in left_out]
            waves = gated_waves(self._context, candidates)
            terms = drain_terms(self._context, self.work.per_round, waves)
            timeline = simulate(self._moves_in_order(candidates), terms, self.reservations)
            refused_nodes = timeline.refused_nodes
            if waves and refused_nodes:
                first_wave = min(waves[node] for node in refused_nodes)
                left_out.update(node for node in refused_nodes if waves[node] == first_wave)
                continue
            left_out.update(refused_nodes)
            started_nodes = [node for node in order if node not in left_out]
            return OrderTrial(
                name, tuple(order), tuple(started_nodes), tuple(n for n in order if n in left_out), waves, timeline
            )

    def _moves_in_order(self, order: Sequence[str]) -> list[_NodeMoves]:
        return [(node, self.moves[node]) for node in order]


# The search for an order: the most promising first, then others while the effort allows and improvement is possible.


SOONEST_ORDER = "soonest"
USER_ORDER = "given"
MAX_VARIATIONS = 32
"""Variations of the best order that are tried after the named orders."""

SHORT_ROOM_ORDERS = ("light", "efficiency", "name", "zone", "chain")
"""The sequence in which the named orders are tried when there is not room for all nodes at once."""


def find_best_order(
    context: DrainContext,
    trials: OrderTrials,
    plan_for_trial: Callable[[OrderTrial], OrderedPlan],
    is_futile: Callable[[OrderedPlan], bool],
) -> tuple[OrderedPlan, tuple[TriedOrder, ...]]:
    """The best plan among the orders that are tried, and all tried orders, the best first.

    `plan_for_trial` builds the plan for a trial. At the end the reservations hold the places of the best order.
    `is_futile`: whether the best plan so far shows that the pods have to be judged again, so that the search can stop.
    """
    search = _OrderSearch(context, trials)
    scored_trials: list[tuple[Score, int, OrderTrial]] = []
    plans: dict[int, OrderedPlan] = {}  # where the score of a trial needs its plan
    evictions, simulated_evictions, effort_exhausted = max(trials.work.eviction_count, 1), 0, False
    for number, (name, order) in enumerate(search.orders()):
        trial = trials.run(name, order)
        score = trials.score(trial)
        if score is None:
            plans[number] = plan_for_trial(trial)
            score = plans[number].score(len(trials.work.tasks))
        scored_trials.append((score, number, trial))
        scored_trials.sort(key=lambda each: each[:2])  # of equal scores the first tried stays first
        search.best_trial = scored_trials[0][2]
        best_plan = plans.get(scored_trials[0][1])
        simulated_evictions += evictions
        effort_exhausted = not search.is_forced and simulated_evictions + evictions > context.policy.effort
        if effort_exhausted or (
            best_plan is not None
            and (search.is_good_enough(best_plan) or (search.best_trial is trial and is_futile(best_plan)))
        ):
            break
    _, number, trial = scored_trials[0]
    trials.reserve(trial)
    best_plan = plans.get(number) or plan_for_trial(trial)
    tried_orders = tuple(
        TriedOrder(trial.name, score.makespan_s, score.not_drained) for score, _, trial in scored_trials
    )
    return replace(best_plan, effort_exhausted=effort_exhausted), tried_orders


class _OrderSearch:
    """Generates the next order to try. `best_trial` is the best so far."""

    def __init__(self, context: DrainContext, trials: OrderTrials) -> None:
        self._context = context
        self._work = trials.work
        self._moves = trials.moves
        self._lower_bound_s: float | None = None
        self.best_trial: OrderTrial | None = None

    @property
    def is_forced(self) -> bool:
        """Whether the user chose the order."""
        policy = self._context.policy
        return bool(policy.order_nodes) or policy.order != AUTO_ORDER

    def orders(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Names and orders, as long as there are any."""
        policy = self._context.policy
        if policy.order_nodes:
            yield USER_ORDER, order_from_list(policy.order_nodes)(self._node_traits())
            return
        if policy.order not in (AUTO_ORDER, SOONEST_ORDER):
            yield policy.order, STRATEGIES[policy.order](self._node_traits())
            return
        yield SOONEST_ORDER, self._permanent_last(soonest_first(self._work.tasks, self._work.per_round))
        if policy.order == SOONEST_ORDER or self.best_trial is None:
            return
        traits = self._node_traits()
        for name in SHORT_ROOM_ORDERS if self.best_trial.refused_nodes or policy.surge is not None else STRATEGIES:
            yield name, self._permanent_last(STRATEGIES[name](traits))
        for seed in range(1, MAX_VARIATIONS + 1):
            order = vary_order((*self.best_trial.drained, *self.best_trial.refused_nodes), seed)(traits)
            yield f"{self.best_trial.name.partition('~')[0]}~{seed}", self._permanent_last(order)

    def _permanent_last(self, order: list[str]) -> list[str]:
        """Nodes that use up a budget permanently go last: the others need it too, also in later waves."""
        return sorted(order, key=lambda node: any(task.permanent_limits for task in self._work.tasks[node]))

    def is_good_enough(self, choice: OrderedPlan) -> bool:
        """Whether no other order can be much better."""
        if choice.typical_run is None or len(choice.start_order) < len(self._work.tasks):
            return False
        if self._lower_bound_s is None:
            terms = drain_terms(self._context, self._work.per_round, {})
            lower_bounds = find_bounds(
                [(node, choice.typical_run.moves[node]) for node in choice.start_order], terms, keep=1
            )
            self._lower_bound_s = lower_bounds[0].seconds if lower_bounds else 0.0
        return choice.typical_run.timeline.makespan_s <= GOOD_ENOUGH * self._lower_bound_s

    def _node_traits(self) -> list[NodeTraits]:
        terms = drain_terms(self._context, self._work.per_round, {})
        limit_seconds: Counter[str] = Counter()
        for node_moves in self._moves.values():
            for move in node_moves:
                for limit in move.limits:
                    hold_seconds = slot_hold_s(move, terms.budget_lag_s)
                    limit_seconds[limit] += 0 if hold_seconds == inf else hold_seconds / terms.slots[limit]  # type: ignore[assignment]
        traits = []
        for node in self._context.targets:
            if node.name not in self._moves:
                continue
            moves, tasks = self._moves[node.name], self._work.tasks[node.name]
            chains = [float(limit_seconds[limit]) for move in moves for limit in move.limits]
            allocatable = (node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0))
            requested = (
                sum(t.pod.placement.requests.cpu for t in tasks),
                sum(t.pod.placement.requests.memory for t in tasks),
            )
            load = max(
                (request / capacity for request, capacity in zip(requested, allocatable, strict=True) if capacity),
                default=0.0,
            )
            traits.append(
                NodeTraits(
                    node.name,
                    len(moves),
                    max(chains, default=0.0),
                    sum(chains),
                    node_times.node_time(node.name, moves, terms).seconds,
                    load,
                    node.zone,
                    node.created_at,
                )
            )
        return traits


# From verdicts to the plan's order: the best order that was found, its left-out nodes and its rounds.


def restarts_without_place(before: Judgement, after: Judgement) -> frozenset[str]:
    """UIDs of the pods that were to be restarted before places were reserved, and are blocked after that."""
    restarted = {
        p.pod.uid
        for on_node in before.pods.values()
        for p in on_node
        if p.results and p.eviction_mode.means is EvictionMethod.RESTART and p.verdict is not PodVerdict.BLOCKED
    }
    blocked = (
        p.pod.uid for on_node in after.pods.values() for p in on_node if restarted and p.verdict is PodVerdict.BLOCKED
    )
    return frozenset(restarted.intersection(blocked))


def choose_order(context: DrainContext, judgement: Judgement) -> OrderedPlan:
    """Order the pods that can be evicted, and reserve places for their replacements.

    A pod blocks its node, which is then left out, if it finds no place or its budget is permanently used up. The search
    ends early when the best order leaves a single replica no place for its restart (see `plan.judge_and_order`).
    """
    pod_times, first_judgement = EvictionTimes(context), judgement
    while True:
        trials = OrderTrials(context, build_node_tasks(context, judgement), pod_times)
        best, tried_orders = find_best_order(
            context,
            trials,
            partial(finish_trial, context, judgement, trials, pod_times),
            lambda choice: (
                context.policy.surge_singles and bool(restarts_without_place(first_judgement, choice.judgement))
            ),
        )
        if not best.order.refused_tasks:
            return replace(best, tried_orders=tried_orders)
        # Other pods may have had places on new nodes in the place of nodes that are left out now: start again.
        judgement = _block_refused_pods(judgement, best.order)


def finish_trial(
    context: DrainContext, judgement: Judgement, trials: OrderTrials, pod_times: EvictionTimes, trial: OrderTrial
) -> OrderedPlan:
    """The plan of a trial: pods that stay after all, the rounds, and the run of exactly this plan."""
    placement = trials.placement()
    updated, work = judgement, trials.work
    if placement.unplaced:
        updated = block_unplaced_pods(context, judgement, placement)
        work = build_node_tasks(context, updated)
    started_s = {span.node: span.start_s for span in trial.timeline.nodes}
    start_order = tuple(node for node in (*trial.drained, *trial.refused_nodes) if node in work.tasks)
    waves = node_waves(context, start_order, started_s, placement.needs, trial.gated_waves)
    order = arrange_rounds(work.tasks, work.per_round, start_order, waves, keep_node_order=trial.name == USER_ORDER)
    strict = any(task.late_reason or task.permanent_limits for tasks in work.tasks.values() for task in tasks)
    matches = not (strict or placement.unplaced or trial.timeline.never_evicted) and set(start_order) == set(
        trial.drained
    )
    typical_run = TypicalRun(trials.moves, trial.timeline) if matches else None
    choice = OrderedPlan(
        trial.name,
        updated,
        work,
        order,
        start_order,
        started_s,
        placement,
        pod_times,
        typical_run,
        (),
        trials.reservations,
    )
    return choice if order.refused_tasks else with_timeline(choice)


def with_timeline(choice: OrderedPlan) -> OrderedPlan:
    """`choice` with its simulated run, and its nodes in the order in which that empties them, wave by wave."""
    typical_run, order = choice.typical_run or simulate_typical_run(choice.pod_times, choice.timing_input), choice.order
    if choice.name != USER_ORDER:
        empty_s = {span.node: span.empty_s for span in typical_run.timeline.nodes}
        nodes = sorted(order.nodes, key=lambda node: (order.wave_of[node], empty_s.get(node, inf)))
        order = replace(order, nodes=tuple(nodes))
    return replace(choice, typical_run=typical_run, order=order)


def node_waves(
    context: DrainContext,
    start_order: Sequence[str],
    started_s: Mapping[str, float],
    needs: Mapping[str, Sequence[str]],
    fixed_waves: Mapping[str, int],
) -> NodeWaves:
    """The waves of nodes. Nodes of `fixed_waves` keep theirs: their places were reserved in these waves."""
    by_start = sorted(start_order, key=lambda node: started_s.get(node, inf))
    active = set(start_order)
    generation = assign_generations(
        by_start, {node: [x for x in needs.get(node, ()) if x in active] for node in by_start}
    )
    gated_wave_of = gated_waves(context, start_order, fixed_waves)
    return NodeWaves(gated_wave_of or generation, generation, is_gated=bool(gated_wave_of))


def block_unplaced_pods(context: DrainContext, judgement: Judgement, placement: ReplacementPlaces) -> Judgement:
    """`judgement` after placement: a pod without a place is blocked, or waits for a new node."""
    judge_placed = places.PlacementJudge(context, placement).judge
    nodes_short_of_room = {unplaced.node for unplaced in placement.unplaced.values()}
    pods = {
        name: tuple(map(judge_placed, judgement.pods[name])) for name in judgement.pods if name in nodes_short_of_room
    }
    return replace(judgement, pods={**judgement.pods, **pods})


def _block_refused_pods(judgement: Judgement, order: EvictionOrder) -> Judgement:
    """Block the pods that no round can evict because a budget is permanently used up."""
    refused = {task.pod.uid: judgement.budgets[limit].budget for task, limit in order.refused_tasks}
    pods = {
        name: tuple(block_exhausted(p, refused[p.pod.uid]) if p.pod.uid in refused else p for p in on_node)
        for name, on_node in judgement.pods.items()
    }
    return replace(
        judgement,
        pods=pods,
        exhausted_budgets=judgement.exhausted_budgets | {budget.key for budget in refused.values()},
    )
