"""Free room on the nodes that take evicted pods: places are taken and released, the emptiest node first."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from kubectl_eksdoc.kubernetes.scheduling import volumes
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import PodClass
from kubectl_eksdoc.kubernetes.scheduling.refusals import TOO_MANY_PODS, NodeFilter, SchedulingRefusal
from kubectl_eksdoc.kubernetes.scheduling.volumes import NO_VOLUMES, Storage, VolumeDemand
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placing import CPU, EPHEMERAL_STORAGE, MEMORY, Requests

from .new_nodes import EmptiestNodes, cordoned, fitting
from .nodes import DrainContext

# Why no node takes a pod, counted over all nodes; fast, as there may be thousands of nodes and classes of pods.


Reasons = tuple[tuple[str, int], ...]


class WhyNot:
    """Counts refusals for the `occupancy` as it is now: create a new counter when it has changed."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        self._behind: dict[NodeFilter, _Behind] = {}
        self._known: dict[object, Reasons] = {}
        self._takers: dict[object, int] = {}  # classes for which every node was checked

    def reasons(self, kind: PodClass) -> Reasons:
        """The scheduler's reasons, each with the number of nodes that give it, the most frequent first."""
        like = self._likeness(kind)
        if like not in self._known:
            found = self._count(kind)
            self._known[like] = tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))
        return self._known[like]

    def _likeness(self, kind: PodClass) -> object:
        """A key that classes share if they are refused for the same reasons; the class itself where it is special."""
        asked = kind.placement.requests
        if kind.alone:
            return (kind.fence, kind.volumes, asked)
        if kind.attaches is None or kind.placement.ports or kind.company or kind.own or kind.limits or kind.meaning:
            return kind
        # Other volumes of the same drivers: it differs which are attached already, but no node has room for more.
        drivers = Counter(volume.driver for volume in kind.attaches.shared)
        return (kind.fence, kind.volumes, asked, tuple(sorted(drivers.items())), kind.attaches.own)

    def takers(self, kind: PodClass) -> int:
        """How many nodes take such a pod; fast after `reasons`, unless only room decides."""
        if kind not in self._takers:
            self._takers[kind] = self._asked(kind).count(None)
        return self._takers[kind]

    def _behind_of(self, kind: PodClass) -> _Behind:
        if kind.fence not in self._behind:
            self._behind[kind.fence] = _Behind(kind.fence, self._occupancy.seats.values())
        return self._behind[kind.fence]

    def _asked(self, kind: PodClass) -> list[SchedulingRefusal | None]:
        """The answers of the nodes that pass the node filter and have room."""
        behind = self._behind_of(kind)
        seats = behind.open if kind.placement.ports else behind.roomy(kind.placement.requests)
        return [self._occupancy.refusal(kind, seat.node.name) for seat in seats]

    def _count(self, kind: PodClass) -> Counter[str]:
        behind, asked = self._behind_of(kind), kind.placement.requests
        if kind.alone and kind.volumes == NO_VOLUMES:
            return behind.kept_out + behind.too_full(asked)
        refused = self._asked(kind)
        self._takers[kind] = refused.count(None)
        said = Counter(reason for each in refused if each is not None for reason in each.reasons)
        # The scheduler checks ports before room, and all else after it.
        return behind.kept_out + said + (Counter() if kind.placement.ports else behind.too_full(asked))


class _Behind:
    """The nodes that a node filter refuses, with its reasons, and the free room of the nodes that it accepts."""

    def __init__(self, fence: NodeFilter, seats: Iterable[NodeOccupancy]) -> None:
        self.kept_out: Counter[str] = Counter()
        self.open = []
        for seat in seats:
            refusal = fence.refusal(seat.node)
            if refusal is None:
                self.open.append(seat)
            else:
                self.kept_out.update(refusal.reasons)
        self.open.sort(key=lambda seat: seat.room.cpu)
        rooms = [seat.room for seat in self.open]
        self._cpu = [room.cpu for room in rooms]
        self._memory = sorted(room.memory for room in rooms)
        self._ephemeral = sorted(room.ephemeral for room in rooms)
        self._full = sum(room.pods <= 0 for room in rooms)
        self._roomy: dict[Requests, list[NodeOccupancy]] = {}

    def roomy(self, asked: Requests) -> list[NodeOccupancy]:
        """The nodes with room for the requests."""
        found = self._roomy.get(asked)
        if found is None:
            first = bisect_left(self._cpu, asked.cpu) if asked.cpu else 0
            found = self._roomy[asked] = list(filter(fitting(asked), self.open[first:]))
        return found

    def too_full(self, asked: Requests) -> Counter[str]:
        """Reasons of NodeResourcesFit: a resource that is not requested is never insufficient."""
        found = {TOO_MANY_PODS: self._full}
        for name, amount, left in (
            (CPU, asked.cpu, self._cpu),
            (MEMORY, asked.memory, self._memory),
            (EPHEMERAL_STORAGE, asked.ephemeral, self._ephemeral),
        ):
            found[f"Insufficient {name}"] = bisect_left(left, amount) if amount else 0
        for name, amount in asked.others:
            found[f"Insufficient {name}"] = sum(seat.room.left(name) < amount for seat in self.open) if amount else 0
        return +Counter(found)


class PlacementRoom:
    """The cluster with all targets cordoned: replacements are placed on the other nodes, and on new ones.

    Mutable; every change since `mark` can be undone.
    """

    def __init__(self, world: DrainContext) -> None:
        cluster = world.cluster
        targets = {node.name for node in world.targets}
        nodes = [cordoned(n) if n.name in targets else n for n in cluster.nodes]
        storage = Storage.observed(cluster)
        spaces = None if cluster.unread(kinds.NAMESPACES) else {n.name: n.labels for n in cluster.namespaces}
        self._occupancy = Occupancy.of(nodes, cluster.pods, spaces, storage, targets)
        self._daemons_on = world.daemons_on
        self._rings: dict[tuple[NodeFilter, VolumeDemand], EmptiestNodes] = {}
        self._ways: dict[PodClass, _Way] = {}
        self._log: list[_Step] = []
        self._joined: list[NodeOccupancy] = []
        self.free = _Free()  # lower bound: on all nodes that are not cordoned
        for seat in self._occupancy.seats.values():
            if not seat.node.unschedulable:
                self.free.add(seat)

    def classes_of(self, pod: Pod) -> tuple[PodClass, PodClass]:
        """The scheduling class of the pod, and that of its replacement."""
        return self._occupancy.classes_of(pod)

    def mark(self) -> int:
        """A position for `undo_to`."""
        return len(self._log)

    def refresh(self) -> None:
        """Update the order of nodes that were filled since the last time, and may have been emptied again: otherwise
        they are tried as late as full nodes."""
        for ring in self._rings.values():
            ring.refresh()

    def back_to(self, mark: int) -> None:
        """Undo all changes since `mark`."""
        while len(self._log) > mark:
            step = self._log.pop()
            if isinstance(step, tuple):
                seat, kind = step
                seat.room.take(kind.placement.requests, -1)
            else:
                step()

    def begin_anew(self) -> None:
        """Return to the initial state, so that the same questions get the same answers."""
        self.back_to(0)
        self.settle()

    def settle(self) -> None:
        """Put the emptiest nodes first again, however they were filled and emptied before."""
        for ring in self._rings.values():
            ring.settle()

    def leave(self, kind: PodClass, node: str) -> None:
        """A pod leaves its node. The node is cordoned, so its room is of no use to others."""
        if not kind.counted:
            return
        self._occupancy.take(kind, node)
        self._log.append(partial(self._occupancy.put, kind, node))

    def place(self, kind: PodClass, thorough: bool = True) -> str:
        """Put one such pod on the emptiest node that can take it; returns the node's name, "" if there is none.

        If not `thorough`, only a few nodes are tried: there may be a place that is not found.
        """
        ring, asked, plain = self._ways.get(kind) or self._way(kind)
        if plain:  # most pods
            seat = ring.take(asked, thorough)
            if seat is None:
                return ""
            self._log.append((seat, kind))
            return seat.node.name
        if ring.is_too_large(asked):
            return ""
        has_place = self._occupancy.has_place
        seat = ring.first(lambda seat: has_place(kind, seat), thorough)
        if seat is None:
            return ""
        self._put(kind, seat)
        return seat.node.name

    def use(self, cpu: int, memory: int, pods: int) -> None:
        """Reduce the free resources by the total requests of pods that have their places."""
        self.free.take(cpu, memory, pods)
        self._log.append(partial(self.free.take, -cpu, -memory, -pods))

    def forget(self) -> None:
        """Undo `remember_maxima`: there is more room again."""
        for ring in self._rings.values():
            ring.forget()

    @property
    def joined(self) -> int:
        """How many new nodes have joined."""
        return len(self._joined)

    def may_have_place(self, kind: PodClass, since: int) -> bool:
        """Whether one of the few emptiest nodes takes such a pod, which found no place when `since` new nodes had
        joined."""
        if kind.alone:  # the other nodes have only filled up
            return any(self.fits(kind, seat.node.name) for seat in self._joined[since:])
        ring, asked, _ = self._way(kind)
        has_place = self._occupancy.has_place
        return not ring.is_too_large(asked) and ring.first(lambda s: has_place(kind, s), False) is not None

    def remember(self, kind: PodClass) -> None:
        """Remember the room that such pods have now: it only shrinks until a node joins, or pods are removed again."""
        ring, asked, _ = self._way(kind)
        if not ring.is_too_large(asked):
            ring.look()

    def is_tight(self, kind: PodClass) -> bool:
        """Whether none of the few emptiest nodes that accept such a pod has room for one more."""
        ring, asked, _ = self._way(kind)
        return ring.is_too_large(asked) or ring.first(fitting(asked), thorough=False) is None

    def put(self, kind: PodClass, name: str) -> None:
        """Put one such pod on the node of that name."""
        self._put(kind, self._occupancy.seats[name])

    def _put(self, kind: PodClass, seat: NodeOccupancy) -> None:
        if not kind.counted:
            seat.room.take(kind.placement.requests)
            self._log.append((seat, kind))
            return
        self._log.append(self._count(kind, seat.node.name))

    def _count(self, kind: PodClass, name: str) -> Callable[[], object]:
        """Put the pod on the node so that it is counted by class, too; returns the function that undoes it."""
        self._occupancy.put(kind, name)
        return partial(self._occupancy.take, kind, name)

    def count_all(self) -> None:
        """From now on any pod can be removed from its node, including pods of which only the requests were counted."""
        for i, step in enumerate(self._log):
            if isinstance(step, tuple):
                seat, kind = step
                seat.room.take(kind.placement.requests, -1)
                self._log[i] = self._count(kind, seat.node.name)

    def fits(self, kind: PodClass, name: str) -> bool:
        """Whether the node of that name takes such a pod."""
        seat = self._occupancy.seats[name]
        return self._occupancy.has_place(kind, seat) and _lets_in(kind, seat)

    def join(self, node: Node, like: str) -> None:
        """Add a new node, with the DaemonSet pods that run on the node `model_name`."""
        self._occupancy.add_node(node, like)
        for pod in self._daemons_on.get(like, ()):
            self._occupancy.put(self._occupancy.successor_of(pod), node.name)
        seat = self._occupancy.seats[node.name]
        self._joined.append(seat)
        self.free.add(seat)
        for (fence, bound), ring in self._rings.items():
            if fence.refusal(node) is None and volumes.refusal(bound, node) is None:
                ring.add(seat)

        def undo() -> None:
            self._joined.pop()
            self.free.add(seat, -1)
            self._occupancy.drop_node(node.name)
            self._rings.clear()
            self._ways.clear()

        self._log.append(undo)

    @property
    def occupancy(self) -> Occupancy:
        """The current pods of all nodes; a caller that changes it must restore it."""
        return self._occupancy

    def unknown(self, kind: PodClass) -> tuple[str, ...]:
        return self._occupancy.unknown(kind)

    def why_not(self) -> WhyNot:
        """Tells why no node takes a pod class now: as FailedScheduling events do, with numbers of nodes."""
        return WhyNot(self._occupancy)

    def _way(self, kind: PodClass) -> _Way:
        found = self._ways.get(kind)
        if found is None:
            key = (kind.fence, kind.volumes)
            ring = self._rings.get(key)
            if ring is None:
                seats = self._occupancy.seats.values()
                ring = self._rings[key] = EmptiestNodes(seat for seat in seats if _lets_in(kind, seat))
            # All classes are known when the first pod is placed: a replacement has no scheduling term that its pod did
            # not have.
            plain = kind.alone and not kind.counted
            found = self._ways[kind] = ring, kind.placement.requests, plain
        return found


def _lets_in(kind: PodClass, seat: NodeOccupancy) -> bool:
    """Whether the node itself, without its pods, accepts such pods."""
    return kind.fence.refusal(seat.node) is None and volumes.refusal(kind.volumes, seat.node) is None


_Way = tuple[EmptiestNodes, Requests, bool]
"""How a place is found for one pod class: the nodes that accept it, its requests, and whether only the requests
decide."""

_Step = Callable[[], object] | tuple[NodeOccupancy, PodClass]
"""Undoes one change: a function to call, or the node and class of a pod whose requests are released."""


class _Free:
    """The total free resources of some nodes."""

    __slots__ = ("cpu", "memory", "pods")

    def __init__(self) -> None:
        self.cpu = self.memory = self.pods = 0

    def add(self, seat: NodeOccupancy, count: int = 1) -> None:
        self.cpu += count * max(0, seat.room.cpu)
        self.memory += count * max(0, seat.room.memory)
        self.pods += count * max(0, seat.room.pods)

    def take(self, cpu: int, memory: int, pods: int) -> None:
        self.cpu -= cpu
        self.memory -= memory
        self.pods -= pods
