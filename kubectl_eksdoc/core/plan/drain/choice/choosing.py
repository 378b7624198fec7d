"""The search for an order: what is likely best first, then the others, as long as the effort allows and it may help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from kubectl_eksdoc.core.model.placement import CPU, MEMORY
from kubectl_eksdoc.core.plan.drain.choice.trial import Trial, Trials
from kubectl_eksdoc.core.plan.drain.duration.bounds import bounds
from kubectl_eksdoc.core.plan.drain.duration.clock import terms_of
from kubectl_eksdoc.core.plan.drain.duration.node_times import timed
from kubectl_eksdoc.core.plan.drain.order.soonest import soonest_first
from kubectl_eksdoc.core.plan.drain.order.strategies import BY_NAME, Trait, given, varied
from kubectl_eksdoc.core.plan.drain.order.tasks import Work
from kubectl_eksdoc.core.plan.drain.policy import AUTO
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.sim.drain import Move, hold_s

SOONEST = "soonest"
GIVEN = "given"
RESTARTS = 32
"""Variations of the best order that are tried when the named ones have been."""

ROOM_IS_SHORT = ("light", "efficiency", "chain", "zone", "name")
"""In which order the named orders are tried when there is not room for all nodes."""

GOOD_ENOUGH = 1.02
"""An order this close to the lower bound is not improved upon."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One order that was tried: seconds until it is through, and how many nodes it could not drain."""

    name: str
    makespan_s: float
    not_drained: int


def best_of(world: Survey, work: Work, trials: Trials) -> tuple[Trial, tuple[Tried, ...]]:
    """The best order that was found, and all that were tried, the best first."""
    tried: list[Trial] = []
    spent = 0
    search = _Search(world, work, trials.moves)
    orders = search.orders(tried)
    while not tried or (spent + work.evictions <= world.policy.effort and not search.good_enough(tried[-1])):
        name, order = next(orders, ("", ()))
        if not name:
            break
        tried.append(trials.run(name, order))
        spent += max(work.evictions, 1)
    tried.sort(key=lambda trial: trial.score)  # of equal ones the first tried stays first
    return tried[0], tuple(Tried(t.name, t.timeline.makespan_s, len(t.refused)) for t in tried)


class _Search:
    def __init__(self, world: Survey, work: Work, moves: Mapping[str, Sequence[Move]]) -> None:
        self._world = world
        self._work = work
        self._moves = moves
        self._floor_s: float | None = None

    def orders(self, tried: Sequence[Trial]) -> Iterator[tuple[str, Sequence[str]]]:
        """Names and orders, as long as there are any; `tried` grows meanwhile."""
        policy = self._world.policy
        if policy.order_nodes:
            yield GIVEN, given(policy.order_nodes)(self._traits())
            return
        if policy.order not in (AUTO, SOONEST):
            yield policy.order, BY_NAME[policy.order](self._traits())
            return
        yield SOONEST, self._for_good_last(soonest_first(self._work.tasks, self._work.per_round))
        if policy.order == SOONEST:
            return
        traits = self._traits()
        for name in ROOM_IS_SHORT if tried[0].refused else BY_NAME:
            yield name, self._for_good_last(BY_NAME[name](traits))
        for seed in range(1, RESTARTS + 1):
            best = min(tried, key=lambda trial: trial.score)
            order = varied((*best.nodes, *best.refused), seed)(traits)
            yield f"{best.name.partition('~')[0]}~{seed}", self._for_good_last(order)

    def _for_good_last(self, order: list[str]) -> list[str]:
        """What uses a budget up for good must leave the others theirs, in later waves, too."""
        return sorted(order, key=lambda node: any(task.for_good for task in self._work.tasks[node]))

    def good_enough(self, trial: Trial) -> bool:
        """Whether no other order can be much better."""
        if trial.refused or trial.timeline.stuck:
            return False
        if self._floor_s is None:
            terms = terms_of(self._world, self._work.per_round, {})
            found = bounds([(node, self._moves[node]) for node in trial.nodes], terms, keep=1)
            self._floor_s = found[0].seconds if found else 0.0
        return trial.timeline.makespan_s <= GOOD_ENOUGH * self._floor_s

    def _traits(self) -> list[Trait]:
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
                Trait(
                    node.name,
                    len(moves),
                    max(chains, default=0.0),
                    sum(chains),
                    timed(node.name, moves, terms).seconds,
                    load,
                    node.zone,
                    node.created_at,
                )
            )
        return found
