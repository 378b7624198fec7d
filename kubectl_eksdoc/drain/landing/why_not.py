"""Why no node takes a pod, counted over all nodes: quickly, for there may be thousands of nodes and kinds of pods."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from kubectl_eksdoc.drain.landing.emptiest import fitting
from kubectl_eksdoc.kubernetes.scheduling.fences import NodeFilter
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_classes import PodClass
from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulingRefusal
from kubectl_eksdoc.kubernetes.scheduling.resources import TOO_MANY_PODS
from kubectl_eksdoc.kubernetes.scheduling.volumes import NO_VOLUMES
from kubectl_eksdoc.model.placement import CPU, EPHEMERAL_STORAGE, MEMORY, Requests

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
