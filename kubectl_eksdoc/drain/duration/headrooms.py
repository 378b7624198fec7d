"""The headroom of the slowest budgets in the run that takes the p50: how many disruptions each allows, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubectl_eksdoc.drain.course import BudgetCourse, headroom, status_writes
from kubectl_eksdoc.drain.duration.clock import LAG_S
from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.survey import DrainContext
from kubectl_eksdoc.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.drain.verdicts.filters import restarted
from kubectl_eksdoc.kubernetes.budgets import Computed, recompute

MOST_LINES = 8
"""Budgets of which it is computed: those with the most rounds."""

Line = tuple[tuple[float, int], ...]
"""(second, disruptions allowed from then on), the first at 0 s."""


def headrooms(world: DrainContext, budgets: Mapping[str, JudgedBudget], estimate: Estimate | None) -> dict[str, Line]:
    """By budget, over the run of `estimate`; none where no run comes to its end."""
    watched = [found for judged in slowest(budgets.values()) if (found := _watched(world, judged)) is not None]
    if not watched or estimate is None:
        return {}
    # A rollout takes nothing away, and starts one pod more: that the budget allows more then is used by nobody.
    uids = {pod.uid for each in watched for pod in each.pods if restarted(world, pod) is None}
    written = status_writes(watched, [moved for moved in estimate.moves if moved.uid in uids], LAG_S)
    return {key: headroom(writes) for key, writes in written.items()}


def slowest(budgets: Iterable[JudgedBudget]) -> list[JudgedBudget]:
    """Those whose pods cannot all go at once, most rounds first."""
    serial = [judged for judged in budgets if judged.verdict is BudgetVerdict.SERIAL]
    return sorted(serial, key=lambda judged: (-judged.rounds, judged.budget.key))[:MOST_LINES]


def _watched(world: DrainContext, judged: JudgedBudget) -> BudgetCourse | None:
    """None where the controller's numbers are not known, or the plan assumes that it allows more than it does."""
    pods = world.guards.pods(judged.budget)
    start = recompute(judged.budget, pods, world.scales, world.now)
    if not isinstance(start, Computed) or start.status.allowed < judged.per_round:
        return None
    return BudgetCourse(judged.budget, pods, start)
