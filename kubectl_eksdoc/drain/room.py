"""The nodes that take evicted pods, filling up: places taken and given back, the emptiest node first."""

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

# Why no node takes a pod, counted over all nodes: quickly, for there may be thousands of nodes and kinds of pods.


Reasons = tuple[tuple[str, int], ...]


class WhyNot:
    """Counts for the `occupancy` as it is: build a new one when it has changed."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        self._behind: dict[NodeFilter, _Behind] = {}
        self._known: dict[object, Reasons] = {}
        self._takers: dict[object, int] = {}  # of those for which every node was asked

    def reasons(self, kind: PodClass) -> Reasons:
        """The scheduler's reasons, each with how many nodes give it, the most frequent first."""
        like = self._likeness(kind)
        if like not in self._known:
            found = self._count(kind)
            self._known[like] = tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))
        return self._known[like]

    def _likeness(self, kind: PodClass) -> object:
        """What classes have in common that are refused for the same reasons; of one by itself the class."""
        asked = kind.placement.requests
        if kind.alone:
            return (kind.fence, kind.volumes, asked)
        if kind.attaches is None or kind.placement.ports or kind.company or kind.own or kind.limits or kind.meaning:
            return kind
        # Other volumes of the same drivers: which are attached already is another matter, but no node has room.
        drivers = Counter(volume.driver for volume in kind.attaches.shared)
        return (kind.fence, kind.volumes, asked, tuple(sorted(drivers.items())), kind.attaches.own)

    def takers(self, kind: PodClass) -> int:
        """How many nodes take such a pod; quick once its reasons were asked for, if not only room decides."""
        if kind not in self._takers:
            self._takers[kind] = self._asked(kind).count(None)
        return self._takers[kind]

    def _behind_of(self, kind: PodClass) -> _Behind:
        if kind.fence not in self._behind:
            self._behind[kind.fence] = _Behind(kind.fence, self._occupancy.seats.values())
        return self._behind[kind.fence]

    def _asked(self, kind: PodClass) -> list[SchedulingRefusal | None]:
        """What the nodes say that the fence lets through and that have room."""
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
        # Ports are asked about before room, all else after it.
        return behind.kept_out + said + (Counter() if kind.placement.ports else behind.too_full(asked))


class _Behind:
    """What a fence keeps out, with its reasons, and the room of what it lets through."""

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
        """The nodes with room for it."""
        found = self._roomy.get(asked)
        if found is None:
            first = bisect_left(self._cpu, asked.cpu) if asked.cpu else 0
            found = self._roomy[asked] = list(filter(fitting(asked), self.open[first:]))
        return found

    def too_full(self, asked: Requests) -> Counter[str]:
        """NodeResourcesFit: what is not asked for is not missed."""
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
        self._daemons_on = world.daemons_on
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

    def refresh(self) -> None:
        """Bring nodes to their places among the emptiest that were filled since the last time, and may have been
        emptied again: else they are asked as late as full ones."""
        for ring in self._rings.values():
            ring.refresh()

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
        return ring.is_too_large(asked) or ring.first(fitting(asked), thorough=False) is None

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
