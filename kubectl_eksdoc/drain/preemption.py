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
    Preemptor,
    Victims,
    chosen,
    may_help,
    victims_on,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.nodes import Pod, pod_count

from .nodes import DrainContext
from .room import PlacementRoom
from .rule_results import MAX_EVIDENCE, where

MOST_KINDS = 50
"""Classes of pods that are examined, those of the highest priority first."""

MOST_NODES = 200
"""Nodes that are tried for each class. kube-scheduler itself stops at 100 or a tenth of all, whichever is more."""

Placed = tuple[Pod, PodClass, str]
"""A pod, the class of its replacement, and the node where that has a place reserved."""


@frozen
class PushOut:
    """`pods`, all alike, find no place; for the first of them `victims` would be preempted.

    `is_exhaustive`: every node was tried, so the scheduler, if it does the same, finds no better node.
    """

    pods: tuple[Pod, ...]
    victims: Victims
    all_tried: bool = True


@frozen
class Preemption:
    """`not_examined`: pods without a place that may preempt others and were not examined completely, because there were
    too many classes of them, or too many nodes to try."""

    push_outs: tuple[PushOut, ...] = ()
    not_examined: tuple[Pod, ...] = ()

    def and_of(self, other: Preemption) -> Preemption:
        """The cases of both."""
        return Preemption(self.push_outs + other.push_outs, self.not_examined + other.not_examined)


NOTHING = Preemption()


def preemption(
    world: DrainContext, room: PlacementRoom, lost: Iterable[tuple[Pod, PodClass]], placed: Iterable[Placed]
) -> Preemption:
    """The preemptions by `unplaced` pods, which find no place in `room`.

    Pods whose placement is uncertain are skipped: another finding reports them.
    """
    alike: dict[tuple[int, int], list[tuple[Pod, PodClass]]] = defaultdict(list)
    for pod, kind in lost:
        if pod.preempts:
            alike[id(kind), pod.priority].append((pod, kind))
    alike = {like: same for like, same in alike.items() if not room.unknown(same[0][1])}
    if not alike:
        return NOTHING
    ground = _Ground(world, room, placed)
    push_outs: list[PushOut] = []
    not_examined: list[Pod] = []
    examined = 0
    for (_, priority), same in sorted(alike.items(), key=lambda item: -item[0][1]):
        if priority <= ground.lowest:
            break  # no pod has a lower priority than this class, or than any later one
        pods = tuple(pod for pod, _ in same)
        if examined == MOST_KINDS:
            not_examined += pods
            continue
        examined += 1
        victims, all_tried = ground.victims(Preemptor(same[0][1], priority))
        if victims is not None:
            push_outs.append(PushOut(pods, victims, all_tried))
        elif not all_tried:
            not_examined += pods
    return Preemption(tuple(push_outs), tuple(not_examined))


class _Ground:
    """The nodes that are no targets, their pods, and the lowest priority on each."""

    def __init__(self, world: DrainContext, room: PlacementRoom, placed: Iterable[Placed]) -> None:
        self._world = world
        self._room = room
        self._on = _occupants(world, room, placed)
        self._lowest = {name: min(o.pod.priority for o in on) for name, on in self._on.items()}
        self.lowest = min(self._lowest.values(), default=2**31)

    def victims(self, preemptor: Preemptor) -> tuple[Victims | None, bool]:
        """The preempted pods, None where preemption does not help; and whether all nodes were tried."""
        occupancy = self._room.occupancy
        found: list[Victims] = []
        tried = 0
        for name, lowest in self._lowest.items():
            if lowest >= preemptor.priority or not may_help(occupancy, preemptor, name):
                continue
            if tried == MOST_NODES:
                return chosen(found), False
            tried += 1
            victims = victims_on(occupancy, preemptor, name, self._on[name], self._budgets_of)
            if victims is not None:
                found.append(victims)
        return chosen(found), True

    def _budgets_of(self, pod: Pod) -> Sequence[Budget]:
        return self._world.guards.of(pod)


def _occupants(world: DrainContext, room: PlacementRoom, placed: Iterable[Placed]) -> Mapping[str, list[Occupant]]:
    targets = {node.name for node in world.targets}
    on: dict[str, list[Occupant]] = {n.name: [] for n in world.cluster.nodes if n.name not in targets}
    for pod in world.cluster.pods:
        if pod.node in on and not pod.finished:
            on[pod.node].append(Occupant(pod, room.classes_of(pod)[0]))
    for pod, kind, name in placed:
        if name in on:
            on[name].append(Occupant(pod, kind))
    return {name: found for name, found in on.items() if found}


# Findings about preempted pods: by which pods, which pods, and what their budgets allow.


def findings(world: DrainContext, found: Preemption, evictions: Iterable[Pod]) -> Iterator[Finding]:
    """`evicted_pods`: the pods that this plan evicts. A preemption by these fails, others are remarks."""
    evicted = {pod.uid for pod in evictions} if found.push_outs else set()
    for push_out in found.push_outs:
        finding = _finding(world, push_out, evicted)
        if finding is not None:
            yield finding
    if found.not_examined:
        yield _not_examined(found.not_examined)


def _finding(world: DrainContext, push_out: PushOut, evicted: Collection[str]) -> Finding | None:
    victims = [pod for pod in push_out.victims.pods if not pod.deleting]  # terminating pods are waited for
    if not victims:
        return None
    first = push_out.pods[0]
    goes = any(pod.uid in evicted for pod in push_out.pods)
    beyond = sum(pod.uid in push_out.victims.beyond for pod in victims)
    count = len(push_out.pods)
    more = f", and {count - 1} more like it" if count > 1 else ""
    tried = (
        ()
        if push_out.all_tried
        else (f"only the first {MOST_NODES} nodes were tried: the scheduler may choose another",)
    )
    lines = tuple(_line(world, push_out, pod, evicted) for pod in victims)
    return Finding.of(
        "placement-preempts/evicted" if goes else "placement-preempts/stays",
        world.owner_subject(first),
        (where(first) + more, *tried, *lines),
        priority=_named(world, first),
        pods=pod_count(len(victims)),
        beyond=beyond,
    )


def _line(world: DrainContext, push_out: PushOut, pod: Pod, evicted: Collection[str]) -> str:
    """``deletes pod shop/a on new-0: priority 0, beyond budget shop/a, which allows 0``."""
    node = push_out.victims.node
    what = f"the replacement of pod {pod.key}" if pod.node != node else f"pod {pod.key}"
    return f"deletes {what} on {node}: priority {_named(world, pod)}, {_budgets(world, push_out, pod)}"


def _budgets(world: DrainContext, push_out: PushOut, pod: Pod) -> str:
    if world.cluster.unread(kinds.BUDGETS):
        return "and its budgets were not read"
    guarded = world.guards.of(pod)
    if not guarded:
        return "no budget"
    said = " and ".join(f"{b.key}, which allows {b.status.allowed} now" for b in guarded)
    return f"{'beyond' if pod.uid in push_out.victims.beyond else 'within'} budget {said}"


def _named(world: DrainContext, pod: Pod) -> str:
    """The pod's priority, with the name of its PriorityClass if only one has this value."""
    classes = [each.name for each in world.cluster.priority_classes if each.value == pod.priority]
    return f"{pod.priority} ({classes[0]})" if len(classes) == 1 else f"{pod.priority}"


def _not_examined(pods: tuple[Pod, ...]) -> Finding:
    return Finding.of(
        "placement-preempts/not-examined",
        Subject("Cluster", "cluster"),
        tuple(where(pod) for pod in pods[:MAX_EVIDENCE]),
        pods_count=len(pods),
        most_kinds=MOST_KINDS,
        most_nodes=MOST_NODES,
    )
