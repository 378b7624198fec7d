"""Whom the scheduler would push out for pods that find no place: the first step of preemption, with its cost bounded.

Only nodes that are there and are no targets are examined, with the pods that run on them and those for which places
on them are reserved. Each kind of pod is examined as if it were alone in asking; what becomes of those pushed out is
not followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.landing.room import Room
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.rules.scheduling.pod_classes import PodClass
from kubectl_eksdoc.core.rules.scheduling.preemption import (
    Occupant,
    Preemptor,
    Victims,
    chosen,
    may_help,
    victims_on,
)

MOST_KINDS = 50
"""Kinds of pods that are examined, those of the highest priority first."""

MOST_NODES = 200
"""Nodes that are tried for each of them. kube-scheduler itself stops at 100 or a tenth of all, whichever is more."""

Placed = tuple[Pod, PodClass, str]
"""A pod, the class of its replacement, and the node where that has a place reserved."""


@dataclass(frozen=True, slots=True)
class PushOut:
    """`pods`, all alike, find no place; for the first of them `victims` would have to go.

    `all_tried`: every node was tried, so that the scheduler, if it does the same, takes no better one.
    """

    pods: tuple[Pod, ...]
    victims: Victims
    all_tried: bool = True


@dataclass(frozen=True, slots=True)
class Preemption:
    """`not_examined` are pods without a place that may push others out, and of which it was not told whether they
    can: there were too many kinds of them, or too many nodes to try."""

    push_outs: tuple[PushOut, ...] = ()
    not_examined: tuple[Pod, ...] = ()


NOTHING = Preemption()


def preemption(world: Survey, room: Room, lost: Iterable[tuple[Pod, PodClass]], placed: Iterable[Placed]) -> Preemption:
    """What comes of `lost`, which find no place in `room`, if the scheduler may delete others for them.

    Pods about which something that decides is not known are passed over: that is said of their landing.
    """
    alike: dict[tuple[int, int], list[tuple[Pod, PodClass]]] = defaultdict(list)
    for pod, kind in lost:
        if pod.preempts and not room.unknown(kind):
            alike[id(kind), pod.priority].append((pod, kind))
    if not alike:
        return NOTHING
    ground = _Ground(world, room, placed)
    push_outs: list[PushOut] = []
    not_examined: list[Pod] = []
    examined = 0
    for (_, priority), same in sorted(alike.items(), key=lambda item: -item[0][1]):
        if priority <= ground.lowest:
            break  # nobody is below it, or below any that comes after
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
    """The open nodes with the pods on them, and the lowest priority on each."""

    def __init__(self, world: Survey, room: Room, placed: Iterable[Placed]) -> None:
        self._world = world
        self._room = room
        self._on = _occupants(world, room, placed)
        self._lowest = {name: min(o.pod.priority for o in on) for name, on in self._on.items()}
        self.lowest = min(self._lowest.values(), default=2**31)

    def victims(self, preemptor: Preemptor) -> tuple[Victims | None, bool]:
        """Who goes, None where that does not help; and whether all nodes were tried."""
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


def _occupants(world: Survey, room: Room, placed: Iterable[Placed]) -> Mapping[str, list[Occupant]]:
    targets = {node.name for node in world.targets}
    on: dict[str, list[Occupant]] = {n.name: [] for n in world.cluster.nodes if n.name not in targets}
    for pod in world.cluster.pods:
        if pod.node in on and not pod.finished:
            on[pod.node].append(Occupant(pod, room.classes_of(pod)[0]))
    for pod, kind, name in placed:
        if name in on:
            on[name].append(Occupant(pod, kind))
    return {name: found for name, found in on.items() if found}
