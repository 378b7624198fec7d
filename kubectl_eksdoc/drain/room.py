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
from kubectl_eksdoc.model.placement import CPU, EPHEMERAL_STORAGE, MEMORY, ResourceRequests

from .new_nodes import EmptiestNodes, cordoned_copy, fits_requests
from .nodes import DrainContext

# Why no node takes a pod, counted over all nodes; fast, as there may be thousands of nodes and classes of pods.


RefusalReasons = tuple[tuple[str, int], ...]


class RefusalCounter:
    """Counts refusals for the `occupancy` as it is now: create a new counter when it has changed."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        self._filtered: dict[NodeFilter, _FilteredNodes] = {}
        self._reasons: dict[object, RefusalReasons] = {}
        self._takers: dict[object, int] = {}  # classes for which every node was checked

    def reasons(self, pod_class: PodClass) -> RefusalReasons:
        """The scheduler's reasons, each with the number of nodes that give it, the most frequent first."""
        class_key = self._class_key(pod_class)
        if class_key not in self._reasons:
            counts = self._count_reasons(pod_class)
            self._reasons[class_key] = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        return self._reasons[class_key]

    def _class_key(self, pod_class: PodClass) -> object:
        """A key that classes share if they are refused for the same reasons; the class itself where it is special."""
        requests = pod_class.placement.requests
        if pod_class.needs_only_room:
            return (pod_class.node_filter, pod_class.volumes, requests)
        if (
            pod_class.attaches is None
            or pod_class.placement.ports
            or pod_class.affinity
            or pod_class.anti_affinity
            or pod_class.limits
            or pod_class.matching_terms
        ):
            return pod_class
        # Other volumes of the same drivers: it differs which are attached already, but no node has room for more.
        drivers = Counter(volume.driver for volume in pod_class.attaches.shared)
        return (
            pod_class.node_filter,
            pod_class.volumes,
            requests,
            tuple(sorted(drivers.items())),
            pod_class.attaches.own,
        )

    def count_takers(self, pod_class: PodClass) -> int:
        """How many nodes take such a pod; fast after `reasons`, unless only room decides."""
        if pod_class not in self._takers:
            self._takers[pod_class] = self._refusals(pod_class).count(None)
        return self._takers[pod_class]

    def _filtered_nodes(self, pod_class: PodClass) -> _FilteredNodes:
        if pod_class.node_filter not in self._filtered:
            self._filtered[pod_class.node_filter] = _FilteredNodes(
                pod_class.node_filter, self._occupancy.by_node.values()
            )
        return self._filtered[pod_class.node_filter]

    def _refusals(self, pod_class: PodClass) -> list[SchedulingRefusal | None]:
        """The answers of the nodes that pass the node filter and have room."""
        filtered = self._filtered_nodes(pod_class)
        candidates = (
            filtered.accepting if pod_class.placement.ports else filtered.with_room(pod_class.placement.requests)
        )
        return [self._occupancy.refusal(pod_class, node_room.node.name) for node_room in candidates]

    def _count_reasons(self, pod_class: PodClass) -> Counter[str]:
        filtered, requests = self._filtered_nodes(pod_class), pod_class.placement.requests
        if pod_class.needs_only_room and pod_class.volumes == NO_VOLUMES:
            return filtered.refused_reasons + filtered.insufficient(requests)
        refusals = self._refusals(pod_class)
        self._takers[pod_class] = refusals.count(None)
        reasons = Counter(reason for each in refusals if each is not None for reason in each.reasons)
        # The scheduler checks ports before room, and all else after it.
        return (
            filtered.refused_reasons
            + reasons
            + (Counter() if pod_class.placement.ports else filtered.insufficient(requests))
        )


class _FilteredNodes:
    """The nodes that a node filter refuses, with its reasons, and the free room of the nodes that it accepts."""

    def __init__(self, fence: NodeFilter, node_rooms: Iterable[NodeOccupancy]) -> None:
        self.refused_reasons: Counter[str] = Counter()
        self.accepting = []
        for node_room in node_rooms:
            refusal = fence.refusal(node_room.node)
            if refusal is None:
                self.accepting.append(node_room)
            else:
                self.refused_reasons.update(refusal.reasons)
        self.accepting.sort(key=lambda node_room: node_room.room.cpu)
        rooms = [node_room.room for node_room in self.accepting]
        self._cpu = [room.cpu for room in rooms]
        self._memory = sorted(room.memory for room in rooms)
        self._ephemeral = sorted(room.ephemeral for room in rooms)
        self._full_count = sum(room.pods <= 0 for room in rooms)
        self._roomy: dict[ResourceRequests, list[NodeOccupancy]] = {}

    def with_room(self, requests: ResourceRequests) -> list[NodeOccupancy]:
        """The nodes with room for the requests."""
        fitting_nodes = self._roomy.get(requests)
        if fitting_nodes is None:
            first = bisect_left(self._cpu, requests.cpu) if requests.cpu else 0
            fitting_nodes = self._roomy[requests] = list(filter(fits_requests(requests), self.accepting[first:]))
        return fitting_nodes

    def insufficient(self, requests: ResourceRequests) -> Counter[str]:
        """Reasons of NodeResourcesFit: a resource that is not requested is never insufficient."""
        counts = {TOO_MANY_PODS: self._full_count}
        for name, amount, free in (
            (CPU, requests.cpu, self._cpu),
            (MEMORY, requests.memory, self._memory),
            (EPHEMERAL_STORAGE, requests.ephemeral, self._ephemeral),
        ):
            counts[f"Insufficient {name}"] = bisect_left(free, amount) if amount else 0
        for name, amount in requests.others:
            counts[f"Insufficient {name}"] = (
                sum(node_room.room.remaining(name) < amount for node_room in self.accepting) if amount else 0
            )
        return +Counter(counts)


class PlacementRoom:
    """The cluster with all targets cordoned: replacements are placed on the other nodes, and on new ones.

    Mutable; every change since `mark` can be undone.
    """

    def __init__(self, context: DrainContext) -> None:
        cluster = context.cluster
        targets = {node.name for node in context.targets}
        nodes = [cordoned_copy(n) if n.name in targets else n for n in cluster.nodes]
        storage = Storage.of_cluster(cluster)
        namespaces = None if cluster.not_read(kinds.NAMESPACES) else {n.name: n.labels for n in cluster.namespaces}
        self._occupancy = Occupancy.of(nodes, cluster.pods, namespaces, storage, targets)
        self._daemon_pods_on = context.daemon_pods_on
        self._emptiest_nodes: dict[tuple[NodeFilter, VolumeDemand], EmptiestNodes] = {}
        self._placement_paths: dict[PodClass, _PlacementPath] = {}
        self._undo_log: list[_UndoStep] = []
        self._joined_nodes: list[NodeOccupancy] = []
        self.free_resources = _FreeResources()  # lower bound: on all nodes that are not cordoned
        for node_room in self._occupancy.by_node.values():
            if not node_room.node.unschedulable:
                self.free_resources.add(node_room)

    def classes_of(self, pod: Pod) -> tuple[PodClass, PodClass]:
        """The scheduling class of the pod, and that of its replacement."""
        return self._occupancy.classes_of(pod)

    def mark(self) -> int:
        """A position for `undo_to`."""
        return len(self._undo_log)

    def reorder_filled(self) -> None:
        """Update the order of nodes that were filled since the last time, and may have been emptied again: otherwise
        they are tried as late as full nodes."""
        for emptiest in self._emptiest_nodes.values():
            emptiest.reorder_filled()

    def undo_to(self, mark: int) -> None:
        """Undo all changes since `mark`."""
        while len(self._undo_log) > mark:
            step = self._undo_log.pop()
            if isinstance(step, tuple):
                node_room, pod_class = step
                node_room.room.take(pod_class.placement.requests, -1)
            else:
                step()

    def reset(self) -> None:
        """Return to the initial state, so that the same questions get the same answers."""
        self.undo_to(0)
        self.reorder_nodes()

    def reorder_nodes(self) -> None:
        """Put the emptiest nodes first again, however they were filled and emptied before."""
        for emptiest in self._emptiest_nodes.values():
            emptiest.reorder_all()

    def remove(self, pod_class: PodClass, node: str) -> None:
        """A pod leaves its node. The node is cordoned, so its room is of no use to others."""
        if not pod_class.is_counted:
            return
        self._occupancy.take(pod_class, node)
        self._undo_log.append(partial(self._occupancy.put, pod_class, node))

    def place(self, pod_class: PodClass, thorough: bool = True) -> str:
        """Put one such pod on the emptiest node that can take it; returns the node's name, "" if there is none.

        If not `thorough`, only a few nodes are tried: there may be a place that is not found.
        """
        emptiest, requests, is_plain = self._placement_paths.get(pod_class) or self._placement_path(pod_class)
        if is_plain:  # most pods
            node_room = emptiest.take(requests, thorough)
            if node_room is None:
                return ""
            self._undo_log.append((node_room, pod_class))
            return node_room.node.name
        if emptiest.is_too_large(requests):
            return ""
        has_place = self._occupancy.fits_now
        node_room = emptiest.find(lambda node_room: has_place(pod_class, node_room), thorough)
        if node_room is None:
            return ""
        self._place_on(pod_class, node_room)
        return node_room.node.name

    def use_free(self, cpu: int, memory: int, pods: int) -> None:
        """Reduce the free resources by the total requests of pods that have their places."""
        self.free_resources.take(cpu, memory, pods)
        self._undo_log.append(partial(self.free_resources.take, -cpu, -memory, -pods))

    def forget_maxima(self) -> None:
        """Undo `remember_maxima`: there is more room again."""
        for emptiest in self._emptiest_nodes.values():
            emptiest.forget_maxima()

    @property
    def joined_count(self) -> int:
        """How many new nodes have joined."""
        return len(self._joined_nodes)

    def may_have_place(self, pod_class: PodClass, since: int) -> bool:
        """Whether one of the few emptiest nodes takes such a pod, which found no place when `since` new nodes had
        joined."""
        if pod_class.needs_only_room:  # the other nodes have only filled up
            return any(self.fits(pod_class, node_room.node.name) for node_room in self._joined_nodes[since:])
        emptiest, requests, _ = self._placement_path(pod_class)
        has_place = self._occupancy.fits_now
        return (
            not emptiest.is_too_large(requests)
            and emptiest.find(lambda candidate: has_place(pod_class, candidate), False) is not None
        )

    def remember_maxima(self, pod_class: PodClass) -> None:
        """Remember the room that such pods have now: it only shrinks until a node joins, or pods are removed again."""
        emptiest, requests, _ = self._placement_path(pod_class)
        if not emptiest.is_too_large(requests):
            emptiest.remember_maxima()

    def is_tight(self, pod_class: PodClass) -> bool:
        """Whether none of the few emptiest nodes that accept such a pod has room for one more."""
        emptiest, requests, _ = self._placement_path(pod_class)
        return emptiest.is_too_large(requests) or emptiest.find(fits_requests(requests), thorough=False) is None

    def place_on(self, pod_class: PodClass, name: str) -> None:
        """Put one such pod on the node of that name."""
        self._place_on(pod_class, self._occupancy.by_node[name])

    def _place_on(self, pod_class: PodClass, node_room: NodeOccupancy) -> None:
        if not pod_class.is_counted:
            node_room.room.take(pod_class.placement.requests)
            self._undo_log.append((node_room, pod_class))
            return
        self._undo_log.append(self._place_counted(pod_class, node_room.node.name))

    def _place_counted(self, pod_class: PodClass, name: str) -> Callable[[], object]:
        """Put the pod on the node so that it is counted by class, too; returns the function that undoes it."""
        self._occupancy.put(pod_class, name)
        return partial(self._occupancy.take, pod_class, name)

    def count_all(self) -> None:
        """From now on any pod can be removed from its node, including pods of which only the requests were counted."""
        for i, step in enumerate(self._undo_log):
            if isinstance(step, tuple):
                node_room, pod_class = step
                node_room.room.take(pod_class.placement.requests, -1)
                self._undo_log[i] = self._place_counted(pod_class, node_room.node.name)

    def fits(self, pod_class: PodClass, name: str) -> bool:
        """Whether the node of that name takes such a pod."""
        node_room = self._occupancy.by_node[name]
        return self._occupancy.fits_now(pod_class, node_room) and _accepts_class(pod_class, node_room)

    def join(self, node: Node, model_name: str) -> None:
        """Add a new node, with the DaemonSet pods that run on the node `model_name`."""
        self._occupancy.add_node(node, model_name)
        for pod in self._daemon_pods_on.get(model_name, ()):
            self._occupancy.put(self._occupancy.successor_of(pod), node.name)
        node_room = self._occupancy.by_node[node.name]
        self._joined_nodes.append(node_room)
        self.free_resources.add(node_room)
        for (fence, volume_demand), emptiest in self._emptiest_nodes.items():
            if fence.refusal(node) is None and volumes.volume_refusal(volume_demand, node) is None:
                emptiest.add(node_room)

        def undo() -> None:
            self._joined_nodes.pop()
            self.free_resources.add(node_room, -1)
            self._occupancy.remove_node(node.name)
            self._emptiest_nodes.clear()
            self._placement_paths.clear()

        self._undo_log.append(undo)

    @property
    def occupancy(self) -> Occupancy:
        """The current pods of all nodes; a caller that changes it must restore it."""
        return self._occupancy

    def unknown_reasons(self, pod_class: PodClass) -> tuple[str, ...]:
        return self._occupancy.uncertainties(pod_class)

    def refusal_counter(self) -> RefusalCounter:
        """Tells why no node takes a pod class now: as FailedScheduling events do, with numbers of nodes."""
        return RefusalCounter(self._occupancy)

    def _placement_path(self, pod_class: PodClass) -> _PlacementPath:
        path = self._placement_paths.get(pod_class)
        if path is None:
            key = (pod_class.node_filter, pod_class.volumes)
            emptiest = self._emptiest_nodes.get(key)
            if emptiest is None:
                node_rooms = self._occupancy.by_node.values()
                emptiest = self._emptiest_nodes[key] = EmptiestNodes(
                    node_room for node_room in node_rooms if _accepts_class(pod_class, node_room)
                )
            # All classes are known when the first pod is placed: a replacement has no scheduling term that its pod did
            # not have.
            is_plain = pod_class.needs_only_room and not pod_class.is_counted
            path = self._placement_paths[pod_class] = emptiest, pod_class.placement.requests, is_plain
        return path


def _accepts_class(pod_class: PodClass, node_room: NodeOccupancy) -> bool:
    """Whether the node itself, without its pods, accepts such pods."""
    return (
        pod_class.node_filter.refusal(node_room.node) is None
        and volumes.volume_refusal(pod_class.volumes, node_room.node) is None
    )


_PlacementPath = tuple[EmptiestNodes, ResourceRequests, bool]
"""How a place is found for one pod class: the nodes that accept it, its requests, and whether only the requests
decide."""

_UndoStep = Callable[[], object] | tuple[NodeOccupancy, PodClass]
"""Undoes one change: a function to call, or the node and class of a pod whose requests are released."""


class _FreeResources:
    """The total free resources of some nodes."""

    __slots__ = ("cpu", "memory", "pods")

    def __init__(self) -> None:
        self.cpu = self.memory = self.pods = 0

    def add(self, node_room: NodeOccupancy, count: int = 1) -> None:
        self.cpu += count * max(0, node_room.room.cpu)
        self.memory += count * max(0, node_room.room.memory)
        self.pods += count * max(0, node_room.room.pods)

    def take(self, cpu: int, memory: int, pods: int) -> None:
        self.cpu -= cpu
        self.memory -= memory
        self.pods -= pods
