"""Slow nodes of managed groups: EKS' own update of the group gives up on them, as they alone exceed its eviction
timeout.

The fastest possible update is assumed: it evicts all pods of a node at once, obeys budgets and no other limit of this
plan, gives each pod its own grace period, and has room for every replacement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from kubectl_eksdoc.amazon.amis import no_ami_reason
from kubectl_eksdoc.amazon.group_updates import DRAIN_TIMEOUT
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import format_duration

from ..orders import BACKEND, SOFT_BUDGET, NodeTasks
from ..outcome import SlowNode
from ..rounds import Task
from ..simulation import simulate
from ..timeline import DrainTerms, PodMove, ReservedPlacement, Timeline
from .bounds import Bound, BoundKind, bound_sort_key, domain_text
from .generations import BUDGET_LAG_S, EvictionTimes
from .node_times import MovesByNode, NodeTime, node_time
from .timing import stop_quantiles

_UPDATE_TIMEOUT_S = DRAIN_TIMEOUT.total_seconds()
_OWN_LIMIT_PREFIXES = (BACKEND, SOFT_BUDGET)
"""Prefixes of the limits that are not budgets: only this plan obeys them."""


def find_slow_nodes(pod_times: EvictionTimes, work: NodeTasks, drained_nodes: Iterable[str]) -> tuple[SlowNode, ...]:
    """Nodes of `drained_nodes` (names) of a managed group that an update can replace, and that alone take too long, the
    slowest first."""
    targets, cluster = pod_times.context.targets, pod_times.context.cluster
    images_without_ami = {image for image in {node.os_image for node in targets} if no_ami_reason((image,), cluster)}
    managed_nodes = {
        n.name: n for n in targets if n.owner is NodeOwner.MANAGED and n.os_image not in images_without_ami
    }
    terms = DrainTerms(slots=work.per_round, budget_lag_s=BUDGET_LAG_S)
    slow_found = []
    for name in drained_nodes:
        if name in managed_nodes and _may_be_slow(work.tasks[name], work):
            slow_node = _slow_node(pod_times, managed_nodes[name], work.tasks[name], terms)
            if slow_node is not None:
                slow_found.append(slow_node)
    return tuple(sorted(slow_found, key=lambda node: (-node.typical_s, -node.slow_s, node.node)))


def _may_be_slow(tasks: Sequence[Task], work: NodeTasks) -> bool:
    """A fast test: most nodes have neither a pod with such a long grace period nor two pods that take turns."""
    if max([task.pod.grace_seconds for task in tasks], default=0) >= _UPDATE_TIMEOUT_S:
        return True
    used_limits = [limit for task in tasks for limit in task.limits]
    if len(set(used_limits)) == len(used_limits):
        return False
    return any(number > work.per_round[limit] for limit, number in Counter(used_limits).items())


def _slow_node(pod_times: EvictionTimes, node: Node, tasks: Sequence[Task], terms: DrainTerms) -> SlowNode | None:
    moves = _update_moves(pod_times, tasks)
    slow_time = node_time(node.name, [move.with_slow_times for move in moves], terms)
    if slow_time.seconds < _UPDATE_TIMEOUT_S:
        return None
    typical_time = node_time(node.name, moves, terms)
    deciding = typical_time if typical_time.seconds >= _UPDATE_TIMEOUT_S else slow_time
    if deciding.limit:
        pods = tuple(task.pod.key for task in tasks if deciding.limit in task.limits)
        at_once = terms.slots[deciding.limit]
        return SlowNode(node.name, node.group, typical_time.seconds, slow_time.seconds, pods, deciding.limit, at_once)
    pod = _longest_task(tasks, deciding).pod
    return SlowNode(
        node.name,
        node.group,
        typical_time.seconds,
        slow_time.seconds,
        (pod.key,),
        grace_s=0 if pod.finished else pod.grace_seconds,
    )


def _update_moves(pod_times: EvictionTimes, tasks: Sequence[Task]) -> list[PodMove]:
    """The moves as the update makes them: no tiers, no user's grace period, no limits of this plan alone."""
    update_moves = []
    for task, move in zip(tasks, pod_times.moves(tasks), strict=True):
        stop_s, slow_stop_s = stop_quantiles(task.pod, task.pod.grace_seconds)
        limits = tuple(limit for limit in move.limits if not limit.startswith(_OWN_LIMIT_PREFIXES))
        update_moves.append(
            move._replace(critical=False, stop_s=stop_s, slow_stop_s=slow_stop_s, limits=limits, waits_s=0.0)
        )
    return update_moves


def _longest_task(tasks: Sequence[Task], timed_node: NodeTime) -> Task:
    pairs = zip(tasks, timed_node.jobs, strict=True)
    return max(pairs, key=lambda pair: pair[1].head + pair[1].tail)[0]


def slow_node_findings(slow_found: Iterable[SlowNode], drained_by_eks: bool = False) -> Iterator[Finding]:
    """One finding for each group: on which of its nodes its own update gives up, or may. `drained_by_eks`: that update
    is planned, so it fails there."""
    groups: dict[str, list[SlowNode]] = defaultdict(list)
    for node in slow_found:
        groups[node.group].append(node)
    for group, nodes in groups.items():
        certain_count = sum(node.is_certain for node in nodes)
        yield Finding.of(
            "node-slow/fails" if drained_by_eks and certain_count else "node-slow",
            Subject("NodeGroup", group),
            tuple(_node_line(node) for node in nodes),
            remedy=tuple(_remedies(nodes)),
            certain=certain_count > 0,
            count=certain_count or len(nodes),
            more=str(len(nodes) - certain_count) if 0 < certain_count < len(nodes) else "",
            duration=format_duration(_UPDATE_TIMEOUT_S),
            command=shell("kubectl", "eksdoc", "drain", "plan", f"--nodegroup={group}"),
        )


def _node_line(node: SlowNode) -> str:
    pace_text = "" if node.is_certain else " if its pods are slow"
    return f"node {node.node} takes at least {format_duration(int(node.seconds))} alone{pace_text}: {node.reason}"


def _remedies(nodes: Sequence[SlowNode]) -> Iterator[Remedy]:
    for budget in sorted({node.budget for node in nodes if node.budget}):
        yield Remedy.of("let-more-away", budget=budget)
    for pod in sorted({node.pods[0] for node in nodes if not node.budget}):
        yield Remedy.of("shorter-grace", pod=pod)


# Relaxation: the drain simulated again with one more unit of what limits it, to show what that would save.


@frozen
class RelaxedBound:
    """The same order simulated again with `bound` relaxed by one step; `change` describes the step.

    `saved_s` can be negative: a run that takes everything free at once may be slower with more (Graham's anomalies).
    """

    bound: Bound
    change: str
    makespan_s: float
    saved_s: float


def relax_bounds(
    nodes: MovesByNode,
    terms: DrainTerms,
    candidates: Iterable[Bound],
    max_count: int = 3,
    typical_timeline: Timeline | None = None,
    needs: Mapping[str, Sequence[str]] = MappingProxyType({}),
    regroup: Callable[[str], Mapping[str, int] | None] | None = None,
) -> tuple[RelaxedBound, ...]:
    """The time that one step would save for the `max_count` largest of `candidates` that can be relaxed: a simulation
    each, and one of the unchanged drain if its timeline is not given.

    Steps: one more slot, one more node at once, half the time between evictions, half as many waves. The order of
    `nodes` and their `needs` (see `ReservedPlacement`) are kept. Empty where the unchanged drain does not end; a step
    with which the drain does not end is left out. `regroup`: the waves with one more node of a domain at
    once, where there are waves.
    """
    steps = [
        (bound, *step)
        for bound in sorted(candidates, key=bound_sort_key)
        if (step := _relaxed_terms(bound, terms, regroup))
    ]
    if not steps:
        return ()
    typical_timeline = typical_timeline or simulate(nodes, terms, ReservedPlacement(needs))
    if typical_timeline.never_evicted:
        return ()
    results = []
    for bound, change, relaxed_terms in steps[:max_count]:
        relaxed_timeline = simulate(nodes, relaxed_terms, ReservedPlacement(needs), spans_only=True)
        if not relaxed_timeline.never_evicted:
            results.append(
                RelaxedBound(
                    bound,
                    change,
                    relaxed_timeline.makespan_s,
                    typical_timeline.makespan_s - relaxed_timeline.makespan_s,
                )
            )
    return tuple(results)


def _relaxed_terms(
    bound: Bound, terms: DrainTerms, regroup: Callable[[str], Mapping[str, int] | None] | None
) -> tuple[str, DrainTerms] | None:
    if bound.name is BoundKind.BUDGET_CHAIN:
        slots = terms.slots[bound.subject]
        return f"{bound.subject} {slots} → {slots + 1}", replace(terms, slots={**terms.slots, bound.subject: slots + 1})
    if bound.name is BoundKind.NODES_AT_ONCE:
        change = f"nodes at once{domain_text(bound.subject)} {bound.units} → {bound.units + 1}"
        if bound.subject in terms.nodes_at_once:
            return change, replace(terms, nodes_at_once={**terms.nodes_at_once, bound.subject: bound.units + 1})
        waves = regroup(bound.subject) if regroup is not None else None
        return (change, replace(terms, waves=waves)) if waves else None
    if bound.name is BoundKind.RATE:
        half_interval_s = terms.eviction_interval_s / 2
        return f"time between evictions {terms.eviction_interval_s:g} s → {half_interval_s:g} s", replace(
            terms, eviction_interval_s=half_interval_s
        )
    if bound.name is BoundKind.WAVES:
        wave_index = {wave: i for i, wave in enumerate(sorted(set(terms.waves.values())))}
        merged_waves = {node: wave_index[wave] // 2 for node, wave in terms.waves.items()}
        return f"waves {len(wave_index)} → {len(set(merged_waves.values()))}", replace(terms, waves=merged_waves)
    return None
