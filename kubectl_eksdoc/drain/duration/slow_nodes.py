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

from kubectl_eksdoc.amazon.amis import without_ami
from kubectl_eksdoc.amazon.group_updates import PATIENCE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import duration

from ..course import DrainTerms, Move, Reserved, Timeline
from ..orders import NEEDED, SOFT, NodeTasks
from ..outcome import SlowNode
from ..rounds import Task
from ..simulation import simulate
from .bounds import Bound, Scarce, domain_words, largest_first
from .generations import LAG_S, EvictionTimes
from .node_times import Drained, Nodes, timed
from .timing import stop_of

_PATIENCE_S = PATIENCE.total_seconds()
_OURS = (NEEDED, SOFT)
"""Prefixes of the limits that are not budgets: only this plan obeys them."""


def slow_nodes(clock: EvictionTimes, work: NodeTasks, drained: Iterable[str]) -> tuple[SlowNode, ...]:
    """Nodes of `drained_nodes` (names) of a managed group that an update can replace, and that alone take too long, the
    slowest first."""
    targets, cluster = clock.world.targets, clock.world.cluster
    ended = {image for image in {node.os_image for node in targets} if without_ami((image,), cluster)}
    managed = {n.name: n for n in targets if n.owner is NodeOwner.MANAGED and n.os_image not in ended}
    terms = DrainTerms(slots=work.per_round, lag_s=LAG_S)
    found = []
    for name in drained:
        if name in managed and _may_be_slow(work.tasks[name], work):
            slow = _slow(clock, managed[name], work.tasks[name], terms)
            if slow is not None:
                found.append(slow)
    return tuple(sorted(found, key=lambda node: (-node.usual_s, -node.slow_s, node.node)))


def _may_be_slow(tasks: Sequence[Task], work: NodeTasks) -> bool:
    """A fast test: most nodes have neither a pod with such a long grace period nor two pods that take turns."""
    if max([task.pod.grace_seconds for task in tasks], default=0) >= _PATIENCE_S:
        return True
    used = [limit for task in tasks for limit in task.limits]
    if len(set(used)) == len(used):
        return False
    return any(number > work.per_round[limit] for limit, number in Counter(used).items())


def _slow(clock: EvictionTimes, node: Node, tasks: Sequence[Task], terms: DrainTerms) -> SlowNode | None:
    moves = _moves(clock, tasks)
    slow = timed(node.name, [move.slowed for move in moves], terms)
    if slow.seconds < _PATIENCE_S:
        return None
    usual = timed(node.name, moves, terms)
    decides = usual if usual.seconds >= _PATIENCE_S else slow
    if decides.limit:
        pods = tuple(task.pod.key for task in tasks if decides.limit in task.limits)
        at_once = terms.slots[decides.limit]
        return SlowNode(node.name, node.group, usual.seconds, slow.seconds, pods, decides.limit, at_once)
    pod = _longest(tasks, decides).pod
    return SlowNode(
        node.name, node.group, usual.seconds, slow.seconds, (pod.key,), grace_s=0 if pod.finished else pod.grace_seconds
    )


def _moves(clock: EvictionTimes, tasks: Sequence[Task]) -> list[Move]:
    """The moves as the update makes them: no tiers, no user's grace period, no limits of this plan alone."""
    made = []
    for task, move in zip(tasks, clock.moves(tasks), strict=True):
        stop_s, slow_stop_s = stop_of(task.pod, task.pod.grace_seconds)
        limits = tuple(limit for limit in move.limits if not limit.startswith(_OURS))
        made.append(move._replace(critical=False, stop_s=stop_s, slow_stop_s=slow_stop_s, limits=limits, waits_s=0.0))
    return made


def _longest(tasks: Sequence[Task], drained: Drained) -> Task:
    pairs = zip(tasks, drained.jobs, strict=True)
    return max(pairs, key=lambda pair: pair[1].head + pair[1].tail)[0]


def findings(slow: Iterable[SlowNode], by_eks: bool = False) -> Iterator[Finding]:
    """One finding for each group: on which of its nodes its own update gives up, or may. `drained_by_eks`: that update
    is planned, so it fails there."""
    groups: dict[str, list[SlowNode]] = defaultdict(list)
    for node in slow:
        groups[node.group].append(node)
    for group, nodes in groups.items():
        certain = sum(node.certain for node in nodes)
        yield Finding.of(
            "node-slow/fails" if by_eks and certain else "node-slow",
            Subject("NodeGroup", group),
            tuple(_line(node) for node in nodes),
            remedy=tuple(_remedies(nodes)),
            certain=certain > 0,
            count=certain or len(nodes),
            more=str(len(nodes) - certain) if 0 < certain < len(nodes) else "",
            duration=duration(_PATIENCE_S),
            command=shell("kubectl", "eksdoc", "drain", "plan", f"--nodegroup={group}"),
        )


def _line(node: SlowNode) -> str:
    pace = "" if node.certain else " if its pods are slow"
    return f"node {node.node} takes at least {duration(int(node.seconds))} alone{pace}: {node.why}"


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


def relaxations(
    nodes: Nodes,
    terms: DrainTerms,
    found: Iterable[Bound],
    most: int = 3,
    before: Timeline | None = None,
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
    steps = [(bound, *step) for bound in sorted(found, key=largest_first) if (step := _step(bound, terms, regroup))]
    if not steps:
        return ()
    before = before or simulate(nodes, terms, Reserved(needs))
    if before.stuck:
        return ()
    tried = []
    for bound, change, relaxed in steps[:most]:
        after = simulate(nodes, relaxed, Reserved(needs), brief=True)
        if not after.stuck:
            tried.append(RelaxedBound(bound, change, after.makespan_s, before.makespan_s - after.makespan_s))
    return tuple(tried)


def _step(
    bound: Bound, terms: DrainTerms, regroup: Callable[[str], Mapping[str, int] | None] | None
) -> tuple[str, DrainTerms] | None:
    if bound.name is Scarce.BUDGET_CHAIN:
        slots = terms.slots[bound.subject]
        return f"{bound.subject} {slots} → {slots + 1}", replace(terms, slots={**terms.slots, bound.subject: slots + 1})
    if bound.name is Scarce.NODES_AT_ONCE:
        change = f"nodes at once{domain_words(bound.subject)} {bound.units} → {bound.units + 1}"
        if bound.subject in terms.at_once:
            return change, replace(terms, at_once={**terms.at_once, bound.subject: bound.units + 1})
        waves = regroup(bound.subject) if regroup is not None else None
        return (change, replace(terms, waves=waves)) if waves else None
    if bound.name is Scarce.RATE:
        half = terms.between_s / 2
        return f"time between evictions {terms.between_s:g} s → {half:g} s", replace(terms, between_s=half)
    if bound.name is Scarce.WAVES:
        place = {wave: i for i, wave in enumerate(sorted(set(terms.waves.values())))}
        merged = {node: place[wave] // 2 for node, wave in terms.waves.items()}
        return f"waves {len(place)} → {len(set(merged.values()))}", replace(terms, waves=merged)
    return None
