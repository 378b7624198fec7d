"""The search for an order: what is likely best first, then the others, as long as the effort allows and it may help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf

from kubectl_eksdoc.core.model.placement import CPU, MEMORY
from kubectl_eksdoc.core.plan.drain.choice.chosen import Chosen, Score, Tried
from kubectl_eksdoc.core.plan.drain.choice.trial import Trial, Trials
from kubectl_eksdoc.core.plan.drain.duration.bounds import bounds
from kubectl_eksdoc.core.plan.drain.duration.clock import terms_of
from kubectl_eksdoc.core.plan.drain.duration.estimate import GOOD_ENOUGH
from kubectl_eksdoc.core.plan.drain.duration.node_times import timed
from kubectl_eksdoc.core.plan.drain.order.soonest import soonest_first
from kubectl_eksdoc.core.plan.drain.order.strategies import BY_NAME, Trait, given, varied
from kubectl_eksdoc.core.plan.drain.policy import AUTO
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.sim.course import hold_s

SOONEST = "soonest"
GIVEN = "given"
RESTARTS = 32
"""Variations of the best order that are tried when the named ones have been."""

ROOM_IS_SHORT = ("light", "efficiency", "name", "zone", "chain")
"""In which order the named orders are tried when there is not room for all nodes at once."""


def best_of(
    world: Survey, trials: Trials, finish: Callable[[Trial], Chosen], in_vain: Callable[[Chosen], bool]
) -> tuple[Chosen, tuple[Tried, ...]]:
    """The best of what comes of the orders that are tried, and all of them, the best first.

    `finish` makes of a trial all that comes of it; what the ground holds at the end is what the best has reserved.
    `in_vain`: the best so far shows already that everything has to be chosen again.
    """
    search = _Search(world, trials)
    made: list[tuple[Score, int, Chosen, Trial]] = []
    evictions, spent, cut = max(trials.work.evictions, 1), 0, False
    for name, order in search.orders():
        trial = trials.run(name, order)
        found = finish(trial)
        made.append((found.score(len(trials.work.tasks)), len(made), found, trial))
        made.sort(key=lambda each: each[:2])  # of equal ones the first tried stays first
        search.best = made[0][3]
        spent += evictions
        cut = not search.forced and spent + evictions > world.policy.effort
        if cut or search.good_enough(made[0][2]) or (made[0][2] is found and in_vain(found)):
            break
    _, _, best, trial = made[0]
    if trials.latest is not trial:
        trials.run(trial.name, trial.order)
    told = tuple(Tried(found.name, score.makespan_s, score.not_drained) for score, _, found, _ in made)
    return replace(best, cut=cut), told


class _Search:
    """Which order to try next. `best` is the best so far."""

    def __init__(self, world: Survey, trials: Trials) -> None:
        self._world = world
        self._work = trials.work
        self._moves = trials.moves
        self._floor_s: float | None = None
        self.best: Trial | None = None

    @property
    def forced(self) -> bool:
        """Whether the user says which order is taken."""
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
        """What uses a budget up for good must leave the others theirs, in later waves, too."""
        return sorted(order, key=lambda node: any(task.for_good for task in self._work.tasks[node]))

    def good_enough(self, chosen: Chosen) -> bool:
        """Whether no other order can be much better."""
        if chosen.usual is None or len(chosen.activation) < len(self._work.tasks):
            return False
        if self._floor_s is None:
            terms = terms_of(self._world, self._work.per_round, {})
            found = bounds([(node, chosen.usual.moves[node]) for node in chosen.activation], terms, keep=1)
            self._floor_s = found[0].seconds if found else 0.0
        return chosen.usual.timeline.makespan_s <= GOOD_ENOUGH * self._floor_s

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
