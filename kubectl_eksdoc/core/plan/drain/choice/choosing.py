"""From verdicts to the plan's order: the best order that was found, with what it leaves out, and its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from kubectl_eksdoc.core.plan.drain.choice.chosen import Chosen
from kubectl_eksdoc.core.plan.drain.choice.search import GIVEN, best_of
from kubectl_eksdoc.core.plan.drain.choice.trial import Trial, Trials
from kubectl_eksdoc.core.plan.drain.duration.clock import Clock
from kubectl_eksdoc.core.plan.drain.duration.estimate import Usual, usual_run
from kubectl_eksdoc.core.plan.drain.landing import places
from kubectl_eksdoc.core.plan.drain.landing.reserving import Landing
from kubectl_eksdoc.core.plan.drain.manners import Means
from kubectl_eksdoc.core.plan.drain.order.rounds import Order, Waves, arrange
from kubectl_eksdoc.core.plan.drain.order.tasks import work_of
from kubectl_eksdoc.core.plan.drain.order.waves import gates, generations
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.judging import Judgement, judge_pods, used_up


def settled(world: Survey) -> tuple[Survey, Judgement, Chosen]:
    """What is judged and chosen. Singles that would be restarted, and whose new pod finds no place while they are
    there, go as they would without that: the world that is returned knows them."""
    while True:
        judgement = judge_pods(world, world.accepted)
        chosen = choose(world, judgement)
        alone = without_a_second(judgement, chosen.judgement) if world.policy.surge_singles else frozenset()
        if not alone:
            return world, judgement, chosen
        world = replace(world, no_second=world.no_second | alone)


def without_a_second(before: Judgement, after: Judgement) -> frozenset[str]:
    """UIDs of those that were to be restarted until places were reserved."""
    going = {
        p.pod.uid
        for on in before.pods.values()
        for p in on
        if p.said and p.manner.means is Means.RESTART and p.verdict is not PodVerdict.BLOCKED
    }
    kept = (p.pod.uid for on in after.pods.values() for p in on if going and p.verdict is PodVerdict.BLOCKED)
    return frozenset(going.intersection(kept))


def choose(world: Survey, judgement: Judgement) -> Chosen:
    """Order what can go, and reserve places for it.

    A pod without a place, or for which its budget is used up for good, blocks its node: it is left out then. No more
    orders are tried once the best so far leaves a single that is to be restarted without a place: see `settled`.
    """
    clock, before = Clock(world), judgement
    while True:
        trials = Trials(world, work_of(world, judgement), clock)
        best, tried = best_of(
            world,
            trials,
            partial(_finished, world, judgement, trials, clock),
            lambda found: world.policy.surge_singles and bool(without_a_second(before, found.judgement)),
        )
        if not best.order.refused:
            return replace(best, tried=tried)
        # Others may have had their places in the successors of the nodes that are left out now: all begins anew.
        judgement = _used_up(judgement, best.order)


def _finished(world: Survey, judgement: Judgement, trials: Trials, clock: Clock, trial: Trial) -> Chosen:
    """All that comes of a trial: who stays after all, the rounds, and the run of exactly that."""
    landing = trials.landing()
    after, work = judgement, trials.work
    if landing.homeless:
        after = without_homeless(world, judgement, landing)
        work = work_of(world, after)
    begun_s = {span.node: span.start_s for span in trial.timeline.nodes}
    activation = tuple(node for node in (*trial.nodes, *trial.refused) if node in work.tasks)
    waves = waves_of(world, activation, begun_s, landing.needs, trial.gates)
    order = arrange(work.tasks, work.per_round, activation, waves, as_given=trial.name == GIVEN)
    strict = any(task.late or task.for_good for given in work.tasks.values() for task in given)
    same = not (strict or landing.homeless or trial.timeline.stuck) and set(activation) == set(trial.nodes)
    usual = Usual(trials.moves, trial.timeline) if same else None
    made = Chosen(trial.name, after, work, order, activation, begun_s, landing, clock, usual, (), trials.ground)
    return made if order.refused else timed(made)


def timed(made: Chosen) -> Chosen:
    """`made` with the run of exactly that, and its nodes in the order in which that empties them, wave by wave."""
    usual, order = made.usual or usual_run(made.clock, made.course), made.order
    if made.name != GIVEN:
        empty_s = {span.node: span.empty_s for span in usual.timeline.nodes}
        nodes = sorted(order.nodes, key=lambda node: (order.wave[node], empty_s.get(node, inf)))
        order = replace(order, nodes=tuple(nodes))
    return replace(made, usual=usual, order=order)


def waves_of(
    world: Survey,
    activation: Sequence[str],
    begun_s: Mapping[str, float],
    needs: Mapping[str, Sequence[str]],
    kept: Mapping[str, int],
) -> Waves:
    """The waves in which nodes go; those of `kept` keep theirs, for their places were found in these waves."""
    begun = sorted(activation, key=lambda node: begun_s.get(node, inf))
    there = set(activation)
    generation = generations(begun, {node: [x for x in needs.get(node, ()) if x in there] for node in begun})
    gated = gates(world, activation, kept)
    return Waves(gated or generation, generation, gated=bool(gated))


def without_homeless(world: Survey, judgement: Judgement, landing: Landing) -> Judgement:
    """What finds no place is blocked, or waits for a new node."""
    judged = places.AfterLanding(world, landing).judged
    pods = {name: tuple(map(judged, on)) for name, on in judgement.pods.items()}
    return replace(judgement, pods=pods)


def _used_up(judgement: Judgement, order: Order) -> Judgement:
    """What no round can take is blocked by a budget that is used up for good."""
    refused = {task.pod.uid: judgement.budgets[limit].budget for task, limit in order.refused}
    pods = {
        name: tuple(used_up(p, refused[p.pod.uid]) if p.pod.uid in refused else p for p in on)
        for name, on in judgement.pods.items()
    }
    return replace(judgement, pods=pods, used_up=judgement.used_up | {budget.key for budget in refused.values()})
