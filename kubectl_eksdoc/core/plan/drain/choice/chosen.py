"""From verdicts to the plan's order: the best order that was found, with what it leaves out, and its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from kubectl_eksdoc.core.plan.drain.choice.choosing import GIVEN, Tried, best_of
from kubectl_eksdoc.core.plan.drain.choice.trial import Trials, gates
from kubectl_eksdoc.core.plan.drain.duration.clock import Clock
from kubectl_eksdoc.core.plan.drain.duration.estimate import Usual
from kubectl_eksdoc.core.plan.drain.landing import places
from kubectl_eksdoc.core.plan.drain.landing.reserving import Ground, Landing
from kubectl_eksdoc.core.plan.drain.order.rounds import Order, Waves, arrange
from kubectl_eksdoc.core.plan.drain.order.tasks import Work, work_of
from kubectl_eksdoc.core.plan.drain.order.waves import generations
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.judging import Judgement, used_up


@dataclass(frozen=True, slots=True)
class Chosen:
    """The verdicts after ordering and landing, and what was chosen. `activation` is the order in which nodes are
    begun, `begun_s` when in the usual run; `usual` is that run, None where exactly this has not been simulated.
    `ground` holds what is reserved."""

    judgement: Judgement
    work: Work
    order: Order
    activation: tuple[str, ...]
    begun_s: Mapping[str, float]
    landing: Landing
    clock: Clock
    usual: Usual | None
    tried: tuple[Tried, ...]
    ground: Ground


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
        after = without_homeless(world, judgement, landing) if landing.homeless else judgement
        work = work_of(world, after) if landing.homeless else work
        begun_s = {span.node: span.start_s for span in best.timeline.nodes}
        activation = tuple(node for node in (*best.nodes, *best.refused) if node in work.tasks)
        waves = waves_of(world, activation, begun_s, landing.needs, best.gates)
        order = arrange(work.tasks, work.per_round, activation, waves, as_given=best.name == GIVEN)
        if not order.refused:
            break
        # Others may have had their places in the successors of the nodes that are left out now: all begins anew.
        judgement = _used_up(judgement, order)
    strict = any(task.late or task.for_good for given in work.tasks.values() for task in given)
    # What was refused, or is left on a node in part, was in the run that was tried.
    whole = not best.timeline.stuck and all(len(work.tasks[n]) == len(trials.moves[n]) for n in activation)
    same = not (strict or landing.homeless) and whole and set(activation) == set(best.nodes)
    usual = Usual(trials.moves, best.timeline) if same else None
    return Chosen(after, work, order, activation, begun_s, landing, clock, usual, tried, trials.ground)


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
    lost = landing.homeless
    pods = {
        name: tuple(places.judged(world, p, lost[p.pod.uid], landing) if p.pod.uid in lost else p for p in on)
        for name, on in judgement.pods.items()
    }
    return replace(judgement, pods=pods)


def _used_up(judgement: Judgement, order: Order) -> Judgement:
    """What no round can take is blocked by a budget that is used up for good."""
    refused = {task.pod.uid: judgement.budgets[limit].budget for task, limit in order.refused}
    pods = {
        name: tuple(used_up(p, refused[p.pod.uid]) if p.pod.uid in refused else p for p in on)
        for name, on in judgement.pods.items()
    }
    return replace(judgement, pods=pods, used_up=judgement.used_up | {budget.key for budget in refused.values()})
