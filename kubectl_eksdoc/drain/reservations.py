"""Placement reservations: a node is drained only when every replacement of its pods has a place reserved.

This is admission as in the banker's algorithm: evicting from many nodes at full speed with too little room half-drains
all of them and empties none. Places are reserved on nodes that are not targets, in the order in which the targets are
drained, and on new nodes as they join. A node with a pod that finds no place waits, and takes no place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import PodClass
from kubectl_eksdoc.model.nodes import Node, Pod

from .course import made
from .filter_verdicts import restarted
from .new_nodes import copy, fitting, one_of_each, surged
from .nodes import DrainContext
from .preemption import NOTHING, Placed, Preemption, preemption
from .room import PlacementRoom, Reasons, WhyNot

# New nodes for pods without a place: how many, and of which existing node each is a copy.


MOST_NEW_NODES = 5000
"""The most new nodes that are simulated."""

OPEN = 16
"""This many of the latest new nodes are tried before another one is added."""

Adds = Callable[[Node, Mapping[str, int]], bool]
"""Whether one more node like this one is added automatically, after so many new nodes (by name of the node each
copies)."""

_Help = tuple[Node | None, bool, str]
"""The fields of `UnplacedPod` that describe the new node: its template, whether it is added automatically, its name."""

_NO_HELP: _Help = (None, False, "")


class ExtraNodes:
    """Puts pods without a place on new nodes, each a copy of an existing one; nodes that are added automatically come
    first."""

    def __init__(self, world: DrainContext, room: PlacementRoom, adds: Adds) -> None:
        targets = {node.name for node in world.targets}
        # Nodes outside the targets first: more nodes like those being drained are the last advice.
        models = one_of_each(sorted(world.cluster.nodes, key=lambda n: n.name in targets))
        self._models = sorted(models, key=lambda n: n.name in targets)
        self._added = self._models  # templates of which one more may be added automatically
        self._room = room
        self._adds = adds
        self._copies = {True: _Copies(room), False: _Copies(room)}
        self._made = 0
        self._hopeless: set[int] = set()
        self.coming: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()

    def house(self, kind: PodClass) -> _Help:
        """Put one such pod on a new node, if one helps."""
        if id(kind) in self._hopeless:
            return _NO_HELP
        for comes in (True, False):
            found = self._copies[comes].take(kind) or self._on_another_copy(kind, comes)
            if found is not None:
                return found[1], comes, found[0]
        self._hopeless.add(id(kind))
        return _NO_HELP

    def _on_another_copy(self, kind: PodClass, comes: bool) -> _Copy | None:
        if self._made == MOST_NEW_NODES:
            return None
        if comes:  # a template that gets no more nodes now gets none later
            self._added = [like for like in self._added if self._adds(like, self.coming)]
        for like in self._added if comes else self._models:
            mark = self._room.mark()
            made = copy(like, f"new {self._made + 1}")
            self._room.join(made, like.name)
            if self._room.fits(kind, made.name):
                self._room.put(kind, made.name)
                self._made += 1
                found = made.name, like, self._room.occupancy.seats[made.name]
                self._copies[comes].made.append(found)
                (self.coming if comes else self.missing)[like.name] += 1
                return found
            self._room.back_to(mark)
        return None


_Copy = tuple[str, Node, NodeOccupancy]
"""The name of a new node, the node that it copies, and its free room."""


class _Copies:
    """New nodes that only fill up; the latest of them are tried before another one is added."""

    def __init__(self, room: PlacementRoom) -> None:
        self._room = room
        self._full: dict[PodClass, int] = {}  # class → how many, from the first on, are full for it
        self._fits: dict[PodClass, Callable[[NodeOccupancy], bool]] = {}
        self.made: list[_Copy] = []

    def take(self, kind: PodClass) -> _Copy | None:
        """Put one such pod on the first of the open nodes that takes it."""
        copies = self.made
        if not copies:
            return None
        fits = self._fits.get(kind) or self._fits.setdefault(kind, fitting(kind.placement.requests))
        first, last = max(self._full.get(kind, 0), len(copies) - OPEN), len(copies)
        while first < last and not fits(copies[first][2]):
            first += 1
        self._full[kind] = first
        for at in range(first, last):
            if self._room.fits(kind, copies[at][0]):
                self._room.put(kind, copies[at][0])
                return copies[at]
        return None


TOO_LATE = "node(s) have a place only once pods have left nodes that are not drained"


class PodWithoutPlace(NamedTuple):
    """A pod whose replacement finds no place. `reasons`: the scheduler's, each with how many nodes give it.

    `template_node`: a new copy of this node would take it; None where no new node helps. `is_provisioned`: the copy is
    added automatically. `new_node`: its name.
    """

    pod: Pod
    node: str
    reasons: tuple[tuple[str, int], ...]
    helped_by: Node | None = None
    comes: bool = False
    on: str = ""


@frozen
class ReplacementPlaces:
    """The placement of all replacements. `unplaced`: pods without a place, by uid. If a new node helps, enough new
    nodes are counted for all of them: `provisioned_nodes` are added automatically, `missing_nodes` are not (name of the
    node that each copies → how many). `places`: pod uid → node reserved for its replacement. `needs`: node → drained
    nodes whose new nodes must have joined before it can be drained. `uncertain`: pods whose placement depends on facts
    that are not modelled or not read, with these facts. `may_be_pending`: pods for whose class no node has room for one
    more once all have their places: they may find none where the scheduler fills nodes in another order.
    `unknown_capacity`: nodes outside the targets that do not report their allocatable resources. `preemption`: pods
    that unplaced pods would preempt."""

    homeless: Mapping[str, PodWithoutPlace] = field(default_factory=dict)
    coming: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsure: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blind: tuple[str, ...] = ()
    preemption: Preemption = NOTHING
    tight: frozenset[str] = frozenset()

    @property
    def waits(self) -> dict[str, str]:
        """Pod uid → the new node, added automatically, that it waits for."""
        return {uid: each.on for uid, each in self.homeless.items() if each.comes}


@frozen(eq=False)
class _Load:
    """The evicted pods of one node whose replacements need places, largest first: each pod, its class (None if it is
    not counted on its node), and the class of its replacement."""

    pods: tuple[tuple[Pod, PodClass | None, PodClass], ...]
    uids: tuple[str, ...]
    cpu: int
    memory: int


class _Lack(NamedTuple):
    """The pod class of a node that found no place when `joined_count` new nodes had joined. `cpu` and `memory`: the
    free resources of all nodes together at which there may be a place for it and for the pods after it; 0 where not
    computed."""

    kind: PodClass
    joined: int
    cpu: int = 0
    memory: int = 0


class PlacementReservations:
    """Reserves places while the simulation runs (its `PlacementAdmission`). Create it once, and `reset` it for every
    order."""

    def __init__(self, world: DrainContext, adds: Adds, partly: frozenset[str] = frozenset()) -> None:
        """On `partial_nodes` some pods stay."""
        self._world = world
        self._room = PlacementRoom(world)
        self._adds = adds
        self._partly = partly
        self._targets = {node.name: node for node in world.targets}
        self._loads: dict[str, _Load] = {}
        self._stay_first: set[str] = set()  # uids of pods that stop after their new pod is Ready
        self._all_or_nothing = not world.policy.partial
        self._clear()

    def expect(self, node: str, pods: Iterable[Pod]) -> None:
        """Add a node and those of its evicted pods whose replacements need places; all nodes are added before the first
        `reset`."""
        self._loads[node] = self._load(pods)

    @property
    def asked(self) -> dict[str, tuple[int, int, int]]:
        """Node → total requests of its replacements: millicores, bytes, pods."""
        return {name: (load.cpu, load.memory, len(load.pods)) for name, load in self._loads.items()}

    def begin(self) -> None:
        """Release all places; only the new nodes of ``--surge`` have joined."""
        self._room.begin_anew()
        self._clear()
        for new, like in surged([self._targets[name] for name in self._loads], self._world.policy.surge or 0):
            self._room.join(new, like.name)

    def _clear(self) -> None:
        self._places: dict[str, str] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self._in_place_of: dict[str, str] = {}  # new node → drained node
        self._admitted: set[str] = set()
        self._late: set[PodClass] = set()  # classes with a place only after refused nodes are drained
        self._lacked: dict[str, _Lack] = {}
        self._models: dict[_Load, _Load] = {}  # the first of equivalent loads
        self._alike: dict[object, _Load] = {}
        self._refused: dict[_Load, int] = {}  # since room last changed: index of the pod without a place

    def extend(self, going: Mapping[str, Sequence[Pod]]) -> ReplacementPlaces:
        """The placement of additional nodes after all others; nothing of it is kept."""
        mark, late = self._room.mark(), set(self._late)
        kept = self._places, self._needs, self._admitted, self._lacked, self._loads
        self._room.settle()
        self._refused.clear()
        self._places, self._needs, self._admitted, self._lacked = {}, {}, set(), {}
        self._loads = {name: self._load(pods) for name, pods in going.items()}
        for node in going:
            self.admit(node, thorough=True, partly=not self._all_or_nothing)
        found = self.landing(going)
        self._places, self._needs, self._admitted, self._lacked, self._loads = kept
        self._late = late
        self._room.back_to(mark)
        self._room.forget()
        self._refused.clear()
        return found

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        """See `PlacementAdmission`; a node is admitted partly only with ``--partial``."""
        if partly and self._all_or_nothing:
            return False  # the thorough question has got the same answer
        load, free = self._loads[node], self._room.free
        lacked = self._lacked.get(node)
        if lacked is not None and not thorough:
            if free.cpu < lacked.cpu or free.memory < lacked.memory:
                return False  # the free room was of no use for it: it needs more
            if not self._room.may_have_place(lacked.kind, lacked.joined):
                return False
        if not partly and (load.cpu > free.cpu or load.memory > free.memory or len(load.pods) > free.pods):
            return False
        places = self._some_places(load) if partly else self._all_places(node, load, thorough)
        if places is None:
            return False
        self._refused.clear()
        taken = self._load(pod for pod, _, _ in load.pods if pod.uid in places) if partly else load
        self._room.use(taken.cpu, taken.memory, len(taken.pods))
        self._places |= places
        came = self._in_place_of.keys() & set(places.values())
        if came:
            self._needs[node] = tuple(sorted([self._in_place_of[name] for name in came]))
        self._admitted.add(node)
        return True

    def _all_places(self, node: str, load: _Load, thorough: bool) -> dict[str, str] | None:
        """A place for each pod, or None."""
        room, names, stay_first = self._room, [], self._stay_first
        model = self._model(load) if thorough else load
        if model in self._refused:  # many nodes are equivalent, and each asks often
            self._lacked[node] = _Lack(load.pods[self._refused[model]][2], room.joined)
            return None
        mark = room.mark()
        for number, (pod, old, new) in enumerate(load.pods):
            first = bool(stay_first) and pod.uid in stay_first
            if old is not None and not first:
                room.leave(old, node)
            place = room.place(new, thorough)
            if first and old is not None and place:
                room.leave(old, node)
            if not place:
                room.back_to(mark)
                room.refresh()
                self._lacked[node] = self._lack(load, number, thorough)
                return None
            names.append(place)
        room.refresh()
        return dict(zip(load.uids, names, strict=True))

    def _lack(self, load: _Load, number: int, thorough: bool) -> _Lack:
        """Note that the pod at this index found no place for a load."""
        room, kind = self._room, load.pods[number][2]
        if thorough:
            self._refused[self._model(load)] = number
            room.remember(kind)
            return _Lack(kind, room.joined)
        asked = [new.placement.requests for _, _, new in load.pods[number:]]
        cpu, memory = sum([each.cpu for each in asked]), sum([each.memory for each in asked])
        return _Lack(kind, room.joined, room.free.cpu + cpu, room.free.memory + memory)

    def _model(self, load: _Load) -> _Load:
        """The first of the loads that find the same places, because only room decides about their pods."""
        found = self._models.get(load)
        if found is None:
            kinds = [new for _, _, new in load.pods]
            plain = all(kind.alone and not kind.counted for kind in kinds)
            alike = tuple((kind.fence, kind.volumes, kind.placement.requests) for kind in kinds) if plain else load
            found = self._models[load] = self._alike.setdefault(alike, load)
        return found

    def _some_places(self, load: _Load) -> dict[str, str]:
        """Places for the pods that have one."""
        places = {}
        for pod, old, new in load.pods:
            before = self._room.mark()
            place = self._move(pod, old, new)
            if place:
                places[pod.uid] = place
            else:
                self._room.back_to(before)  # it stays, and keeps its room
                self._room.remember(new)
        return places

    def renew(self, node: str) -> None:
        """See `PlacementAdmission`; a node on which some pods stay is not replaced."""
        if node in self._partly or not (self._housed(node) or self._has_places(node)):
            return
        new = copy(self._targets[node], "new")
        self._in_place_of[new.name] = node
        self._room.join(new, node)
        self._refused.clear()

    def landing(self, order: Iterable[str]) -> ReplacementPlaces:
        """The resulting placement; `order`: the nodes in the order in which they would be drained."""
        mark = self._room.mark()
        landed: list[Placed] = []
        order = tuple(order)
        lost = []
        if not all(map(self._housed, order)):
            lost = [(pod, node, new) for node in order for pod, new in self._lost(node, landed)]
        if lost:
            self._room.count_all()
        needed = dict.fromkeys([new for load in self._loads.values() for _, _, new in load.pods])
        tight = {kind for kind in needed if self._room.is_tight(kind)}
        pushed_out = preemption(self._world, self._room, [(pod, new) for pod, _, new in lost], landed)
        why_not = self._room.why_not()
        kinds = dict.fromkeys([new for _, _, new in lost])
        reasons = {new: (*why_not.reasons(new), *self._too_late(new, why_not)) for new in kinds}
        helped = ExtraNodes(self._world, self._room, self._adds)
        homeless = {
            pod.uid: made(PodWithoutPlace, (pod, node, reasons[new], *helped.house(new))) for pod, node, new in lost
        }
        unsure = {kind: doubt for kind in needed if (doubt := self._room.unknown(kind))}
        self._room.back_to(mark)
        self._room.forget()
        blind = tuple(n.name for n in self._world.cluster.nodes if n.name not in self._targets and not n.allocatable)
        return ReplacementPlaces(
            homeless,
            dict(helped.coming),
            dict(helped.missing),
            dict(self._places),
            dict(self._needs),
            {pod.uid: unsure[new] for pod, new in self._coming(unsure)},
            blind,
            pushed_out,
            frozenset([pod.uid for pod, _ in self._coming(tight)]),
        )

    def _coming(self, kinds: Collection[PodClass]) -> Iterator[tuple[Pod, PodClass]]:
        """The pods whose replacements are of one of these classes."""
        for load in self._loads.values() if kinds else ():
            yield from ((pod, new) for pod, _, new in load.pods if new in kinds)

    def _housed(self, node: str) -> bool:
        """Whether all replacements of `node` are known to have a place, without a check of each pod."""
        return self._all_or_nothing and node in self._admitted

    def _has_places(self, node: str) -> bool:
        return all(pod.uid in self._places for pod, _, _ in self._loads[node].pods)

    def _lost(self, node: str, landed: list[Placed]) -> list[tuple[Pod, PodClass]]:
        """The pods of `node` without a place; never empty for a node that was not admitted.

        All pods of such a node are moved here, so that missing nodes are counted for the whole drain. That makes room
        for later nodes which they do not have while it stays. Pods with a place are added to `placed`.
        """
        lost = []
        for pod, old, new in self._loads[node].pods:
            place = self._places.get(pod.uid, "")
            if not place and node not in self._admitted:
                place = self._move(pod, old, new)
                if not place:
                    self._room.remember(new)
            if place:
                landed.append((pod, new, place))
            else:
                lost.append((pod, new))
        pods = self._loads[node].pods
        if lost or not pods or node in self._admitted:
            return lost
        lacked = self._lacked.get(node)
        pod, _, new = next((each for each in pods if lacked is not None and each[2] is lacked.kind), pods[0])
        self._late.add(new)
        return [(pod, new)]

    def _too_late(self, new: PodClass, why_not: WhyNot) -> Reasons:
        """The number of nodes that would take it by now, as a reason: these have room only after other pods have
        left."""
        count = 0 if new.alone and new not in self._late else why_not.takers(new)
        return ((TOO_LATE, count),) if count else ()

    def _move(self, pod: Pod, old: PodClass | None, new: PodClass) -> str:
        first = pod.uid in self._stay_first
        if old is not None and not first:
            self._room.leave(old, pod.node)
        place = self._room.place(new)
        if old is not None and first and place:
            self._room.leave(old, pod.node)
        return place

    def _load(self, pods: Iterable[Pod]) -> _Load:
        # The largest first: they need the room before it is fragmented.
        cpu = memory = 0
        sized = []
        for i, pod in enumerate(pods):
            asked = pod.placement.requests
            cpu += asked.cpu
            memory += asked.memory
            sized.append((-asked.cpu, -asked.memory, pod.namespace, pod.name, i, pod))
        sized.sort()  # two pods are never compared: their indexes differ
        if self._world.policy.surge_singles:
            self._stay_first |= {each[5].uid for each in sized if restarted(self._world, each[5]) is not None}
        classes_of, loaded = self._room.classes_of, []
        for each in sized:
            pod = each[5]
            old, new = classes_of(pod)
            # A finished pod uses no resources.
            loaded.append((pod, old if old.counted and not pod.finished else None, new))
        return _Load(tuple(loaded), tuple([each[5].uid for each in sized]), cpu, memory)
