"""The evictions as the plan shows them: every position with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.plan.drain.manners import EVICTED, Means
from kubectl_eksdoc.core.plan.drain.order.rounds import Booking, Order
from kubectl_eksdoc.core.plan.drain.order.tasks import NEEDED, SOFT
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.core.rules.replacement import Replacement


def evictions(
    world: Survey, order: Order, budgets: Mapping[str, JudgedBudget], places: Mapping[str, str]
) -> tuple[Eviction, ...]:
    """The order as the plan shows it; `places` are the nodes reserved for replacements, by pod uid."""
    lets = {key: f"budget {key} lets {budget.per_round} go at once" for key, budget in budgets.items()}
    found = []
    for i, booking in enumerate(order.bookings, 1):
        task, node, number, turn, turns = booking
        pod, limits, _, late, after, tier, manner = task
        budget = ""
        for limit in limits:
            if limit in lets:
                budget = limit
                break
        plain = manner is EVICTED and not (late or tier or after is Replacement.NEVER)
        if budget and len(limits) == 1 and plain:
            reason = f"{lets[budget]}: {turn} of {turns}"  # most that have a budget
        else:
            reason = _reason(world, booking, lets.get(budget, ""))
        found.append(Eviction(i, number, pod, node, budget, reason, places.get(pod.uid, ""), limits, tier, manner))
    return tuple(found)


def _reason(world: Survey, booking: Booking, by_budget: str) -> str:
    """`by_budget`: how many its budget lets go at once, "" without one."""
    pod, task = booking.task.pod, booking.task
    parts = [f"may finish for up to {in_words(task.manner.waits_s)} first"] if task.manner.waits_s else []
    if task.manner.restarts is not None:
        parts.append(f"restart of Deployment {task.manner.restarts.name}: the new pod is Ready before this one stops")
    elif task.manner.means is Means.DELETION:
        parts.append("deleted past its budget, as --delete-past-budget says")
    elif task.manner.means is Means.PATIENCE:
        parts.append("never evicted: its Job would fail")
    elif pod.finished:
        parts.append("finished: nothing stops when it goes")
    elif pod.phase == "Pending":
        parts.append("not started yet: budgets are not asked")
    elif by_budget:
        parts.append(f"{by_budget}: {booking.turn} of {booking.turns}")
    elif world.budgets_of(pod):
        parts.append(f"not Ready: budget {world.budgets_of(pod)[0].key} lets it go uncounted")
    elif any(x.startswith(SOFT) for x in task.limits):
        parts.append(f"no budget guards it, --soft-budget does: {booking.turn} of {booking.turns}")
    else:
        parts.append("no budget guards it")
    parts += [f"one backend of {x.removeprefix(NEEDED)} at a time" for x in task.limits if x.startswith(NEEDED)]
    if task.late and booking.turns > 1:
        parts.append(f"holds lease {task.late}: after its standby")
    if task.after is Replacement.NEVER and not pod.finished and task.manner.means is not Means.PATIENCE:
        parts.append("nothing replaces it")
    if pod.system_critical:
        parts.append("system-critical: after the other pods of its node")
    return "; ".join(parts)
