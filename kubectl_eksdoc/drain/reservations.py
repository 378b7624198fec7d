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

from .filter_verdicts import restarted_workload
from .new_nodes import copy_node, distinct_nodes, fits_requests, surge_nodes
from .nodes import DrainContext
from .preemption import NO_PREEMPTION, PlacedPod, Preemption, find_preemption
from .room import PlacementRoom, RefusalCounter, RefusalReasons
from .timeline import build_tuple

# New nodes for pods without a place: how many, and of which existing node each is a copy.


MAX_NEW_NODES = 5000
"""The most new nodes that are simulated."""

MAX_OPEN_NODES = 16
"""This many of the latest new nodes are tried before another one is added."""

NodeAdder = Callable[[Node, Mapping[str, int]], bool]
"""Whether one more node like this one is added automatically, after so many new nodes (by name of the node each
copies)."""

_NewNodeHelp = tuple[Node | None, bool, str]
"""The fields of `UnplacedPod` that describe the new node: its template, whether it is added automatically, its name."""

_NO_NEW_NODE: _NewNodeHelp = (None, False, "")


class ExtraNodes:
    """Puts pods without a place on new nodes, each a copy of an existing one; nodes that are added automatically come
    first."""

    def __init__(self, context: DrainContext, room: PlacementRoom, can_add_node: NodeAdder) -> None:
        targets = {node.name for node in context.targets}
        # Nodes outside the targets first: more nodes like those being drained are the last advice.
        models = distinct_nodes(sorted(context.cluster.nodes, key=lambda n: n.name in targets))
        self._models = sorted(models, key=lambda n: n.name in targets)
        self._provisionable = self._models  # templates of which one more may be added automatically
        self._room = room
        self._node_adder = can_add_node
        self._copies = {True: _NewNodes(room), False: _NewNodes(room)}
        self._created_count = 0
        self._unplaceable: set[int] = set()
        self.provisioned_nodes: Counter[str] = Counter()
        self.missing_nodes: Counter[str] = Counter()

    def place_pod(self, pod_class: PodClass) -> _NewNodeHelp:
        """Put one such pod on a new node, if one helps."""
        if id(pod_class) in self._unplaceable:
            return _NO_NEW_NODE
        for provisioned in (True, False):
            new_node = self._copies[provisioned].take(pod_class) or self._place_on_new_copy(pod_class, provisioned)
            if new_node is not None:
                return new_node[1], provisioned, new_node[0]
        self._unplaceable.add(id(pod_class))
        return _NO_NEW_NODE

    def _place_on_new_copy(self, pod_class: PodClass, provisioned: bool) -> _NewNode | None:
        if self._created_count == MAX_NEW_NODES:
            return None
        if provisioned:  # a template that gets no more nodes now gets none later
            self._provisionable = [
                template for template in self._provisionable if self._node_adder(template, self.provisioned_nodes)
            ]
        for template in self._provisionable if provisioned else self._models:
            mark = self._room.mark()
            new_node = copy_node(template, f"new {self._created_count + 1}")
            self._room.join(new_node, template.name)
            if self._room.fits(pod_class, new_node.name):
                self._room.place_on(pod_class, new_node.name)
                self._created_count += 1
                placed = new_node.name, template, self._room.occupancy.by_node[new_node.name]
                self._copies[provisioned].created.append(placed)
                (self.provisioned_nodes if provisioned else self.missing_nodes)[template.name] += 1
                return placed
            self._room.undo_to(mark)
        return None


_NewNode = tuple[str, Node, NodeOccupancy]
"""The name of a new node, the node that it copies, and its free room."""


class _NewNodes:
    """New nodes that only fill up; the latest of them are tried before another one is added."""

    def __init__(self, room: PlacementRoom) -> None:
        self._room = room
        self._full_count: dict[PodClass, int] = {}  # class → how many, from the first on, are full for it
        self._fit_tests: dict[PodClass, Callable[[NodeOccupancy], bool]] = {}
        self.created: list[_NewNode] = []

    def take(self, pod_class: PodClass) -> _NewNode | None:
        """Put one such pod on the first of the open nodes that takes it."""
        copies = self.created
        if not copies:
            return None
        fits = self._fit_tests.get(pod_class) or self._fit_tests.setdefault(
            pod_class, fits_requests(pod_class.placement.requests)
        )
        first, last = max(self._full_count.get(pod_class, 0), len(copies) - MAX_OPEN_NODES), len(copies)
        while first < last and not fits(copies[first][2]):
            first += 1
        self._full_count[pod_class] = first
        for index in range(first, last):
            if self._room.fits(pod_class, copies[index][0]):
                self._room.place_on(pod_class, copies[index][0])
                return copies[index]
        return None


TOO_LATE = "node(s) have a place only once pods have left nodes that are not drained"


class UnplacedPod(NamedTuple):
    """A pod whose replacement finds no place. `reasons`: the scheduler's, each with how many nodes give it.

    `template_node`: a new copy of this node would take it; None where no new node helps. `is_provisioned`: the copy is
    added automatically. `new_node`: its name.
    """

    pod: Pod
    node: str
    reasons: tuple[tuple[str, int], ...]
    template_node: Node | None = None
    is_provisioned: bool = False
    new_node: str = ""


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

    unplaced: Mapping[str, UnplacedPod] = field(default_factory=dict)
    provisioned_nodes: Mapping[str, int] = field(default_factory=dict)
    missing_nodes: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uncertain: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown_capacity: tuple[str, ...] = ()
    preemption: Preemption = NO_PREEMPTION
    may_be_pending: frozenset[str] = frozenset()

    @property
    def waiting_for_nodes(self) -> dict[str, str]:
        """Pod uid → the new node, added automatically, that it waits for."""
        return {uid: each.new_node for uid, each in self.unplaced.items() if each.is_provisioned}


@frozen(eq=False)
class _NodeLoad:
    """The evicted pods of one node whose replacements need places, largest first: each pod, its class (None if it is
    not counted on its node), and the class of its replacement."""

    pods: tuple[tuple[Pod, PodClass | None, PodClass], ...]
    uids: tuple[str, ...]
    cpu: int
    memory: int


class _Shortfall(NamedTuple):
    """The pod class of a node that found no place when `joined_count` new nodes had joined. `cpu` and `memory`: the
    free resources of all nodes together at which there may be a place for it and for the pods after it; 0 where not
    computed."""

    pod_class: PodClass
    joined_count: int
    cpu: int = 0
    memory: int = 0


class PlacementReservations:
    """Reserves places while the simulation runs (its `PlacementAdmission`). Create it once, and `reset` it for every
    order."""

    def __init__(
        self, context: DrainContext, can_add_node: NodeAdder, partial_nodes: frozenset[str] = frozenset()
    ) -> None:
        """On `partial_nodes` some pods stay."""
        self._context = context
        self._room = PlacementRoom(context)
        self._can_add_node = can_add_node
        self._partial_nodes = partial_nodes
        self._targets = {node.name: node for node in context.targets}
        self._loads: dict[str, _NodeLoad] = {}
        self._surge_uids: set[str] = set()  # uids of pods that stop after their new pod is Ready
        self._all_or_nothing = not context.policy.partial
        self._clear()

    def add_node(self, node: str, pods: Iterable[Pod]) -> None:
        """Add a node and those of its evicted pods whose replacements need places; all nodes are added before the first
        `reset`."""
        self._loads[node] = self._build_load(pods)

    @property
    def requested(self) -> dict[str, tuple[int, int, int]]:
        """Node → total requests of its replacements: millicores, bytes, pods."""
        return {name: (load.cpu, load.memory, len(load.pods)) for name, load in self._loads.items()}

    def reset(self) -> None:
        """Release all places; only the new nodes of ``--surge`` have joined."""
        self._room.reset()
        self._clear()
        for new_node, model_node in surge_nodes(
            [self._targets[name] for name in self._loads], self._context.policy.surge or 0
        ):
            self._room.join(new_node, model_node.name)

    def _clear(self) -> None:
        self._places: dict[str, str] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self._drained_by_new_node: dict[str, str] = {}  # new node → drained node
        self._admitted: set[str] = set()
        self._late_classes: set[PodClass] = set()  # classes with a place only after refused nodes are drained
        self._shortfalls: dict[str, _Shortfall] = {}
        self._models: dict[_NodeLoad, _NodeLoad] = {}  # the first of equivalent loads
        self._loads_by_key: dict[object, _NodeLoad] = {}
        self._refused_loads: dict[_NodeLoad, int] = {}  # since room last changed: index of the pod without a place

    def place_additional(self, pods_by_node: Mapping[str, Sequence[Pod]]) -> ReplacementPlaces:
        """The placement of additional nodes after all others; nothing of it is kept."""
        mark, late_classes = self._room.mark(), set(self._late_classes)
        saved_state = self._places, self._needs, self._admitted, self._shortfalls, self._loads
        self._room.reorder_nodes()
        self._refused_loads.clear()
        self._places, self._needs, self._admitted, self._shortfalls = {}, {}, set(), {}
        self._loads = {name: self._build_load(pods) for name, pods in pods_by_node.items()}
        for node in pods_by_node:
            self.admit(node, thorough=True, partly=not self._all_or_nothing)
        placement = self.placement(pods_by_node)
        self._places, self._needs, self._admitted, self._shortfalls, self._loads = saved_state
        self._late_classes = late_classes
        self._room.undo_to(mark)
        self._room.forget_maxima()
        self._refused_loads.clear()
        return placement

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        """See `PlacementAdmission`; a node is admitted partly only with ``--partial``."""
        if partly and self._all_or_nothing:
            return False  # the thorough question has got the same answer
        load, free_resources = self._loads[node], self._room.free_resources
        shortfall = self._shortfalls.get(node)
        if shortfall is not None and not thorough:
            if free_resources.cpu < shortfall.cpu or free_resources.memory < shortfall.memory:
                return False  # the free room was of no use for it: it needs more
            if not self._room.may_have_place(shortfall.pod_class, shortfall.joined_count):
                return False
        if not partly and (
            load.cpu > free_resources.cpu or load.memory > free_resources.memory or len(load.pods) > free_resources.pods
        ):
            return False
        places = self._some_places(load) if partly else self._all_places(node, load, thorough)
        if places is None:
            return False
        self._refused_loads.clear()
        placed_load = self._build_load(pod for pod, _, _ in load.pods if pod.uid in places) if partly else load
        self._room.use_free(placed_load.cpu, placed_load.memory, len(placed_load.pods))
        self._places |= places
        new_nodes = self._drained_by_new_node.keys() & set(places.values())
        if new_nodes:
            self._needs[node] = tuple(sorted([self._drained_by_new_node[name] for name in new_nodes]))
        self._admitted.add(node)
        return True

    def _all_places(self, node: str, load: _NodeLoad, thorough: bool) -> dict[str, str] | None:
        """A place for each pod, or None."""
        room, names, surge_uids = self._room, [], self._surge_uids
        representative = self._representative(load) if thorough else load
        if representative in self._refused_loads:  # many nodes are equivalent, and each asks often
            self._shortfalls[node] = _Shortfall(load.pods[self._refused_loads[representative]][2], room.joined_count)
            return None
        mark = room.mark()
        for number, (pod, old_class, new_class) in enumerate(load.pods):
            is_surge = bool(surge_uids) and pod.uid in surge_uids
            if old_class is not None and not is_surge:
                room.remove(old_class, node)
            place = room.place(new_class, thorough)
            if is_surge and old_class is not None and place:
                room.remove(old_class, node)
            if not place:
                room.undo_to(mark)
                room.reorder_filled()
                self._shortfalls[node] = self._record_shortfall(load, number, thorough)
                return None
            names.append(place)
        room.reorder_filled()
        return dict(zip(load.uids, names, strict=True))

    def _record_shortfall(self, load: _NodeLoad, number: int, thorough: bool) -> _Shortfall:
        """Note that the pod at this index found no place for a load."""
        room, pod_class = self._room, load.pods[number][2]
        if thorough:
            self._refused_loads[self._representative(load)] = number
            room.remember_maxima(pod_class)
            return _Shortfall(pod_class, room.joined_count)
        requests = [new_class.placement.requests for _, _, new_class in load.pods[number:]]
        cpu, memory = sum([each.cpu for each in requests]), sum([each.memory for each in requests])
        return _Shortfall(
            pod_class, room.joined_count, room.free_resources.cpu + cpu, room.free_resources.memory + memory
        )

    def _representative(self, load: _NodeLoad) -> _NodeLoad:
        """The first of the loads that find the same places, because only room decides about their pods."""
        representative = self._models.get(load)
        if representative is None:
            pod_classes = [new_class for _, _, new_class in load.pods]
            is_plain = all(pod_class.needs_only_room and not pod_class.is_counted for pod_class in pod_classes)
            load_key = (
                tuple(
                    (pod_class.node_filter, pod_class.volumes, pod_class.placement.requests)
                    for pod_class in pod_classes
                )
                if is_plain
                else load
            )
            representative = self._models[load] = self._loads_by_key.setdefault(load_key, load)
        return representative

    def _some_places(self, load: _NodeLoad) -> dict[str, str]:
        """Places for the pods that have one."""
        places = {}
        for pod, old_class, new_class in load.pods:
            mark = self._room.mark()
            place = self._move_pod(pod, old_class, new_class)
            if place:
                places[pod.uid] = place
            else:
                self._room.undo_to(mark)  # it stays, and keeps its room
                self._room.remember_maxima(new_class)
        return places

    def renew(self, node: str) -> None:
        """See `PlacementAdmission`; a node on which some pods stay is not replaced."""
        if node in self._partial_nodes or not (self._is_fully_placed(node) or self._has_all_places(node)):
            return
        new_node = copy_node(self._targets[node], "new")
        self._drained_by_new_node[new_node.name] = node
        self._room.join(new_node, node)
        self._refused_loads.clear()

    def placement(self, order: Iterable[str]) -> ReplacementPlaces:
        """The resulting placement; `order`: the nodes in the order in which they would be drained."""
        mark = self._room.mark()
        placed: list[PlacedPod] = []
        order = tuple(order)
        unplaced_rows = []
        if not all(map(self._is_fully_placed, order)):
            unplaced_rows = [
                (pod, node, new_class) for node in order for pod, new_class in self._unplaced_pods(node, placed)
            ]
        if unplaced_rows:
            self._room.count_all()
        needed_classes = dict.fromkeys([new_class for load in self._loads.values() for _, _, new_class in load.pods])
        tight_classes = {pod_class for pod_class in needed_classes if self._room.is_tight(pod_class)}
        preemption_result = find_preemption(
            self._context, self._room, [(pod, new_class) for pod, _, new_class in unplaced_rows], placed
        )
        refusal_counter = self._room.refusal_counter()
        unplaced_classes = dict.fromkeys([new_class for _, _, new_class in unplaced_rows])
        reasons = {
            new_class: (*refusal_counter.reasons(new_class), *self._too_late_reasons(new_class, refusal_counter))
            for new_class in unplaced_classes
        }
        extra_nodes = ExtraNodes(self._context, self._room, self._can_add_node)
        unplaced = {
            pod.uid: build_tuple(UnplacedPod, (pod, node, reasons[new_class], *extra_nodes.place_pod(new_class)))
            for pod, node, new_class in unplaced_rows
        }
        uncertain = {
            pod_class: doubt for pod_class in needed_classes if (doubt := self._room.unknown_reasons(pod_class))
        }
        self._room.undo_to(mark)
        self._room.forget_maxima()
        unknown_capacity = tuple(
            n.name for n in self._context.cluster.nodes if n.name not in self._targets and not n.allocatable
        )
        return ReplacementPlaces(
            unplaced,
            dict(extra_nodes.provisioned_nodes),
            dict(extra_nodes.missing_nodes),
            dict(self._places),
            dict(self._needs),
            {pod.uid: uncertain[new_class] for pod, new_class in self._pods_of_classes(uncertain)},
            unknown_capacity,
            preemption_result,
            frozenset([pod.uid for pod, _ in self._pods_of_classes(tight_classes)]),
        )

    def _pods_of_classes(self, pod_classes: Collection[PodClass]) -> Iterator[tuple[Pod, PodClass]]:
        """The pods whose replacements are of one of these classes."""
        for load in self._loads.values() if pod_classes else ():
            yield from ((pod, new_class) for pod, _, new_class in load.pods if new_class in pod_classes)

    def _is_fully_placed(self, node: str) -> bool:
        """Whether all replacements of `node` are known to have a place, without a check of each pod."""
        return self._all_or_nothing and node in self._admitted

    def _has_all_places(self, node: str) -> bool:
        return all(pod.uid in self._places for pod, _, _ in self._loads[node].pods)

    def _unplaced_pods(self, node: str, placed: list[PlacedPod]) -> list[tuple[Pod, PodClass]]:
        """The pods of `node` without a place; never empty for a node that was not admitted.

        All pods of such a node are moved here, so that missing nodes are counted for the whole drain. That makes room
        for later nodes which they do not have while it stays. Pods with a place are added to `placed`.
        """
        unplaced = []
        for pod, old_class, new_class in self._loads[node].pods:
            place = self._places.get(pod.uid, "")
            if not place and node not in self._admitted:
                place = self._move_pod(pod, old_class, new_class)
                if not place:
                    self._room.remember_maxima(new_class)
            if place:
                placed.append((pod, new_class, place))
            else:
                unplaced.append((pod, new_class))
        pods = self._loads[node].pods
        if unplaced or not pods or node in self._admitted:
            return unplaced
        shortfall = self._shortfalls.get(node)
        pod, _, new_class = next(
            (each for each in pods if shortfall is not None and each[2] is shortfall.pod_class), pods[0]
        )
        self._late_classes.add(new_class)
        return [(pod, new_class)]

    def _too_late_reasons(self, new_class: PodClass, refusal_counter: RefusalCounter) -> RefusalReasons:
        """The number of nodes that would take it by now, as a reason: these have room only after other pods have
        left."""
        count = (
            0
            if new_class.needs_only_room and new_class not in self._late_classes
            else refusal_counter.count_takers(new_class)
        )
        return ((TOO_LATE, count),) if count else ()

    def _move_pod(self, pod: Pod, old_class: PodClass | None, new_class: PodClass) -> str:
        is_surge = pod.uid in self._surge_uids
        if old_class is not None and not is_surge:
            self._room.remove(old_class, pod.node)
        place = self._room.place(new_class)
        if old_class is not None and is_surge and place:
            self._room.remove(old_class, pod.node)
        return place

    def _build_load(self, pods: Iterable[Pod]) -> _NodeLoad:
        # The largest first: they need the room before it is fragmented.
        cpu = memory = 0
        rows = []
        for i, pod in enumerate(pods):
            requests = pod.placement.requests
            cpu += requests.cpu
            memory += requests.memory
            rows.append((-requests.cpu, -requests.memory, pod.namespace, pod.name, i, pod))
        rows.sort()  # two pods are never compared: their indexes differ
        if self._context.policy.surge_singles:
            self._surge_uids |= {row[5].uid for row in rows if restarted_workload(self._context, row[5]) is not None}
        classes_of, loaded = self._room.classes_of, []
        for row in rows:
            pod = row[5]
            old_class, new_class = classes_of(pod)
            # A finished pod uses no resources.
            loaded.append((pod, old_class if old_class.is_counted and not pod.finished else None, new_class))
        return _NodeLoad(tuple(loaded), tuple([row[5].uid for row in rows]), cpu, memory)
