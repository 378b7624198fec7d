"""Which pods of lower priority the scheduler deletes for one that fits nowhere (plugins/defaultpreemption).

Modelled, of Kubernetes v1.36: the victims on one node (SelectVictimsOnNode), which of them go beyond their budgets
(filterPodsWithPDBViolation), and the choice of the node (pickOneNodeForPreemption). A budget is asked for a choice of
victims, and does not protect the pods. Not modelled: nodes the scheduler does not try (in large clusters it tries a
tenth of them from a random one on), pods nominated for a node, extenders, pod groups. A pod's start is when it was
scheduled.
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

BudgetsOf = Callable[[Pod], Iterable[Budget]]
"""The budgets of its namespace that select a pod."""

_LOWEST = -(2**31)
"""Priorities are 32 bits wide; counted from the lowest one, two pods weigh more than one."""

_LONG_AGO = datetime.min.replace(tzinfo=timezone.utc)


class Occupant(NamedTuple):
    """A pod on a node, as it was put on the `Occupancy`."""

    pod: Pod
    kind: PodClass


class Preemptor(NamedTuple):
    """A pod that fits nowhere."""

    kind: PodClass
    priority: int


@frozen
class Victims:
    """Who must go from `node`, the most important first; `beyond` are those whose budget allows none more of them."""

    node: str
    pods: tuple[Pod, ...]
    beyond: frozenset[str]  # uids


def may_help(occupancy: Occupancy, preemptor: Preemptor, node: str) -> bool:
    """Whether the pod is refused by the node, and other pods going could change that (code Unschedulable)."""
    refusal = occupancy.refusal(preemptor.kind, node)
    return refusal is not None and refusal.resolvable


def victims_on(
    occupancy: Occupancy, preemptor: Preemptor, node: str, occupants: Iterable[Occupant], budgets_of: BudgetsOf
) -> Victims | None:
    """The least that must go, given all `occupants` of `node`; None where it does not help if all lower ones go.

    All lower ones are taken away, then given back one by one where the pod still fits: first those that would go
    beyond their budgets, the most important first. The occupancy is the same afterwards.
    """
    kind, priority = preemptor
    lower = sorted((o for o in occupants if o.pod.priority < priority), key=_important_first)
    if not lower:
        return None
    for each in lower:
        occupancy.take(each.kind, node)
    if occupancy.refusal(kind, node) is not None:
        _put_back(occupancy, node, lower)
        return None
    beyond = _beyond_their_budgets([each.pod for each in lower], budgets_of)
    gone = []
    for each in sorted(lower, key=lambda o: o.pod.uid not in beyond):  # otherwise still the most important first
        occupancy.put(each.kind, node)
        if occupancy.refusal(kind, node) is not None:
            occupancy.take(each.kind, node)
            gone.append(each)
    _put_back(occupancy, node, gone)
    pods = tuple(each.pod for each in sorted(gone, key=_important_first))
    return Victims(node, pods, beyond & {pod.uid for pod in pods})


def _put_back(occupancy: Occupancy, node: str, occupants: Iterable[Occupant]) -> None:
    for each in occupants:
        occupancy.put(each.kind, node)


def chosen(found: Sequence[Victims]) -> Victims | None:
    """The node that is taken: fewest victims beyond their budgets, then the lowest highest priority, the smallest sum
    of priorities, the fewest victims, and those that began last; of equal ones the first of `found`."""
    return min((each for each in found if each.pods), key=_cost, default=None)


def _cost(victims: Victims) -> tuple[int, int, int, int, float]:
    highest = victims.pods[0].priority
    began = min(_start(pod) for pod in victims.pods if pod.priority == highest)
    return (
        len(victims.beyond),
        highest,
        sum(pod.priority - _LOWEST for pod in victims.pods),
        len(victims.pods),
        -(began - _LONG_AGO).total_seconds(),
    )


def _important_first(occupant: Occupant) -> tuple[int, datetime]:
    return (-occupant.pod.priority, _start(occupant.pod))


def _start(pod: Pod) -> datetime:
    return pod.scheduled_at or pod.created_at or _LONG_AGO


def _beyond_their_budgets(pods: Iterable[Pod], budgets_of: BudgetsOf) -> frozenset[str]:
    """Those of `pods`, in this order, for which a budget that selects them allows none more.

    Unlike for an eviction, a pod without labels and a budget with an empty selector match nothing; a pod whose
    eviction was granted already (disruptedPods) uses up nothing.
    """
    left: dict[str, int] = {}
    beyond = set()
    for pod in pods:
        for budget in budgets_of(pod) if pod.labels else ():
            if budget.selector.requirements and pod.name not in budget.disrupted:
                left[budget.key] = left.get(budget.key, budget.status.allowed) - 1
                if left[budget.key] < 0:
                    beyond.add(pod.uid)
    return frozenset(beyond)
