"""Simulated new nodes: copies of existing nodes, empty except for their DaemonSet pods."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy
from kubectl_eksdoc.model.nodes import HOSTNAME, UNSCHEDULABLE_TAINT, Node, Taint
from kubectl_eksdoc.model.placement import CPU, MEMORY, ResourceRequests

_TEMPORARY_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/disrupt", "ToBeDeleted")
"""Prefixes of taints that a node has only temporarily: a new node has none of them."""

_UNIQUE_LABELS = frozenset({HOSTNAME, "alpha.eksctl.io/instance-id"})
"""Labels that no two nodes share."""

_CORDON_TAINT = Taint(UNSCHEDULABLE_TAINT, "", "NoSchedule")


def copy_node(node: Node, suffix: str) -> Node:
    """A new node like `node`, without temporary state: cordon, conditions, another client's drain."""
    name = f"{node.name} ({suffix})"
    labels = {**node.labels, HOSTNAME: name}
    taints = tuple(t for t in node.taints if not t.key.startswith(_TEMPORARY_TAINTS))
    return replace(node, name=name, uid=name, labels=labels, unschedulable=False, taints=taints)


def cordoned_copy(node: Node) -> Node:
    """The same node, taking no new pods."""
    return replace(node, unschedulable=True, taints=(*node.taints, _CORDON_TAINT))


def distinct_nodes(nodes: Iterable[Node]) -> list[Node]:
    """One node of each group, instance type, zone and size, the one with the newest kubelet first."""
    distinct: dict[object, Node] = {}
    for node in nodes:
        distinct.setdefault((_group_key(node), node.instance_type, node.zone, node.allocatable.get(CPU)), node)
    return sorted(distinct.values(), key=lambda n: (n.kubelet is None, _kubelet_sort_key(n), n.name))


def surge_nodes(targets: Sequence[Node], count: int) -> tuple[tuple[Node, Node], ...]:
    """`count` new nodes, each with the target it is a copy of: each group, type and zone gets about its share.

    A larger `count` keeps the earlier nodes as they are.
    """
    sorted_targets = sorted(targets, key=lambda n: (n.group, n.instance_type, n.zone))
    models = (
        [sorted_targets[int(_van_der_corput(i) * len(sorted_targets))] for i in range(1, count + 1)]
        if sorted_targets
        else []
    )
    return tuple((copy_node(node, f"surge {i}"), node) for i, node in enumerate(models, 1))


def _van_der_corput(i: int) -> float:
    """From 0 to 1, each far from those before it (J. G. van der Corput): 1/2, 1/4, 3/4, 1/8 …"""
    spread, step = 0.0, 0.5
    while i:
        spread += step * (i & 1)
        step /= 2
        i >>= 1
    return spread


def _group_key(node: Node) -> object:
    """The common key of a group's nodes: their group's name, or without a group their labels."""
    return node.group or frozenset((k, v) for k, v in node.labels.items() if k not in _UNIQUE_LABELS)


def _kubelet_sort_key(node: Node) -> tuple[int, int]:
    return (-node.kubelet.major, -node.kubelet.minor) if node.kubelet is not None else (0, 0)


# Nodes sorted by free resources, as the scheduler prefers them (NodeResourcesFit, LeastAllocated).


MAX_ORDERED_NODES = 8
"""This many of the emptiest nodes are tried in order; of the others any that fits is taken."""


class EmptiestNodes:
    """A set of nodes, the emptiest first, in two heaps. Nodes whose entry was updated since the last `reorder_filled`
    have a heap of their own, so that only few entries are checked when pods are removed again."""

    __slots__ = ("_most", "_moved", "_nodes")

    def __init__(self, node_rooms: Iterable[NodeOccupancy]) -> None:
        self._nodes: list[_HeapEntry] = []
        self._moved = [_heap_entry(node_room) for node_room in node_rooms]
        heapq.heapify(self._moved)
        self._most: list[tuple[int, int, int]] | None = None  # cpu, memory and ephemeral storage: see `remember_maxima`

    def reorder_all(self) -> None:
        """Update the entries of all nodes: some may have more room than before."""
        self._most = None
        # A sorted list is a heap, and always the same one.
        self._nodes, self._moved = sorted(_heap_entry(entry[2]) for entry in self._all_entries()), []

    def reorder_filled(self) -> None:
        """Update the entries of the nodes that were filled since the last time, and may have been emptied again."""
        for _, name, node_room, per_cpu, per_memory in self._moved:
            cpu, memory = per_cpu * node_room.room.cpu, per_memory * node_room.room.memory
            heapq.heappush(self._nodes, (-(cpu if cpu < memory else memory), name, node_room, per_cpu, per_memory))
        self._moved.clear()

    def add(self, node_room: NodeOccupancy) -> None:
        """Add a node, or a node that has more room than before."""
        self._most = None
        heapq.heappush(self._nodes, _heap_entry(node_room))

    def take(self, requests: ResourceRequests, thorough: bool) -> NodeOccupancy | None:
        """Take the requested room on the emptiest node that has it, usually the one at the top. None: see `find`.

        Placement calls this more often than anything else, so the steps of `NodeRoom` are inlined here.
        """
        if self._most is not None and self.is_too_large(requests):
            return None
        heap, requested_cpu, requested_memory = self._emptiest_heap(), requests.cpu, requests.memory
        if not heap:
            return None
        node_room = heap[0][2]
        room = node_room.room
        free_cpu, free_memory = room.cpu, room.memory
        is_plain = not (requests.ephemeral or requests.others)
        if is_plain and requested_cpu <= free_cpu and requested_memory <= free_memory and room.pods > 0:
            room.cpu, room.memory = free_cpu - requested_cpu, free_memory - requested_memory
            room.pods -= 1
            return node_room
        fitting_node = node_room if room.fits(requests) else self.find(fits_requests(requests), thorough)
        if fitting_node is not None:
            fitting_node.room.take(requests)
        return fitting_node

    def find(self, fits: Callable[[NodeOccupancy], bool], thorough: bool = True) -> NodeOccupancy | None:
        """The emptiest node for which `fits` is true; if not `thorough`, only among the few emptiest."""
        skipped: list[_HeapEntry] = []
        best = None
        while heap := self._emptiest_heap():
            if fits(heap[0][2]):
                best = heap[0][2]
                break
            skipped.append(heapq.heappop(heap))
            if len(skipped) == MAX_ORDERED_NODES:
                if thorough:
                    best = next((entry[2] for entry in self._all_entries() if fits(entry[2])), None)
                break
        for entry in skipped:
            heapq.heappush(self._moved, entry)
        return best

    def _emptiest_heap(self) -> list[_HeapEntry]:
        """The heap whose top is the emptiest node; empty if there is none."""
        nodes, moved = self._nodes, self._moved
        while True:
            heap = moved if moved and not (nodes and nodes[0] < moved[0]) else nodes
            if not heap:
                return heap
            key, name, node_room, per_cpu, per_memory = heap[0]
            cpu, memory = per_cpu * node_room.room.cpu, per_memory * node_room.room.memory
            current = -(cpu if cpu < memory else memory)
            if current <= key:
                return heap
            if heap is moved:
                heapq.heapreplace(moved, (current, name, node_room, per_cpu, per_memory))
            else:
                heapq.heappop(nodes)
                heapq.heappush(moved, (current, name, node_room, per_cpu, per_memory))

    def _all_entries(self) -> Iterator[_HeapEntry]:
        return chain(self._moved, self._nodes)

    def remember_maxima(self) -> None:
        """Remember the most free resources of any node: until a node is added, or `reorder_all`, free resources only
        shrink."""
        rooms = [entry[2].room for entry in self._all_entries()]
        free = {(max(0, r.cpu), max(0, r.memory), max(0, r.ephemeral)) for r in rooms if r.pods > 0}
        maxima: list[tuple[int, int, int]] = []
        for each in sorted(free, reverse=True):
            if _exceeds(*each, maxima):
                maxima.append(each)
        self._most = maxima

    def forget_maxima(self) -> None:
        """Undo `remember_maxima`: there is more room again."""
        self._most = None

    def is_too_large(self, requests: ResourceRequests) -> bool:
        """Whether no node had room for the requests at the last `remember_maxima`, by resources alone."""
        return self._most is not None and _exceeds(requests.cpu, requests.memory, requests.ephemeral, self._most)


def fits_requests(requests: ResourceRequests) -> Callable[[NodeOccupancy], bool]:
    """A test whether a node has room for these requests: `NodeRoom.fits` without a call in between, as most pods
    request only cpu, memory and ephemeral storage."""
    if requests.others:
        return lambda seat: seat.room.fits(requests)
    cpu, memory, ephemeral = requests.cpu, requests.memory, requests.ephemeral

    def fits(node_room: NodeOccupancy) -> bool:
        room = node_room.room
        return (
            room.pods > 0
            and (cpu <= room.cpu or not cpu)
            and (memory <= room.memory or not memory)
            and (ephemeral <= room.ephemeral or not ephemeral)
        )

    return fits


def _exceeds(cpu: int, memory: int, ephemeral: int, maxima: Iterable[tuple[int, int, int]]) -> bool:
    """Whether the request is more than each of `maxima` has of some resource. `maxima` are sorted by cpu, largest
    first."""
    for has_cpu, has_memory, has_ephemeral in maxima:
        if has_cpu < cpu:
            break  # and so do all after it
        if has_memory >= memory and has_ephemeral >= ephemeral:
            return False
    return True


_HeapEntry = tuple[float, str, NodeOccupancy, float, float]
"""The free share of a node's scarcest resource, negated; its name; the node; 1 / allocatable cpu; 1 / allocatable
memory."""


def _heap_entry(node_room: NodeOccupancy) -> _HeapEntry:
    room = node_room.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    per_cpu, per_memory = 1 / has_cpu if has_cpu else 0.0, 1 / has_memory if has_memory else 0.0
    return -min(per_cpu * room.cpu, per_memory * room.memory), node_room.node.name, node_room, per_cpu, per_memory
