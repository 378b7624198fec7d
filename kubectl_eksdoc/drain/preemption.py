"""Preemption: the pods that the scheduler would preempt for pods without a place; one step, with bounded cost.

Only existing nodes that are no targets are examined, with the pods that run on them and the pods for which places on
them are reserved. Each class of pods is examined as if it were alone; what happens to preempted pods is not examined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import PodClass
from kubectl_eksdoc.kubernetes.scheduling.preemption import (
    Occupant,
    PreemptionVictims,
    Preemptor,
    pick_victims,
    preemption_may_help,
    victims_on,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.nodes import Pod, pod_count

from .nodes import DrainContext
from .room import PlacementRoom
from .rule_results import MAX_EVIDENCE, evidence_line

MAX_POD_CLASSES = 50
"""Classes of pods that are examined, those of the highest priority first."""

MAX_NODES_PER_CLASS = 200
"""Nodes that are tried for each class. kube-scheduler itself stops at 100 or a tenth of all, whichever is more."""

PlacedPod = tuple[Pod, PodClass, str]
"""A pod, the class of its replacement, and the node where that has a place reserved."""


@frozen
class PreemptionCase:
    """`pods`, all alike, find no place; for the first of them `victims` would be preempted.

    `is_exhaustive`: every node was tried, so the scheduler, if it does the same, finds no better node.
    """

    pods: tuple[Pod, ...]
    victims: PreemptionVictims
    is_exhaustive: bool = True


@frozen
class Preemption:
    """`not_examined`: pods without a place that may preempt others and were not examined completely, because there were
    too many classes of them, or too many nodes to try."""

    cases: tuple[PreemptionCase, ...] = ()
    not_examined: tuple[Pod, ...] = ()

    def merge(self, other: Preemption) -> Preemption:
        """The cases of both."""
        return Preemption(self.cases + other.cases, self.not_examined + other.not_examined)


NO_PREEMPTION = Preemption()


def find_preemption(
    context: DrainContext, room: PlacementRoom, unplaced: Iterable[tuple[Pod, PodClass]], placed: Iterable[PlacedPod]
) -> Preemption:
    """The preemptions by `unplaced` pods, which find no place in `room`.

    Pods whose placement is uncertain are skipped: another finding reports them.
    """
    groups: dict[tuple[int, int], list[tuple[Pod, PodClass]]] = defaultdict(list)
    for pod, pod_class in unplaced:
        if pod.preempts:
            groups[id(pod_class), pod.priority].append((pod, pod_class))
    groups = {key: group for key, group in groups.items() if not room.unknown_reasons(group[0][1])}
    if not groups:
        return NO_PREEMPTION
    nodes = _PreemptionNodes(context, room, placed)
    cases: list[PreemptionCase] = []
    not_examined: list[Pod] = []
    examined_count = 0
    for (_, priority), group in sorted(groups.items(), key=lambda item: -item[0][1]):
        if priority <= nodes.lowest_priority:
            break  # no pod has a lower priority than this class, or than any later one
        pods = tuple(pod for pod, _ in group)
        if examined_count == MAX_POD_CLASSES:
            not_examined += pods
            continue
        examined_count += 1
        victims, is_exhaustive = nodes.find_victims(Preemptor(group[0][1], priority))
        if victims is not None:
            cases.append(PreemptionCase(pods, victims, is_exhaustive))
        elif not is_exhaustive:
            not_examined += pods
    return Preemption(tuple(cases), tuple(not_examined))


class _PreemptionNodes:
    """The nodes that are no targets, their pods, and the lowest priority on each."""

    def __init__(self, context: DrainContext, room: PlacementRoom, placed: Iterable[PlacedPod]) -> None:
        self._context = context
        self._room = room
        self._occupants = _occupants_by_node(context, room, placed)
        self._lowest_by_node = {
            name: min(occupant.pod.priority for occupant in occupants) for name, occupants in self._occupants.items()
        }
        self.lowest_priority = min(self._lowest_by_node.values(), default=2**31)

    def find_victims(self, preemptor: Preemptor) -> tuple[PreemptionVictims | None, bool]:
        """The preempted pods, None where preemption does not help; and whether all nodes were tried."""
        occupancy = self._room.occupancy
        candidates: list[PreemptionVictims] = []
        tried_count = 0
        for name, lowest_priority in self._lowest_by_node.items():
            if lowest_priority >= preemptor.priority or not preemption_may_help(occupancy, preemptor, name):
                continue
            if tried_count == MAX_NODES_PER_CLASS:
                return pick_victims(candidates), False
            tried_count += 1
            node_victims = victims_on(occupancy, preemptor, name, self._occupants[name], self._budgets_of)
            if node_victims is not None:
                candidates.append(node_victims)
        return pick_victims(candidates), True

    def _budgets_of(self, pod: Pod) -> Sequence[Budget]:
        return self._context.pod_budgets.for_pod(pod)


def _occupants_by_node(
    context: DrainContext, room: PlacementRoom, placed: Iterable[PlacedPod]
) -> Mapping[str, list[Occupant]]:
    targets = {node.name for node in context.targets}
    occupants: dict[str, list[Occupant]] = {n.name: [] for n in context.cluster.nodes if n.name not in targets}
    for pod in context.cluster.pods:
        if pod.node in occupants and not pod.finished:
            occupants[pod.node].append(Occupant(pod, room.classes_of(pod)[0]))
    for pod, pod_class, name in placed:
        if name in occupants:
            occupants[name].append(Occupant(pod, pod_class))
    return {name: node_occupants for name, node_occupants in occupants.items() if node_occupants}


# Findings about preempted pods: by which pods, which pods, and what their budgets allow.


def preemption_findings(context: DrainContext, result: Preemption, evicted_pods: Iterable[Pod]) -> Iterator[Finding]:
    """`evicted_pods`: the pods that this plan evicts. A preemption by these fails, others are remarks."""
    evicted_uids = {pod.uid for pod in evicted_pods} if result.cases else set()
    for case in result.cases:
        finding = _preemption_finding(context, case, evicted_uids)
        if finding is not None:
            yield finding
    if result.not_examined:
        yield _not_examined_finding(result.not_examined)


def _preemption_finding(context: DrainContext, case: PreemptionCase, evicted_uids: Collection[str]) -> Finding | None:
    victims = [pod for pod in case.victims.pods if not pod.deleting]  # terminating pods are waited for
    if not victims:
        return None
    first_pod = case.pods[0]
    is_evicted = any(pod.uid in evicted_uids for pod in case.pods)
    beyond_count = sum(pod.uid in case.victims.violating for pod in victims)
    count = len(case.pods)
    more_text = f", and {count - 1} more like it" if count > 1 else ""
    limit_note = (
        ()
        if case.is_exhaustive
        else (f"only the first {MAX_NODES_PER_CLASS} nodes were tried: the scheduler may choose another",)
    )
    victim_lines = tuple(_victim_line(context, case, pod, evicted_uids) for pod in victims)
    return Finding.of(
        "placement-preempts/evicted" if is_evicted else "placement-preempts/stays",
        context.owner_subject(first_pod),
        (evidence_line(first_pod) + more_text, *limit_note, *victim_lines),
        priority=_priority_text(context, first_pod),
        pods=pod_count(len(victims)),
        beyond=beyond_count,
    )


def _victim_line(context: DrainContext, case: PreemptionCase, pod: Pod, evicted_uids: Collection[str]) -> str:
    """``deletes pod shop/a on new-0: priority 0, beyond budget shop/a, which allows 0``."""
    node = case.victims.node
    pod_text = f"the replacement of pod {pod.key}" if pod.node != node else f"pod {pod.key}"
    return f"deletes {pod_text} on {node}: priority {_priority_text(context, pod)}, {_budgets_text(context, case, pod)}"


def _budgets_text(context: DrainContext, case: PreemptionCase, pod: Pod) -> str:
    if context.cluster.not_read(kinds.BUDGETS):
        return "and its budgets were not read"
    pod_budgets = context.pod_budgets.for_pod(pod)
    if not pod_budgets:
        return "no budget"
    allowances = " and ".join(f"{budget.key}, which allows {budget.status.allowed} now" for budget in pod_budgets)
    return f"{'beyond' if pod.uid in case.victims.violating else 'within'} budget {allowances}"


def _priority_text(context: DrainContext, pod: Pod) -> str:
    """The pod's priority, with the name of its PriorityClass if only one has this value."""
    classes = [each.name for each in context.cluster.priority_classes if each.value == pod.priority]
    return f"{pod.priority} ({classes[0]})" if len(classes) == 1 else f"{pod.priority}"


def _not_examined_finding(pods: tuple[Pod, ...]) -> Finding:
    return Finding.of(
        "placement-preempts/not-examined",
        Subject("Cluster", "cluster"),
        tuple(evidence_line(pod) for pod in pods[:MAX_EVIDENCE]),
        pods_count=len(pods),
        most_kinds=MAX_POD_CLASSES,
        most_nodes=MAX_NODES_PER_CLASS,
    )
