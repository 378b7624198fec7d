"""From verdicts to the plan's order: the best order that was found, with what it leaves out, and its rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from kubectl_eksdoc.core.plan.drain.choice.choosing import GIVEN, Tried, best_of
from kubectl_eksdoc.core.plan.drain.choice.trial import Trial, Trials, gates
from kubectl_eksdoc.core.plan.drain.duration.clock import Clock
from kubectl_eksdoc.core.plan.drain.duration.estimate import Usual
from kubectl_eksdoc.core.plan.drain.landing import places
from kubectl_eksdoc.core.plan.drain.landing.reserving import Landing
from kubectl_eksdoc.core.plan.drain.order.rounds import Order, arrange
from kubectl_eksdoc.core.plan.drain.order.tasks import Work, work_of
from kubectl_eksdoc.core.plan.drain.order.waves import generations
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.judging import Judgement, used_up


@dataclass(frozen=True, slots=True)
class Chosen:
    """The verdicts after ordering and landing, and what was chosen. `activation` is the order in which nodes are
    begun; `usual` its run at the usual pace, None where exactly this has not been simulated."""

    judgement: Judgement
    work: Work
    order: Order
    activation: tuple[str, ...]
    landing: Landing
    clock: Clock
    usual: Usual | None
    tried: tuple[Tried, ...]


def choose(world: Survey, judgement: Judgement) -> Chosen:
    """Order what can go, and reserve places for it.

    A pod without a place, or for which its budget is used up for good, blocks its node: it is left out then.
    """
    clock = Clock(world)
    while True:
        work = work_of(world, judgement)
        trials = Trials(world, work, clock)
        best, tried = best_of(world, work, trials)
        landing = trials.landing(best)
        after = _without(world, judgement, landing) if landing.homeless else judgement
        work = work_of(world, after) if landing.homeless else work
        order, activation = _ordered(world, work, best, landing.needs)
        if not order.refused:
            break
        # Others may have had their places in the successors of the nodes that are left out now: all begins anew.
        judgement = _used_up(judgement, order)
    strict = any(task.late or task.for_good for given in work.tasks.values() for task in given)
    # What was refused, or is left on a node in part, was in the run that was tried.
    whole = not best.timeline.stuck and all(len(work.tasks[n]) == len(trials.moves[n]) for n in activation)
    same = not strict and whole and set(activation) == set(best.nodes)
    usual = Usual(trials.moves, best.timeline) if same else None
    return Chosen(after, work, order, activation, landing, clock, usual, tried)


def _without(world: Survey, judgement: Judgement, landing: Landing) -> Judgement:
    lost = landing.homeless
    pods = {
        name: tuple(places.judged(world, p, lost[p.pod.uid], landing) if p.pod.uid in lost else p for p in on)
        for name, on in judgement.pods.items()
    }
    return replace(judgement, pods=pods)


def _ordered(
    world: Survey, work: Work, best: Trial, needs: Mapping[str, tuple[str, ...]]
) -> tuple[Order, tuple[str, ...]]:
    begun_s = {span.node: span.start_s for span in best.timeline.nodes}
    activation = tuple(node for node in (*best.nodes, *best.refused) if node in work.tasks)
    begun = sorted(activation, key=lambda node: begun_s.get(node, inf))
    generation = generations(begun, {n: [x for x in needs.get(n, ()) if x in work.tasks] for n in begun})
    waves = gates(world, activation, best.gates)
    order = arrange(
        work.tasks,
        work.per_round,
        activation,
        waves or generation,
        generation,
        gated=bool(waves),
        as_given=best.name == GIVEN,
    )
    return order, activation


def _used_up(judgement: Judgement, order: Order) -> Judgement:
    refused = {task.pod.uid: judgement.budgets[limit].budget for task, limit in order.refused}
    pods = {
        name: tuple(used_up(p, refused[p.pod.uid]) if p.pod.uid in refused else p for p in on)
        for name, on in judgement.pods.items()
    }
    return replace(judgement, pods=pods, used_up=judgement.used_up | {budget.key for budget in refused.values()})
