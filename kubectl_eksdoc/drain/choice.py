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
from kubectl_eksdoc.model.placing import CPU, MEMORY

from . import placement as places
from .course import Move, Timeline, hold_s
from .duration import node_times
from .duration.bounds import bounds
from .duration.estimate import GOOD_ENOUGH, TimedPlan, UsualRun, usual_run
from .duration.generations import EvictionTimes, terms_of
from .judging import Judgement, used_up
from .nodes import DrainContext
from .orders import (
    BY_NAME,
    NodeTasks,
    NodeTraits,
    given,
    soonest_first,
    varied,
    work_of,
)
from .outcome import PodVerdict
from .placement import adds
from .policy import AUTO, Means
from .reservations import PlacementReservations, ReplacementPlaces
from .rounds import (
    EvictionOrder,
    NodeWaves,
    arrange,
    coming_again,
    gates,
    generations,
)
from .simulation import simulate

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
    activation: tuple[str, ...]
    begun_s: Mapping[str, float]
    landing: ReplacementPlaces
    clock: EvictionTimes
    usual: UsualRun | None
    tried: tuple[TriedOrder, ...]
    ground: PlacementReservations
    cut: bool = False

    @property
    def course(self) -> TimedPlan:
        """The input of the time estimate."""
        waits = self.landing.waits
        evicted = {task.pod.uid for tasks in self.work.tasks.values() for task in tasks} if waits else set()
        return TimedPlan(
            order=self.order,
            activation=self.activation,
            work=self.work,
            needs=self.landing.needs,
            waiting={uid: node for uid, node in waits.items() if uid in evicted},
            usual=self.usual,
            tried=len(self.tried) if self.cut else 0,
            asked={} if self.landing.homeless else self.ground.asked,
            most_away={key: judged.most_away for key, judged in self.judgement.budgets.items()},
        )

    def score(self, targets: int) -> Score:
        """The score, where `target_count` nodes could be drained."""
        course, timeline = self.course, self.usual.timeline if self.usual is not None else None
        return Score(
            targets - len(self.activation),
            -self.work.evictions,
            inf if timeline is None or timeline.stuck else timeline.makespan_s,
            len(course.waiting),
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
    nodes: tuple[str, ...]
    refused: tuple[str, ...]
    gates: Mapping[str, int]
    timeline: Timeline


_Moves = tuple[str, list[Move]]
"""A node name, and the simulated evictions of its pods."""


class Trials:
    """Simulates orders of the same evictions, one after the other, with one set of reservations."""

    def __init__(self, world: DrainContext, work: NodeTasks, clock: EvictionTimes) -> None:
        self._world = world
        self.work = work
        adds_one_more = adds(world)
        self.ground = PlacementReservations(world, adds_one_more, work.partly)
        policy = world.policy
        self._leaves_out = not (
            (policy.surge is not None or policy.partial or policy.surge_singles)
            or any(each.late or each.for_good for on_node in work.tasks.values() for each in on_node)
            or any(adds_one_more(node, {}) for node in world.cluster.nodes)
        )
        self.moves: dict[str, list[Move]] = {}
        crowded = work.crowded
        for node, tasks in work.tasks.items():
            self.ground.expect(node, coming_again(tasks))
            self.moves[node] = clock.moves(tasks, crowded=crowded)
        self.latest: OrderTrial | None = None  # the trial whose places `reservations` holds

    def run(self, name: str, order: Sequence[str]) -> OrderTrial:
        """Simulate the drain of the nodes in this order, as far as there is room."""
        surge = self._world.policy.surge
        self.latest = trial = self._with_room_as_it_is(name, order) if surge is None else self._renewing(name, order)
        return trial

    def reserve(self, trial: OrderTrial) -> None:
        """Make `reservations` hold the places of this trial again."""
        if self.latest is not trial:
            self._admitted(trial.order) if self._world.policy.surge is None else self.run(trial.name, trial.order)
            self.latest = trial

    def score(self, trial: OrderTrial) -> Score | None:
        """The score of the plan where the trial alone tells it (no node joins, and some nodes are left out for lack of
        room: the plan's run is then that of the trial); else None."""
        if not (self._leaves_out and trial.refused):
            return None
        evictions, timeline = sum([len(self.work.tasks[node]) for node in trial.nodes]), trial.timeline
        makespan_s = inf if timeline.stuck else timeline.makespan_s
        return Score(len(trial.refused), -evictions, makespan_s, 0, timeline.peak_away)

    def landing(self) -> ReplacementPlaces:
        """The places of the replacements in the latest trial, and the pods without a place."""
        assert self.latest is not None, "nothing was tried"
        return self.ground.landing((*self.latest.nodes, *self.latest.refused))

    def _with_room_as_it_is(self, name: str, order: Sequence[str]) -> OrderTrial:
        """Without new nodes it is known from the start for which nodes there is room."""
        there = self._admitted(order)
        admitted = [node for node in order if node in there]
        waves = gates(self._world, admitted)
        timeline = simulate(self._of(admitted), terms_of(self._world, self.work.per_round, waves))
        return OrderTrial(
            name, tuple(order), tuple(admitted), tuple(n for n in order if n not in there), waves, timeline
        )

    def _admitted(self, order: Sequence[str]) -> set[str]:
        self.ground.begin()
        there = {node for node in order if self.ground.admit(node, thorough=False)}
        # A drained node may allow others to be drained: its pods are no longer in the way of other placements.
        while more := {node for node in order if node not in there and self.ground.admit(node, thorough=True)}:
            there |= more
        return there | {n for n in order if n not in there and self.ground.admit(n, thorough=True, partly=True)}

    def _renewing(self, name: str, order: Sequence[str]) -> OrderTrial:
        """Leave out nodes that find no room after all earlier waves are replaced, and simulate again without them."""
        out: set[str] = set()
        while True:
            self.ground.begin()
            going = [node for node in order if node not in out]
            waves = gates(self._world, going)
            terms = terms_of(self._world, self.work.per_round, waves)
            timeline = simulate(self._of(going), terms, self.ground)
            refused = timeline.refused
            if waves and refused:
                first = min(waves[node] for node in refused)
                out.update(node for node in refused if waves[node] == first)
                continue
            out.update(refused)
            begun = [node for node in order if node not in out]
            return OrderTrial(name, tuple(order), tuple(begun), tuple(n for n in order if n in out), waves, timeline)

    def _of(self, order: Sequence[str]) -> list[_Moves]:
        return [(node, self.moves[node]) for node in order]


# The search for an order: the most promising first, then others while the effort allows and improvement is possible.


SOONEST = "soonest"
GIVEN = "given"
RESTARTS = 32
"""Variations of the best order that are tried after the named orders."""

ROOM_IS_SHORT = ("light", "efficiency", "name", "zone", "chain")
"""The sequence in which the named orders are tried when there is not room for all nodes at once."""


def best_of(
    world: DrainContext,
    trials: Trials,
    finish: Callable[[OrderTrial], OrderedPlan],
    in_vain: Callable[[OrderedPlan], bool],
) -> tuple[OrderedPlan, tuple[TriedOrder, ...]]:
    """The best plan among the orders that are tried, and all tried orders, the best first.

    `plan_for_trial` builds the plan for a trial. At the end the reservations hold the places of the best order.
    `is_futile`: whether the best plan so far shows that the pods have to be judged again, so that the search can stop.
    """
    search = _Search(world, trials)
    made: list[tuple[Score, int, OrderTrial]] = []
    plans: dict[int, OrderedPlan] = {}  # where the score of a trial needs its plan
    evictions, spent, cut = max(trials.work.evictions, 1), 0, False
    for number, (name, order) in enumerate(search.orders()):
        trial = trials.run(name, order)
        score = trials.score(trial)
        if score is None:
            plans[number] = finish(trial)
            score = plans[number].score(len(trials.work.tasks))
        made.append((score, number, trial))
        made.sort(key=lambda each: each[:2])  # of equal scores the first tried stays first
        search.best = made[0][2]
        best = plans.get(made[0][1])
        spent += evictions
        cut = not search.forced and spent + evictions > world.policy.effort
        if cut or (best is not None and (search.good_enough(best) or (search.best is trial and in_vain(best)))):
            break
    _, number, trial = made[0]
    trials.reserve(trial)
    best = plans.get(number) or finish(trial)
    told = tuple(TriedOrder(trial.name, score.makespan_s, score.not_drained) for score, _, trial in made)
    return replace(best, cut=cut), told


class _Search:
    """Generates the next order to try. `best_trial` is the best so far."""

    def __init__(self, world: DrainContext, trials: Trials) -> None:
        self._world = world
        self._work = trials.work
        self._moves = trials.moves
        self._floor_s: float | None = None
        self.best: OrderTrial | None = None

    @property
    def forced(self) -> bool:
        """Whether the user chose the order."""
        policy = self._world.policy
        return bool(policy.order_nodes) or policy.order != AUTO

    def orders(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Names and orders, as long as there are any."""
        policy = self._world.policy
        if policy.order_nodes:
            yield GIVEN, given(policy.order_nodes)(self._traits())
            return
        if policy.order not in (AUTO, SOONEST):
            yield policy.order, BY_NAME[policy.order](self._traits())
            return
        yield SOONEST, self._for_good_last(soonest_first(self._work.tasks, self._work.per_round))
        if policy.order == SOONEST or self.best is None:
            return
        traits = self._traits()
        for name in ROOM_IS_SHORT if self.best.refused or policy.surge is not None else BY_NAME:
            yield name, self._for_good_last(BY_NAME[name](traits))
        for seed in range(1, RESTARTS + 1):
            order = varied((*self.best.nodes, *self.best.refused), seed)(traits)
            yield f"{self.best.name.partition('~')[0]}~{seed}", self._for_good_last(order)

    def _for_good_last(self, order: list[str]) -> list[str]:
        """Nodes that use up a budget permanently go last: the others need it too, also in later waves."""
        return sorted(order, key=lambda node: any(task.for_good for task in self._work.tasks[node]))

    def good_enough(self, chosen: OrderedPlan) -> bool:
        """Whether no other order can be much better."""
        if chosen.usual is None or len(chosen.activation) < len(self._work.tasks):
            return False
        if self._floor_s is None:
            terms = terms_of(self._world, self._work.per_round, {})
            found = bounds([(node, chosen.usual.moves[node]) for node in chosen.activation], terms, keep=1)
            self._floor_s = found[0].seconds if found else 0.0
        return chosen.usual.timeline.makespan_s <= GOOD_ENOUGH * self._floor_s

    def _traits(self) -> list[NodeTraits]:
        terms = terms_of(self._world, self._work.per_round, {})
        holds: Counter[str] = Counter()
        for given_moves in self._moves.values():
            for move in given_moves:
                for limit in move.limits:
                    hold = hold_s(move, terms.lag_s)
                    holds[limit] += 0 if hold == inf else hold / terms.slots[limit]  # type: ignore[assignment]
        found = []
        for node in self._world.targets:
            if node.name not in self._moves:
                continue
            moves, tasks = self._moves[node.name], self._work.tasks[node.name]
            chains = [float(holds[limit]) for move in moves for limit in move.limits]
            has = (node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0))
            asked = (
                sum(t.pod.placement.requests.cpu for t in tasks),
                sum(t.pod.placement.requests.memory for t in tasks),
            )
            load = max((a / h for a, h in zip(asked, has, strict=True) if h), default=0.0)
            found.append(
                NodeTraits(
                    node.name,
                    len(moves),
                    max(chains, default=0.0),
                    sum(chains),
                    node_times.timed(node.name, moves, terms).seconds,
                    load,
                    node.zone,
                    node.created_at,
                )
            )
        return found


# From verdicts to the plan's order: the best order that was found, its left-out nodes and its rounds.


def without_a_second(before: Judgement, after: Judgement) -> frozenset[str]:
    """UIDs of the pods that were to be restarted before places were reserved, and are blocked after that."""
    going = {
        p.pod.uid
        for on in before.pods.values()
        for p in on
        if p.said and p.manner.means is Means.RESTART and p.verdict is not PodVerdict.BLOCKED
    }
    kept = (p.pod.uid for on in after.pods.values() for p in on if going and p.verdict is PodVerdict.BLOCKED)
    return frozenset(going.intersection(kept))


def choose(world: DrainContext, judgement: Judgement) -> OrderedPlan:
    """Order the pods that can be evicted, and reserve places for their replacements.

    A pod blocks its node, which is then left out, if it finds no place or its budget is permanently used up. The search
    ends early when the best order leaves a single replica no place for its restart (see `plan.judge_and_order`).
    """
    clock, before = EvictionTimes(world), judgement
    while True:
        trials = Trials(world, work_of(world, judgement), clock)
        best, tried = best_of(
            world,
            trials,
            partial(finished, world, judgement, trials, clock),
            lambda found: world.policy.surge_singles and bool(without_a_second(before, found.judgement)),
        )
        if not best.order.refused:
            return replace(best, tried=tried)
        # Other pods may have had places on new nodes in the place of nodes that are left out now: start again.
        judgement = _used_up(judgement, best.order)


def finished(
    world: DrainContext, judgement: Judgement, trials: Trials, clock: EvictionTimes, trial: OrderTrial
) -> OrderedPlan:
    """The plan of a trial: pods that stay after all, the rounds, and the run of exactly this plan."""
    landing = trials.landing()
    after, work = judgement, trials.work
    if landing.homeless:
        after = without_homeless(world, judgement, landing)
        work = work_of(world, after)
    begun_s = {span.node: span.start_s for span in trial.timeline.nodes}
    activation = tuple(node for node in (*trial.nodes, *trial.refused) if node in work.tasks)
    waves = waves_of(world, activation, begun_s, landing.needs, trial.gates)
    order = arrange(work.tasks, work.per_round, activation, waves, as_given=trial.name == GIVEN)
    strict = any(task.late or task.for_good for tasks in work.tasks.values() for task in tasks)
    same = not (strict or landing.homeless or trial.timeline.stuck) and set(activation) == set(trial.nodes)
    usual = UsualRun(trials.moves, trial.timeline) if same else None
    made = OrderedPlan(trial.name, after, work, order, activation, begun_s, landing, clock, usual, (), trials.ground)
    return made if order.refused else timed(made)


def timed(made: OrderedPlan) -> OrderedPlan:
    """`choice` with its simulated run, and its nodes in the order in which that empties them, wave by wave."""
    usual, order = made.usual or usual_run(made.clock, made.course), made.order
    if made.name != GIVEN:
        empty_s = {span.node: span.empty_s for span in usual.timeline.nodes}
        nodes = sorted(order.nodes, key=lambda node: (order.wave[node], empty_s.get(node, inf)))
        order = replace(order, nodes=tuple(nodes))
    return replace(made, usual=usual, order=order)


def waves_of(
    world: DrainContext,
    activation: Sequence[str],
    begun_s: Mapping[str, float],
    needs: Mapping[str, Sequence[str]],
    kept: Mapping[str, int],
) -> NodeWaves:
    """The waves of nodes. Nodes of `fixed_waves` keep theirs: their places were reserved in these waves."""
    begun = sorted(activation, key=lambda node: begun_s.get(node, inf))
    there = set(activation)
    generation = generations(begun, {node: [x for x in needs.get(node, ()) if x in there] for node in begun})
    gated = gates(world, activation, kept)
    return NodeWaves(gated or generation, generation, gated=bool(gated))


def without_homeless(world: DrainContext, judgement: Judgement, landing: ReplacementPlaces) -> Judgement:
    """`judgement` after placement: a pod without a place is blocked, or waits for a new node."""
    judged = places.AfterPlacement(world, landing).judged
    without = {homeless.node for homeless in landing.homeless.values()}
    pods = {name: tuple(map(judged, judgement.pods[name])) for name in judgement.pods if name in without}
    return replace(judgement, pods={**judgement.pods, **pods})


def _used_up(judgement: Judgement, order: EvictionOrder) -> Judgement:
    """Block the pods that no round can evict because a budget is permanently used up."""
    refused = {task.pod.uid: judgement.budgets[limit].budget for task, limit in order.refused}
    pods = {
        name: tuple(used_up(p, refused[p.pod.uid]) if p.pod.uid in refused else p for p in on)
        for name, on in judgement.pods.items()
    }
    return replace(judgement, pods=pods, used_up=judgement.used_up | {budget.key for budget in refused.values()})
