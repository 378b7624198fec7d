"""The nodes that take evicted pods, filling up: places taken and given back, the emptiest node first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kubectl_eksdoc.drain.landing.emptiest import EmptiestNodes
from kubectl_eksdoc.drain.landing.new_nodes import cordoned
from kubectl_eksdoc.drain.landing.why_not import WhyNot
from kubectl_eksdoc.drain.survey import DrainContext
from kubectl_eksdoc.kubernetes.replacement import comes_back_to_its_node
from kubectl_eksdoc.kubernetes.scheduling import volumes
from kubectl_eksdoc.kubernetes.scheduling.fences import NodeFilter
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_classes import PodClass
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage, VolumeDemand
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import Requests
from kubectl_eksdoc.model.pods import Pod


class PlacementRoom:
    """The cluster with all targets cordoned: what is evicted lands on the other nodes, and on new ones.

    Mutable; every change since `mark` can be taken back.
    """

    def __init__(self, world: DrainContext) -> None:
        cluster = world.cluster
        targets = {node.name for node in world.targets}
        nodes = [cordoned(n) if n.name in targets else n for n in cluster.nodes]
        storage = Storage.observed(cluster)
        spaces = None if cluster.unread(kinds.NAMESPACES) else {n.name: n.labels for n in cluster.namespaces}
        self._occupancy = Occupancy.of(nodes, cluster.pods, spaces, storage, targets)
        self._pods = cluster.pods
        self._daemons: dict[str, list[PodClass]] | None = None
        self._rings: dict[tuple[NodeFilter, VolumeDemand], EmptiestNodes] = {}
        self._ways: dict[PodClass, _Way] = {}
        self._log: list[_Step] = []
        self._joined: list[NodeOccupancy] = []
        self.free = _Free()  # on all nodes that are not cordoned, at least
        for seat in self._occupancy.seats.values():
            if not seat.node.unschedulable:
                self.free.add(seat)

    def classes_of(self, pod: Pod) -> tuple[PodClass, PodClass]:
        """What the pod is to the scheduler, and what its replacement will be."""
        return self._occupancy.classes_of(pod)

    def mark(self) -> int:
        """Where to go back to."""
        return len(self._log)

    def back_to(self, mark: int) -> None:
        """As if what was done since `mark` had not been."""
        while len(self._log) > mark:
            step = self._log.pop()
            if isinstance(step, tuple):
                seat, kind = step
                seat.room.take(kind.placement.requests, -1)
            else:
                step()

    def begin_anew(self) -> None:
        """As it was built, so that the same questions get the same answers."""
        self.back_to(0)
        self.settle()

    def settle(self) -> None:
        """The emptiest nodes are first again, however they were filled and emptied before."""
        for ring in self._rings.values():
            ring.settle()

    def leave(self, kind: PodClass, node: str) -> None:
        """A pod goes from its node, which is cordoned: what it frees there is of no use to others."""
        if not kind.counted:
            return
        self._occupancy.take(kind, node)
        self._log.append(partial(self._occupancy.put, kind, node))

    def place(self, kind: PodClass, thorough: bool = True) -> str:
        """Put one such pod on the emptiest node that can take it; the node's name, "" if there is none.

        If not `thorough`, only a few nodes are asked: there may be a place all the same.
        """
        ring, asked, plain = self._ways.get(kind) or self._way(kind)
        if plain:  # most pods
            seat = ring.with_room(asked, thorough)
            if seat is None:
                return ""
            seat.room.take(asked)
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
        """So much less is free: what has its places asks for that together."""
        self.free.take(cpu, memory, pods)
        self._log.append(partial(self.free.take, -cpu, -memory, -pods))

    def forget(self) -> None:
        """Undo `remember`: there is more room again."""
        for ring in self._rings.values():
            ring.forget()

    @property
    def joined(self) -> int:
        """How many new nodes there are."""
        return len(self._joined)

    def may_have_place(self, kind: PodClass, since: int) -> bool:
        """Whether one of the few emptiest nodes takes such a pod that found none when so many nodes had joined."""
        if kind.alone:  # what is there already has only filled up
            return any(self.fits(kind, seat.node.name) for seat in self._joined[since:])
        ring, asked, _ = self._way(kind)
        has_place = self._occupancy.has_place
        return not ring.is_too_large(asked) and ring.first(lambda s: has_place(kind, s), False) is not None

    def remember(self, kind: PodClass) -> None:
        """Note what room there is now for such pods: it only shrinks until a node joins, or pods are taken back."""
        ring, asked, _ = self._way(kind)
        if not ring.is_too_large(asked):
            ring.look()

    def is_tight(self, kind: PodClass) -> bool:
        """Whether none of the few emptiest nodes that let such a pod in has room for one more."""
        ring, asked, _ = self._way(kind)
        return ring.with_room(asked, thorough=False) is None

    def put(self, kind: PodClass, name: str) -> None:
        """One such pod on the node of that name."""
        self._put(kind, self._occupancy.seats[name])

    def _put(self, kind: PodClass, seat: NodeOccupancy) -> None:
        if not kind.counted:
            seat.room.take(kind.placement.requests)
            self._log.append((seat, kind))
            return
        self._log.append(self._count(kind, seat.node.name))

    def _count(self, kind: PodClass, name: str) -> Callable[[], object]:
        """Put the pod so that it is counted by class, too; returns what takes it back."""
        self._occupancy.put(kind, name)
        return partial(self._occupancy.take, kind, name)

    def count_all(self) -> None:
        """From now on any pod can be taken off its node, those included of which only the room was counted."""
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
        """A new node, with the DaemonSets' pods that run on the node `like`."""
        self._occupancy.add_node(node, like)
        for kind in self._daemons_of(like):
            self._occupancy.put(kind, node.name)
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
        """What runs where as it is now; whoever changes it puts everything back."""
        return self._occupancy

    def unknown(self, kind: PodClass) -> tuple[str, ...]:
        return self._occupancy.unknown(kind)

    def why_not(self) -> WhyNot:
        """Tells of a class why no node takes it, as it is now: as FailedScheduling events do, with numbers of nodes."""
        return WhyNot(self._occupancy)

    def _way(self, kind: PodClass) -> _Way:
        found = self._ways.get(kind)
        if found is None:
            key = (kind.fence, kind.volumes)
            ring = self._rings.get(key)
            if ring is None:
                seats = self._occupancy.seats.values()
                ring = self._rings[key] = EmptiestNodes(seat for seat in seats if _lets_in(kind, seat))
            # All kinds are known when the first is placed: a replacement brings no term that its pod did not have.
            plain = kind.alone and not kind.counted
            found = self._ways[kind] = ring, kind.placement.requests, plain
        return found

    def _daemons_of(self, name: str) -> Sequence[PodClass]:
        if self._daemons is None:
            self._daemons = {}
            for pod in self._pods:
                if comes_back_to_its_node(pod) and not pod.finished:
                    self._daemons.setdefault(pod.node, []).append(self.classes_of(pod)[1])
        return self._daemons.get(name, ())


def _lets_in(kind: PodClass, seat: NodeOccupancy) -> bool:
    """Whether nothing about the node itself keeps such pods out."""
    return kind.fence.refusal(seat.node) is None and volumes.refusal(kind.volumes, seat.node) is None


_Way = tuple[EmptiestNodes, Requests, bool]
"""How a place is found for one kind of pod: the nodes that let it in, what it asks for, and whether nothing but that
matters."""

_Step = Callable[[], object] | tuple[NodeOccupancy, PodClass]
"""Takes one change back: calls for it, or gives back the room of one such pod."""


class _Free:
    """What all of some nodes have left together."""

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
