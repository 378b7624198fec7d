"""Where evicted pods land: each node is drained only when every replacement of its pods has a place reserved.

This is admission as in the banker's algorithm: evicting from many nodes at full speed with too little room
half-drains all of them and empties none. Places are reserved on nodes that are not targets, in the order in
which the targets are drained, and on new nodes as they join; a node with a pod that finds none waits, and takes
no place.
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

# New nodes for pods that find no place: how many, and like which of those that are there.


MOST_NEW_NODES = 5000
"""More new nodes than this are not counted out."""

OPEN = 16
"""So many of the latest new nodes are tried before another one comes."""

Adds = Callable[[Node, Mapping[str, int]], bool]
"""Whether something adds one more node like this one, when so many like others (by name) come already."""

_Help = tuple[Node | None, bool, str]
"""Of a pod without a place: the fields of `PodWithoutPlace` that say what new node takes it."""

_NO_HELP: _Help = (None, False, "")


class ExtraNodes:
    """Pods without a place on new nodes, each a copy of one that is there; those that something adds come first."""

    def __init__(self, world: DrainContext, room: PlacementRoom, adds: Adds) -> None:
        targets = {node.name for node in world.targets}
        # Those outside the targets first: more of what is being drained is the last advice.
        models = one_of_each(sorted(world.cluster.nodes, key=lambda n: n.name in targets))
        self._models = sorted(models, key=lambda n: n.name in targets)
        self._added = self._models  # those of which something may add one more
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
        if comes:  # what adds no more now does not later either
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
"""The name of a new node, the node it is like, and what is left of it."""


class _Copies:
    """New nodes that only fill up; the latest of them are tried before another one comes."""

    def __init__(self, room: PlacementRoom) -> None:
        self._room = room
        self._full: dict[PodClass, int] = {}  # how many, from the first on, have no room for such pods
        self._fits: dict[PodClass, Callable[[NodeOccupancy], bool]] = {}
        self.made: list[_Copy] = []

    def take(self, kind: PodClass) -> _Copy | None:
        """Put one such pod on the first of the open ones that takes it."""
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

    `helped_by`: a node like this one, but new, would take it; None where no new node helps. `comes`: something
    adds it. `on` is the name of the new one.
    """

    pod: Pod
    node: str
    reasons: tuple[tuple[str, int], ...]
    helped_by: Node | None = None
    comes: bool = False
    on: str = ""


@frozen
class ReplacementPlaces:
    """`homeless` by pod uid. New nodes would have room for all that one helps: `coming` are those that something
    adds, `missing` the others (name of a node that each is like → how many). `places`: the node reserved for the
    replacement of each other pod, by uid. `needs`: what is drained and replaced by a new node before a node can be
    drained. `unsure` are pods about which something that decides is not modelled or not read, with what it is;
    `tight` are pods beside which no node has room for one more like them once all have their places: they may find
    none where the scheduler fills nodes in another order; `blind` are nodes outside the targets that do not say what
    room they have. `preemption`: whom the homeless would push out."""

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
        """The new nodes that something adds for pods, by uid."""
        return {uid: each.on for uid, each in self.homeless.items() if each.comes}


@frozen(eq=False)
class _Load:
    """What is evicted from one node and comes again, largest first: each pod, its class (None if it is not counted
    where it is), and that of its replacement."""

    pods: tuple[tuple[Pod, PodClass | None, PodClass], ...]
    uids: tuple[str, ...]
    cpu: int
    memory: int


class _Lack(NamedTuple):
    """What of a node found no place when so many new nodes had `joined`; and the free `cpu` and `memory` of all nodes
    together by which there may be one for it and for the pods after it, 0 where that was not worked out."""

    kind: PodClass
    joined: int
    cpu: int = 0
    memory: int = 0


class PlacementReservations:
    """Reserves places while the simulation runs (its `PlacementReservations`). Build it once, and `begin` anew for
    every order."""

    def __init__(self, world: DrainContext, adds: Adds, partly: frozenset[str] = frozenset()) -> None:
        """On the nodes `partly` pods stay."""
        self._world = world
        self._room = PlacementRoom(world)
        self._adds = adds
        self._partly = partly
        self._targets = {node.name: node for node in world.targets}
        self._loads: dict[str, _Load] = {}
        self._stay_first: set[str] = set()  # uids of pods that go only when the new one is there
        self._all_or_nothing = not world.policy.partial
        self._clear()

    def expect(self, node: str, pods: Iterable[Pod]) -> None:
        """These are evicted from `node` and come again elsewhere; all nodes are known before the first `begin`."""
        self._loads[node] = self._load(pods)

    @property
    def asked(self) -> dict[str, tuple[int, int, int]]:
        """What comes again from each node asks for together: millicores, bytes, pods."""
        return {name: (load.cpu, load.memory, len(load.pods)) for name, load in self._loads.items()}

    def begin(self) -> None:
        """Nothing is reserved yet, and only the nodes of the surge have joined."""
        self._room.begin_anew()
        self._clear()
        for new, like in surged([self._targets[name] for name in self._loads], self._world.policy.surge or 0):
            self._room.join(new, like.name)

    def _clear(self) -> None:
        self._places: dict[str, str] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self._in_place_of: dict[str, str] = {}  # name of a new node → the drained one
        self._admitted: set[str] = set()
        self._late: set[PodClass] = set()  # what has a place only when nodes that are refused are drained
        self._lacked: dict[str, _Lack] = {}
        self._models: dict[_Load, _Load] = {}  # the first load of those that are alike to the scheduler
        self._alike: dict[object, _Load] = {}
        self._refused: dict[_Load, int] = {}  # since room last changed: which of its pods certainly had no place

    def extend(self, going: Mapping[str, Sequence[Pod]]) -> ReplacementPlaces:
        """How nodes land that were not among those so far, after all of them; nothing of it is kept."""
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
        """See `PlacementReservations` of the simulation; it is taken partly only where the user wants that."""
        if partly and self._all_or_nothing:
            return False  # as it was said to the thorough question before
        load, free = self._loads[node], self._room.free
        lacked = self._lacked.get(node)
        if lacked is not None and not thorough:
            if free.cpu < lacked.cpu or free.memory < lacked.memory:
                return False  # what was left over was of no use for it, so that it asks for more
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
        """A place for each pod, or none at all."""
        room, names, stay_first = self._room, [], self._stay_first
        model = self._model(load) if thorough else load
        if model in self._refused:  # many nodes are alike, and each that is left asks whenever one may be begun
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
        """Note that the pod of that number found no place for a load."""
        room, kind = self._room, load.pods[number][2]
        if thorough:
            self._refused[self._model(load)] = number
            room.remember(kind)
            return _Lack(kind, room.joined)
        asked = [new.placement.requests for _, _, new in load.pods[number:]]
        cpu, memory = sum([each.cpu for each in asked]), sum([each.memory for each in asked])
        return _Lack(kind, room.joined, room.free.cpu + cpu, room.free.memory + memory)

    def _model(self, load: _Load) -> _Load:
        """The first of the loads that find the same places: nothing but room decides about their pods."""
        found = self._models.get(load)
        if found is None:
            kinds = [new for _, _, new in load.pods]
            plain = all(kind.alone and not kind.counted for kind in kinds)
            alike = tuple((kind.fence, kind.volumes, kind.placement.requests) for kind in kinds) if plain else load
            found = self._models[load] = self._alike.setdefault(alike, load)
        return found

    def _some_places(self, load: _Load) -> dict[str, str]:
        """Places for those pods that have one."""
        places = {}
        for pod, old, new in load.pods:
            before = self._room.mark()
            place = self._move(pod, old, new)
            if place:
                places[pod.uid] = place
            else:
                self._room.back_to(before)  # it stays, and others must do with its being there
                self._room.remember(new)
        return places

    def renew(self, node: str) -> None:
        """See `PlacementReservations` of the simulation; a node on which something stays is not replaced."""
        if node in self._partly or not (self._housed(node) or self._has_places(node)):
            return
        new = copy(self._targets[node], "new")
        self._in_place_of[new.name] = node
        self._room.join(new, node)
        self._refused.clear()

    def landing(self, order: Iterable[str]) -> ReplacementPlaces:
        """What became of it: `order` are the nodes in the order in which they would be drained."""
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
        """The pods that come again as one of `kinds`."""
        for load in self._loads.values() if kinds else ():
            yield from ((pod, new) for pod, _, new in load.pods if new in kinds)

    def _housed(self, node: str) -> bool:
        """Whether all that comes again from `node` is known to have its place, without looking at each pod."""
        return self._all_or_nothing and node in self._admitted

    def _has_places(self, node: str) -> bool:
        return all(pod.uid in self._places for pod, _, _ in self._loads[node].pods)

    def _lost(self, node: str, landed: list[Placed]) -> list[tuple[Pod, PodClass]]:
        """What of `node` finds no place: of one that was not admitted always something, else it is as good as admitted.

        For it, all of its pods go, so that what is missing is counted for the whole drain. That makes room for nodes
        after it, which they have not as long as it stays. `landed` grows by what has a place.
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
        """The nodes that would take it by now, as a reason: the others' going made them do so, or there are none."""
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
        # The largest first: they are the ones that need the room as it is.
        cpu = memory = 0
        sized = []
        for i, pod in enumerate(pods):
            asked = pod.placement.requests
            cpu += asked.cpu
            memory += asked.memory
            sized.append((-asked.cpu, -asked.memory, pod.namespace, pod.name, i, pod))
        sized.sort()  # two pods are never compared: none has the number of another
        if self._world.policy.surge_singles:
            self._stay_first |= {each[5].uid for each in sized if restarted(self._world, each[5]) is not None}
        classes_of, loaded = self._room.classes_of, []
        for each in sized:
            pod = each[5]
            old, new = classes_of(pod)
            # One that has ended takes nothing.
            loaded.append((pod, old if old.counted and not pod.finished else None, new))
        return _Load(tuple(loaded), tuple([each[5].uid for each in sized]), cpu, memory)
