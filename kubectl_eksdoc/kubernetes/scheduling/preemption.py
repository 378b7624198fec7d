"""Preemption: which pods of lower priority the scheduler deletes for a pod that fits nowhere
(plugins/defaultpreemption).

Modeled, of Kubernetes v1.36: the victims on one node (SelectVictimsOnNode), which of them violate their budgets
(filterPodsWithPDBViolation), and the choice of the node (pickOneNodeForPreemption). Budgets affect the choice of
victims, but do not protect the pods. Not modeled: nodes that the scheduler does not try (in large clusters it tries a
tenth of them, starting at a random one), pods nominated for a node, extenders, pod groups. The time a pod was scheduled
counts as its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod

from .occupancy import Occupancy
from .pod_affinity import PodClass

BudgetLookup = Callable[[Pod], Iterable[Budget]]
"""The budgets in a pod's namespace that select it."""

_MIN_PRIORITY = -(2**31)
"""Priorities are 32-bit numbers; counted from the lowest one, two pods always weigh more than one."""

_LONG_AGO = datetime.min.replace(tzinfo=timezone.utc)


class Occupant(NamedTuple):
    """A pod on a node, as it was put on the `Occupancy`."""

    pod: Pod
    kind: PodClass


class Preemptor(NamedTuple):
    """A pod that fits on no node."""

    kind: PodClass
    priority: int


@frozen
class PreemptionVictims:
    """The pods to delete from `node`, the most important first; `violating` are those whose budget allows no further
    disruption."""

    node: str
    pods: tuple[Pod, ...]
    violating: frozenset[str]  # UIDs


def preemption_may_help(occupancy: Occupancy, preemptor: Preemptor, node: str) -> bool:
    """Whether the node refuses the pod, and removing other pods could change that (code Unschedulable)."""
    refusal = occupancy.refusal(preemptor.kind, node)
    return refusal is not None and refusal.resolvable


def victims_on(
    occupancy: Occupancy, preemptor: Preemptor, node: str, occupants: Iterable[Occupant], budgets_of: BudgetLookup
) -> PreemptionVictims | None:
    """The minimal set of pods to delete, given all `occupants` of `node`; None if deleting all of lower priority does
    not help.

    All pods of lower priority are removed, then put back one by one if the pod still fits: first those that would
    violate their budgets, the most important first. The occupancy is the same afterwards.
    """
    kind, priority = preemptor
    lower_priority = sorted((o for o in occupants if o.pod.priority < priority), key=_importance_key)
    if not lower_priority:
        return None
    for each in lower_priority:
        occupancy.take(each.kind, node)
    if occupancy.refusal(kind, node) is not None:
        _put_back(occupancy, node, lower_priority)
        return None
    violating = _budget_violations([each.pod for each in lower_priority], budgets_of)
    victims = []
    for each in sorted(
        lower_priority, key=lambda o: o.pod.uid not in violating
    ):  # within each group the most important first
        occupancy.put(each.kind, node)
        if occupancy.refusal(kind, node) is not None:
            occupancy.take(each.kind, node)
            victims.append(each)
    _put_back(occupancy, node, victims)
    pods = tuple(each.pod for each in sorted(victims, key=_importance_key))
    return PreemptionVictims(node, pods, violating & {pod.uid for pod in pods})


def _put_back(occupancy: Occupancy, node: str, occupants: Iterable[Occupant]) -> None:
    for each in occupants:
        occupancy.put(each.kind, node)


def pick_victims(candidates: Sequence[PreemptionVictims]) -> PreemptionVictims | None:
    """The node that the scheduler picks: fewest victims that violate budgets, then the lowest highest priority, the
    smallest sum of priorities, the fewest victims, and the latest start; among equals the first candidate."""
    return min((each for each in candidates if each.pods), key=_cost, default=None)


def _cost(victims: PreemptionVictims) -> tuple[int, int, int, int, float]:
    highest = victims.pods[0].priority
    earliest_start = min(_started_at(pod) for pod in victims.pods if pod.priority == highest)
    return (
        len(victims.violating),
        highest,
        sum(pod.priority - _MIN_PRIORITY for pod in victims.pods),
        len(victims.pods),
        -(earliest_start - _LONG_AGO).total_seconds(),
    )


def _importance_key(occupant: Occupant) -> tuple[int, datetime]:
    return (-occupant.pod.priority, _started_at(occupant.pod))


def _started_at(pod: Pod) -> datetime:
    return pod.scheduled_at or pod.created_at or _LONG_AGO


def _budget_violations(pods: Iterable[Pod], budgets_of: BudgetLookup) -> frozenset[str]:
    """UIDs of those `pods`, in this order, for which a budget that selects them allows no further disruption.

    Unlike in an eviction, a pod without labels and a budget with an empty selector match nothing; a pod whose eviction
    was already granted (disruptedPods) is not counted.
    """
    allowed: dict[str, int] = {}
    violating = set()
    for pod in pods:
        for budget in budgets_of(pod) if pod.labels else ():
            if budget.selector.requirements and pod.name not in budget.disrupted:
                allowed[budget.key] = allowed.get(budget.key, budget.status.allowed) - 1
                if allowed[budget.key] < 0:
                    violating.add(pod.uid)
    return frozenset(violating)
