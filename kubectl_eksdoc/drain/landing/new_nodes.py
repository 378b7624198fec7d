"""Nodes that are not there yet: copies of those that are, which come empty but for their DaemonSets' pods."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy
from kubectl_eksdoc.model.nodes import HOSTNAME, UNSCHEDULABLE_TAINT, Node, Taint
from kubectl_eksdoc.model.placing import CPU, MEMORY, Requests

_PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/disrupt", "ToBeDeleted")
"""How taints begin that a node has for a time only: a new one comes without."""

_OWN_LABELS = frozenset({HOSTNAME, "alpha.eksctl.io/instance-id"})
"""Labels that no two nodes share."""

_CORDON = Taint(UNSCHEDULABLE_TAINT, "", "NoSchedule")


def copy(node: Node, suffix: str) -> Node:
    """A new node like `node`, free of what passes: cordons, conditions, somebody's drain."""
    name = f"{node.name} ({suffix})"
    labels = {**node.labels, HOSTNAME: name}
    taints = tuple(t for t in node.taints if not t.key.startswith(_PASSING_TAINTS))
    return replace(node, name=name, uid=name, labels=labels, unschedulable=False, taints=taints)


def cordoned(node: Node) -> Node:
    """The same node, taking no new pods."""
    return replace(node, unschedulable=True, taints=(*node.taints, _CORDON))


def one_of_each(nodes: Iterable[Node]) -> list[Node]:
    """One node of each group, type, zone and size, the one with the newest kubelet first."""
    found: dict[object, Node] = {}
    for node in nodes:
        found.setdefault((_group(node), node.instance_type, node.zone, node.allocatable.get(CPU)), node)
    return sorted(found.values(), key=lambda n: (n.kubelet is None, _newest_first(n), n.name))


def surged(targets: Sequence[Node], count: int) -> tuple[tuple[Node, Node], ...]:
    """`count` new nodes, each with the one of `targets` it is like: of each group, type and zone about its share.

    One more leaves those before it as they are.
    """
    alike = sorted(targets, key=lambda n: (n.group, n.instance_type, n.zone))
    chosen = [alike[int(_spread(i) * len(alike))] for i in range(1, count + 1)] if alike else []
    return tuple((copy(node, f"surge {i}"), node) for i, node in enumerate(chosen, 1))


def _spread(i: int) -> float:
    """From 0 to 1, each far from those before it (J. G. van der Corput): 1/2, 1/4, 3/4, 1/8 …"""
    spread, step = 0.0, 0.5
    while i:
        spread += step * (i & 1)
        step /= 2
        i >>= 1
    return spread


def _group(node: Node) -> object:
    """What nodes have in common that one of them shows: their group, or without one what they are labelled with."""
    return node.group or frozenset((k, v) for k, v in node.labels.items() if k not in _OWN_LABELS)


def _newest_first(node: Node) -> tuple[int, int]:
    return (-node.kubelet.major, -node.kubelet.minor) if node.kubelet is not None else (0, 0)


# Nodes by how empty they are, which is how the scheduler prefers them (NodeResourcesFit, LeastAllocated).


LOOKED_AT = 8
"""So many of the emptiest nodes are looked at in order; of the others any that fits is taken."""


class EmptiestNodes:
    """Some nodes, the emptiest first. A node's place is brought up to date when its turn comes."""

    __slots__ = ("_most", "entries")

    def __init__(self, seats: Iterable[NodeOccupancy]) -> None:
        self.entries = [_entry(seat) for seat in seats]
        heapq.heapify(self.entries)
        self._most: list[tuple[int, int, int]] | None = None  # cpu, memory and ephemeral storage: see `look`

    def settle(self) -> None:
        """Bring all nodes to their places: some may have more room than they had."""
        self._most = None
        # In order, which is a heap, too, and always the same one.
        self.entries = sorted(_entry(seat) for _, _, seat, _, _ in self.entries)

    def add(self, seat: NodeOccupancy) -> None:
        """One node more, or one that has more room than it had."""
        self._most = None
        heapq.heappush(self.entries, _entry(seat))

    def take(self, asked: Requests, thorough: bool) -> NodeOccupancy | None:
        """Take the room for it on the emptiest node that has it: the one at the top, as a rule. None: see `first`.

        Placing calls this more often than anything else, so the steps of `NodeRoom` stand here.
        """
        if self._most is not None and self.is_too_large(asked):
            return None
        heap, asks_cpu, asks_memory = self.entries, asked.cpu, asked.memory
        while heap:
            key, name, seat, per_cpu, per_memory = heap[0]
            room = seat.room
            has_cpu, has_memory = room.cpu, room.memory
            cpu, memory = per_cpu * has_cpu, per_memory * has_memory
            now = -(cpu if cpu < memory else memory)
            if now > key:
                heapq.heapreplace(heap, (now, name, seat, per_cpu, per_memory))
                continue
            plain = not (asked.ephemeral or asked.others)
            if plain and asks_cpu <= has_cpu and asks_memory <= has_memory and room.pods > 0:
                room.cpu, room.memory = has_cpu - asks_cpu, has_memory - asks_memory
                room.pods -= 1
                return seat
            found = seat if room.fits(asked) else self.first(fitting(asked), thorough)
            if found is not None:
                found.room.take(asked)
            return found
        return None

    def first(self, fits: Callable[[NodeOccupancy], bool], thorough: bool = True) -> NodeOccupancy | None:
        """The emptiest node that `fits`; if not `thorough`, only of the few that are emptiest."""
        heap = self.entries
        passed: list[NodeEntry] = []
        found = None
        while heap:
            key, name, seat, per_cpu, per_memory = heap[0]
            cpu, memory = per_cpu * seat.room.cpu, per_memory * seat.room.memory
            now = -(cpu if cpu < memory else memory)
            if now > key:
                heapq.heapreplace(heap, (now, name, seat, per_cpu, per_memory))
                continue
            if fits(seat):
                found = seat
                break
            passed.append(heapq.heappop(heap))
            if len(passed) == LOOKED_AT:
                if thorough:
                    found = next((entry[2] for entry in heap if fits(entry[2])), None)
                break
        for entry in passed:
            heapq.heappush(heap, entry)
        return found

    def look(self) -> None:
        """Remember the most that any node has left: until one is added, or `settle`, room only shrinks."""
        rooms = [entry[2].room for entry in self.entries]
        left = {(max(0, r.cpu), max(0, r.memory), max(0, r.ephemeral)) for r in rooms if r.pods > 0}
        most: list[tuple[int, int, int]] = []
        for each in sorted(left, reverse=True):
            if _exceeds(*each, most):
                most.append(each)
        self._most = most

    def forget(self) -> None:
        """Undo `look`: there is more room again."""
        self._most = None

    def is_too_large(self, asked: Requests) -> bool:
        """Whether no node had room for it at the last `look`, not even if nothing else were in the way."""
        return self._most is not None and _exceeds(asked.cpu, asked.memory, asked.ephemeral, self._most)


def fitting(asked: Requests) -> Callable[[NodeOccupancy], bool]:
    """Whether a node has room for it: `NodeRoom.fits` without a step in between, for most pods ask for nothing
    unusual."""
    if asked.others:
        return lambda seat: seat.room.fits(asked)
    cpu, memory, ephemeral = asked.cpu, asked.memory, asked.ephemeral

    def fits(seat: NodeOccupancy) -> bool:
        room = seat.room
        return (
            room.pods > 0
            and (cpu <= room.cpu or not cpu)
            and (memory <= room.memory or not memory)
            and (ephemeral <= room.ephemeral or not ephemeral)
        )

    return fits


def _exceeds(cpu: int, memory: int, ephemeral: int, most: Iterable[tuple[int, int, int]]) -> bool:
    """Whether it is more than each of `most`, which have the largest cpu first, has of something."""
    for has_cpu, has_memory, has_ephemeral in most:
        if has_cpu < cpu:
            break  # and so have all after it
        if has_memory >= memory and has_ephemeral >= ephemeral:
            return False
    return True


NodeEntry = tuple[float, str, NodeOccupancy, float, float]
"""The share of a node that is left, of what it has least of, negated; its name, and it; one over what it has at all,
of cpu and of memory."""


def _entry(seat: NodeOccupancy) -> NodeEntry:
    room = seat.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    per_cpu, per_memory = 1 / has_cpu if has_cpu else 0.0, 1 / has_memory if has_memory else 0.0
    return -min(per_cpu * room.cpu, per_memory * room.memory), seat.node.name, seat, per_cpu, per_memory
