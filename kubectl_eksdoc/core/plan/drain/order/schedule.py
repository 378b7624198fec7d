"""From verdicts to evictions: what can go becomes tasks, tasks get rounds, and every position its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.budgets import Amount
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.landing import places
from kubectl_eksdoc.core.plan.drain.landing.reserving import Landing, land
from kubectl_eksdoc.core.plan.drain.order.rounds import Booking, Order, Task, arrange
from kubectl_eksdoc.core.plan.drain.outcome import Eviction, PodVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.core.plan.drain.verdicts.judging import Judgement, used_up
from kubectl_eksdoc.core.rules.budgets import scaled
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement

_NEEDED = "needed: "
"""Prefix of limits that are not budgets: one backend a round of what replacements need."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The verdicts after ordering and landing, the order, and what landing came to."""

    judgement: Judgement
    order: Order
    landing: Landing


def schedule(world: Survey, judgement: Judgement) -> Schedule:
    """Order what can go, and reserve places for it.

    A pod without a place, or for which its budget is used up for good, blocks its node: then we order again.
    """
    judgement, order = _ordered(world, judgement)
    by_node: dict[str, list[Pod]] = {node: [] for node in order.nodes}
    for booking in order.bookings:
        by_node[booking.node].append(booking.task.pod)
    landing = land(
        world, list(by_node.items()), not world.policy.partial, lambda node: places.may_come_by_itself(world, node)
    )
    lost = landing.homeless
    if lost:
        pods = {
            name: tuple(places.judged(world, p, lost[p.pod.uid], landing) if p.pod.uid in lost else p for p in on)
            for name, on in judgement.pods.items()
        }
        judgement, order = _ordered(world, replace(judgement, pods=pods))
    return Schedule(judgement, order, landing)


def _ordered(world: Survey, judgement: Judgement) -> tuple[Judgement, Order]:
    per_round = {key: b.per_round for key, b in judgement.budgets.items() if b.per_round}
    while True:
        tasks = {
            name: [_task(world, p.pod, judgement.budgets) for p in on if p.verdict is PodVerdict.EVICT]
            for name, on in judgement.pods.items()
            if judgement.complete(name, world.policy.partial)
        }
        limits = {limit for given in tasks.values() for task in given for limit in task.limits}
        amount = world.policy.max_unavailable
        at_once = None if amount is None else nodes_at_once(amount, len(tasks))
        order = arrange(tasks, {limit: per_round.get(limit, 1) for limit in limits}, at_once)
        if not order.refused:
            return judgement, order
        refused = {task.pod.uid: judgement.budgets[limit].budget for task, limit in order.refused}
        pods = {
            name: tuple(used_up(p, refused[p.pod.uid]) if p.pod.uid in refused else p for p in on)
            for name, on in judgement.pods.items()
        }
        used = judgement.used_up | {budget.key for budget in refused.values()}
        judgement = replace(judgement, pods=pods, used_up=used)


def nodes_at_once(amount: Amount, nodes: int) -> int:
    """A percentage is rounded down, as EKS does for a node group, and at least one node goes."""
    return max(1, scaled(amount, nodes, round_up=False))


def _task(world: Survey, pod: Pod, budgets: Mapping[str, JudgedBudget]) -> Task:
    guarded = [b.key for b in world.budgets_of(pod) if budgets[b.key].counts(pod)]
    limits = guarded + [_NEEDED + b.what for b in world.needed.get(pod.uid, ())]
    lease = world.leases_held.get(pod.key, "") if limits else ""
    for_good = guarded if replacement(pod) is Replacement.NEVER else []
    return Task(pod, tuple(limits), tuple(for_good), late=lease)


def evictions(world: Survey, order: Order, budgets: Mapping[str, JudgedBudget]) -> tuple[Eviction, ...]:
    """The order as the plan shows it."""
    return tuple(
        Eviction(
            position=i,
            round=booking.round,
            pod=booking.task.pod,
            node=booking.node,
            budget=next((x for x in booking.task.limits if x in budgets), ""),
            reason=_reason(world, booking, budgets),
        )
        for i, booking in enumerate(order.bookings, 1)
    )


def _reason(world: Survey, booking: Booking, budgets: Mapping[str, JudgedBudget]) -> str:
    pod, task = booking.task.pod, booking.task
    parts = []
    budget = next((x for x in task.limits if x in budgets), "")
    if pod.finished:
        parts.append("finished: nothing stops when it goes")
    elif pod.phase == "Pending":
        parts.append("not started yet: budgets are not asked")
    elif budget:
        parts.append(f"budget {budget} lets {budgets[budget].per_round} go at once: {booking.turn} of {booking.turns}")
    elif world.budgets_of(pod):
        parts.append(f"not Ready: budget {world.budgets_of(pod)[0].key} lets it go uncounted")
    else:
        parts.append("no budget guards it")
    parts += [f"one backend of {x.removeprefix(_NEEDED)} at a time" for x in task.limits if x.startswith(_NEEDED)]
    if task.late and booking.turns > 1:
        parts.append(f"holds lease {task.late}: after its standby")
    if replacement(pod) is Replacement.NEVER and not pod.finished:
        parts.append("nothing replaces it")
    if pod.system_critical:
        parts.append("system-critical: after the other pods of its node")
    return "; ".join(parts)
