"""Simulated new nodes: copies of existing nodes, empty except for their DaemonSet pods."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy
from kubectl_eksdoc.model.nodes import HOSTNAME, UNSCHEDULABLE_TAINT, Node, Taint
from kubectl_eksdoc.model.placing import CPU, MEMORY, Requests

_PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/disrupt", "ToBeDeleted")
"""Prefixes of taints that a node has only temporarily: a new node has none of them."""

_OWN_LABELS = frozenset({HOSTNAME, "alpha.eksctl.io/instance-id"})
"""Labels that no two nodes share."""

_CORDON = Taint(UNSCHEDULABLE_TAINT, "", "NoSchedule")


def copy(node: Node, suffix: str) -> Node:
    """A new node like `node`, without temporary state: cordon, conditions, another client's drain."""
    name = f"{node.name} ({suffix})"
    labels = {**node.labels, HOSTNAME: name}
    taints = tuple(t for t in node.taints if not t.key.startswith(_PASSING_TAINTS))
    return replace(node, name=name, uid=name, labels=labels, unschedulable=False, taints=taints)


def cordoned(node: Node) -> Node:
    """The same node, taking no new pods."""
    return replace(node, unschedulable=True, taints=(*node.taints, _CORDON))


def one_of_each(nodes: Iterable[Node]) -> list[Node]:
    """One node of each group, instance type, zone and size, the one with the newest kubelet first."""
    found: dict[object, Node] = {}
    for node in nodes:
        found.setdefault((_group(node), node.instance_type, node.zone, node.allocatable.get(CPU)), node)
    return sorted(found.values(), key=lambda n: (n.kubelet is None, _newest_first(n), n.name))


def surged(targets: Sequence[Node], count: int) -> tuple[tuple[Node, Node], ...]:
    """`count` new nodes, each with the target it is a copy of: each group, type and zone gets about its share.

    A larger `count` keeps the earlier nodes as they are.
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
    """The common key of a group's nodes: their group's name, or without a group their labels."""
    return node.group or frozenset((k, v) for k, v in node.labels.items() if k not in _OWN_LABELS)


def _newest_first(node: Node) -> tuple[int, int]:
    return (-node.kubelet.major, -node.kubelet.minor) if node.kubelet is not None else (0, 0)


# Nodes sorted by free resources, as the scheduler prefers them (NodeResourcesFit, LeastAllocated).


LOOKED_AT = 8
"""This many of the emptiest nodes are tried in order; of the others any that fits is taken."""


class EmptiestNodes:
    """A set of nodes, the emptiest first, in two heaps. Nodes whose entry was updated since the last `reorder_filled`
    have a heap of their own, so that only few entries are checked when pods are removed again."""

    __slots__ = ("_most", "_moved", "_nodes")

    def __init__(self, seats: Iterable[NodeOccupancy]) -> None:
        self._nodes: list[_Entry] = []
        self._moved = [_entry(seat) for seat in seats]
        heapq.heapify(self._moved)
        self._most: list[tuple[int, int, int]] | None = None  # cpu, memory and ephemeral storage: see `remember_maxima`

    def settle(self) -> None:
        """Update the entries of all nodes: some may have more room than before."""
        self._most = None
        # A sorted list is a heap, and always the same one.
        self._nodes, self._moved = sorted(_entry(entry[2]) for entry in self._all()), []

    def refresh(self) -> None:
        """Update the entries of the nodes that were filled since the last time, and may have been emptied again."""
        for _, name, seat, per_cpu, per_memory in self._moved:
            cpu, memory = per_cpu * seat.room.cpu, per_memory * seat.room.memory
            heapq.heappush(self._nodes, (-(cpu if cpu < memory else memory), name, seat, per_cpu, per_memory))
        self._moved.clear()

    def add(self, seat: NodeOccupancy) -> None:
        """Add a node, or a node that has more room than before."""
        self._most = None
        heapq.heappush(self._nodes, _entry(seat))

    def take(self, asked: Requests, thorough: bool) -> NodeOccupancy | None:
        """Take the requested room on the emptiest node that has it, usually the one at the top. None: see `find`.

        Placement calls this more often than anything else, so the steps of `NodeRoom` are inlined here.
        """
        if self._most is not None and self.is_too_large(asked):
            return None
        heap, asks_cpu, asks_memory = self._emptiest(), asked.cpu, asked.memory
        if not heap:
            return None
        seat = heap[0][2]
        room = seat.room
        has_cpu, has_memory = room.cpu, room.memory
        plain = not (asked.ephemeral or asked.others)
        if plain and asks_cpu <= has_cpu and asks_memory <= has_memory and room.pods > 0:
            room.cpu, room.memory = has_cpu - asks_cpu, has_memory - asks_memory
            room.pods -= 1
            return seat
        found = seat if room.fits(asked) else self.first(fitting(asked), thorough)
        if found is not None:
            found.room.take(asked)
        return found

    def first(self, fits: Callable[[NodeOccupancy], bool], thorough: bool = True) -> NodeOccupancy | None:
        """The emptiest node for which `fits` is true; if not `thorough`, only among the few emptiest."""
        passed: list[_Entry] = []
        found = None
        while heap := self._emptiest():
            if fits(heap[0][2]):
                found = heap[0][2]
                break
            passed.append(heapq.heappop(heap))
            if len(passed) == LOOKED_AT:
                if thorough:
                    found = next((entry[2] for entry in self._all() if fits(entry[2])), None)
                break
        for entry in passed:
            heapq.heappush(self._moved, entry)
        return found

    def _emptiest(self) -> list[_Entry]:
        """The heap whose top is the emptiest node; empty if there is none."""
        nodes, moved = self._nodes, self._moved
        while True:
            heap = moved if moved and not (nodes and nodes[0] < moved[0]) else nodes
            if not heap:
                return heap
            key, name, seat, per_cpu, per_memory = heap[0]
            cpu, memory = per_cpu * seat.room.cpu, per_memory * seat.room.memory
            now = -(cpu if cpu < memory else memory)
            if now <= key:
                return heap
            if heap is moved:
                heapq.heapreplace(moved, (now, name, seat, per_cpu, per_memory))
            else:
                heapq.heappop(nodes)
                heapq.heappush(moved, (now, name, seat, per_cpu, per_memory))

    def _all(self) -> Iterator[_Entry]:
        return chain(self._moved, self._nodes)

    def look(self) -> None:
        """Remember the most free resources of any node: until a node is added, or `reorder_all`, free resources only
        shrink."""
        rooms = [entry[2].room for entry in self._all()]
        left = {(max(0, r.cpu), max(0, r.memory), max(0, r.ephemeral)) for r in rooms if r.pods > 0}
        most: list[tuple[int, int, int]] = []
        for each in sorted(left, reverse=True):
            if _exceeds(*each, most):
                most.append(each)
        self._most = most

    def forget(self) -> None:
        """Undo `remember_maxima`: there is more room again."""
        self._most = None

    def is_too_large(self, asked: Requests) -> bool:
        """Whether no node had room for the requests at the last `remember_maxima`, by resources alone."""
        return self._most is not None and _exceeds(asked.cpu, asked.memory, asked.ephemeral, self._most)


def fitting(asked: Requests) -> Callable[[NodeOccupancy], bool]:
    """A test whether a node has room for these requests: `NodeRoom.fits` without a call in between, as most pods
    request only cpu, memory and ephemeral storage."""
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
    """Whether the request is more than each of `maxima` has of some resource. `maxima` are sorted by cpu, largest
    first."""
    for has_cpu, has_memory, has_ephemeral in most:
        if has_cpu < cpu:
            break  # and so do all after it
        if has_memory >= memory and has_ephemeral >= ephemeral:
            return False
    return True


_Entry = tuple[float, str, NodeOccupancy, float, float]
"""The free share of a node's scarcest resource, negated; its name; the node; 1 / allocatable cpu; 1 / allocatable
memory."""


def _entry(seat: NodeOccupancy) -> _Entry:
    room = seat.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    per_cpu, per_memory = 1 / has_cpu if has_cpu else 0.0, 1 / has_memory if has_memory else 0.0
    return -min(per_cpu * room.cpu, per_memory * room.memory), seat.node.name, seat, per_cpu, per_memory
