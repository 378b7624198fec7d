"""The headroom of the slowest budgets over the usual run: how many disruptions each allows, and from when on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.duration.estimate import MANY_MOVES, moves_of, terms_of
from kubectl_eksdoc.core.plan.drain.duration.timing import learn
from kubectl_eksdoc.core.plan.drain.order.rounds import Order
from kubectl_eksdoc.core.plan.drain.outcome import BudgetVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.core.rules.budgets import Computed, recompute
from kubectl_eksdoc.core.sim.budget_statuses import Watched, headroom, status_writes
from kubectl_eksdoc.core.sim.drain import Moved, simulate

MOST_LINES = 8
"""Budgets of which it is computed: those with the most rounds."""

Line = tuple[tuple[float, int], ...]
"""(second, disruptions allowed from then on), the first at 0 s."""


def headrooms(world: Survey, order: Order, budgets: Mapping[str, JudgedBudget]) -> dict[str, Line]:
    """By budget; none where the run does not come to its end, or is so large that running it again takes long."""
    watched = [found for judged in slowest(budgets.values()) if (found := _watched(world, judged)) is not None]
    moves = _usual_run(world, order, budgets) if watched else ()
    if not moves:
        return {}
    written = status_writes(watched, moves, terms_of(world.policy, order, budgets).lag_s)
    return {key: headroom(writes) for key, writes in written.items()}


def slowest(budgets: Iterable[JudgedBudget]) -> list[JudgedBudget]:
    """Those whose pods cannot all go at once, most rounds first."""
    serial = [judged for judged in budgets if judged.verdict is BudgetVerdict.SERIAL]
    return sorted(serial, key=lambda judged: (-judged.rounds, judged.budget.key))[:MOST_LINES]


def _watched(world: Survey, judged: JudgedBudget) -> Watched | None:
    """None where the controller's numbers are not known, or the plan assumes that it allows more than it does."""
    pods = world.guards.pods(judged.budget)
    start = recompute(judged.budget, pods, world.scales, world.now)
    if not isinstance(start, Computed) or start.status.allowed < judged.per_round:
        return None
    return Watched(judged.budget, pods, start)


def _usual_run(world: Survey, order: Order, budgets: Mapping[str, JudgedBudget]) -> tuple[Moved, ...]:
    """The run whose length is the usual estimate, once more: the estimate keeps its nodes and not its pods."""
    if len(order.bookings) > MANY_MOVES:
        return ()
    times = learn(world.cluster.pods, lambda pod: _workload(world, pod))
    run = simulate(moves_of(world, order, times, slow=False), terms_of(world.policy, order, budgets))
    return () if run.stuck else run.moves


def _workload(world: Survey, pod: Pod) -> str:
    top = world.top_of(pod)
    if top is not None:
        return top.uid
    return pod.owner.uid if pod.owner is not None else ""
