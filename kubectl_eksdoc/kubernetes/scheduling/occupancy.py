"""Occupancy of nodes: which pods run where, and whether another pod fits. Updated pod by pod, at constant cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

from kubectl_eksdoc.model.nodes import ENDED, Node, Pod, VolumeKind
from kubectl_eksdoc.model.placing import PodTerm
from kubectl_eksdoc.model.selectors import Labels

from . import pod_affinity, refusals, spread, volumes
from .pod_affinity import (
    AntiAffinityTerm,
    PodAffinityTerms,
    PodClass,
    SchedulingTraits,
)
from .refusals import NodeFilter, NodeRoom, SchedulingRefusal, UsedPorts
from .spread import (
    DomainCounts,
    Domains,
    Limit,
    PodCounter,
    PodGroup,
    SpreadScope,
    WatcherIndex,
    Watchers,
)
from .volumes import EMPTY, NO_VOLUMES, NodeVolumes, Storage


class NodeOccupancy:
    """One node with its free room; `pod_counts` is the number of pods of each class on it."""

    __slots__ = ("attached", "held", "node", "ports", "room")

    def __init__(self, node: Node, attached: NodeVolumes) -> None:
        self.node = node
        self.room = NodeRoom(node.allocatable)
        self.ports = UsedPorts()
        self.attached = attached
        self.held: dict[PodClass, int] = {}


class Occupancy:
    """Nodes, and the pods placed on them, by class.

    Finished pods use no resources and must not be put. `namespaces` are the labels of each namespace, None if they were
    not read.
    """

    def __init__(
        self, nodes: Iterable[Node], namespaces: Mapping[str, Labels] | None = None, storage: Storage = EMPTY
    ) -> None:
        self._namespaces = namespaces or {}
        self._knows_namespaces = namespaces is not None
        self._storage = storage
        self._classes: dict[SchedulingTraits, PodClass] = {}
        self._alike: dict[object, tuple[PodClass, Pod]] = {}  # by shared objects, which the pod keeps alive
        self._fences: dict[object, NodeFilter] = {}
        self._terms: dict[object, AntiAffinityTerm] = {}
        self._companies: dict[object, PodAffinityTerms] = {}
        self._censuses: dict[object, DomainCounts] = {}
        self._domains: dict[SpreadScope, Domains] = {}
        self._watchers = Watchers()
        self._roll: WatcherIndex[PodClass] = WatcherIndex()
        self._candidates: dict[NodeFilter, dict[str, NodeOccupancy]] = {}
        self.seats: dict[str, NodeOccupancy] = {}
        for node in nodes:
            self.add_node(node)

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node],
        pods: Sequence[Pod],
        namespaces: Mapping[str, Labels] | None = None,
        storage: Storage = EMPTY,
        closed: Set[str] = frozenset(),
    ) -> Occupancy:
        """Build it with every pod on its node; pods that have finished, or whose node is empty or unknown, are skipped.

        Nothing will be put on the nodes `closed`: the use of their room does not matter, and is not counted.
        """
        made = cls(nodes, namespaces, storage)
        seats = made.seats
        placed = [pod for pod in pods if pod.node in seats and pod.phase not in ENDED]
        known = [made.class_of(pod) for pod in placed]
        # All terms are known by now, so none has to search for its pods among those already placed.
        counted = {kind for kind in made._classes.values() if kind.counted}
        for pod, kind in zip(placed, known, strict=True):
            if kind in counted or pod.node not in closed:
                made._move(kind, seats[pod.node], 1)
        for seat in seats.values():
            seat.attached.settle()
        return made

    def class_of(self, pod: Pod) -> PodClass:
        """The scheduling class of the pod."""
        # Replicas share these objects, and comparing object identities is faster than comparing contents.
        same: object = (id(pod.labels), id(pod.placement), id(pod.tolerations), pod.namespace)
        if pod.volumes or pod.deletion_deadline is not None:
            same = same, pod.volumes, pod.deleting
        found = self._alike.get(same)
        if found is None:
            found = self._alike[same] = self.class_like(SchedulingTraits.of(pod)), pod
        return found[0]

    def successor_of(self, pod: Pod) -> PodClass:
        """The class of the pod that a controller creates as its replacement."""
        return self.classes_of(pod)[1]

    def classes_of(self, pod: Pod) -> tuple[PodClass, PodClass]:
        """The class of `pod`, and the class of its replacement."""
        kind = self.class_of(pod)
        if pod.deletion_deadline is None and (
            not pod.volumes or not any(each.kind is VolumeKind.EPHEMERAL for each in pod.volumes)
        ):
            return kind, kind
        new = volumes.made_anew(pod, self._storage) if pod.volumes else ()
        return kind, self.class_like(SchedulingTraits.of_successor(pod, new))

    def class_like(self, like: SchedulingTraits) -> PodClass:
        """The one class for these traits."""
        found = self._classes.get(like)
        return found if found is not None else self._learn(like)

    def put(self, kind: PodClass, name: str) -> None:
        """Add one pod to the node of that name."""
        self._move(kind, self.seats[name], 1)

    def take(self, kind: PodClass, name: str) -> None:
        """Remove one pod from the node. It must have been put."""
        if not kind.on.get(name):
            raise ValueError(f"no such pod is on {name}")
        self._move(kind, self.seats[name], -1)

    def candidates(self, kind: PodClass) -> Mapping[str, NodeOccupancy]:
        """The nodes that its node requirements and its volumes allow, kept up to date as nodes change."""
        found = self._candidates.get(kind.fence)
        if found is None:
            named = refusals.named_nodes(kind.fence.demand)
            seats = self.seats if named is None else {n: s for n, s in self.seats.items() if n in named}
            found = {name: seat for name, seat in seats.items() if kind.fence.refusal(seat.node) is None}
            self._candidates[kind.fence] = found
        if kind.volumes is NO_VOLUMES:
            return found
        return {name: seat for name, seat in found.items() if volumes.refusal(kind.volumes, seat.node) is None}

    def has_place(self, kind: PodClass, seat: NodeOccupancy) -> bool:
        """Whether one of `candidates` can take another pod, given the pods that are on it now."""
        if not seat.room.fits(kind.placement.requests):
            return False
        return kind.alone or (
            refusals.ports_refusal(kind.placement.ports, seat.ports) is None
            and volumes.attach_refusal(kind.attaches, seat.attached) is None
            and _beside_others(kind, seat.node.labels) is None
        )

    def refusal(self, kind: PodClass, name: str) -> SchedulingRefusal | None:
        """The refusal of the first filter that refuses the node, in the scheduler's order; None if the pod fits."""
        seat = self.seats[name]
        return (
            kind.fence.refusal(seat.node)
            or refusals.ports_refusal(kind.placement.ports, seat.ports)
            or refusals.resources_refusal(kind.placement.requests, seat.room)
            # A claim that no node can satisfy is found before any node is filtered (VolumeBinding.PreFilter).
            or (None if kind.volumes.never else volumes.attach_refusal(kind.attaches, seat.attached))
            or volumes.refusal(kind.volumes, seat.node)
            or _beside_others(kind, seat.node.labels)
        )

    def unknown(self, kind: PodClass) -> tuple[str, ...]:
        """Why no verdict on such a pod is certain; empty for almost all pods."""
        if self._knows_namespaces:
            return kind.unknown
        mine = kind.own + ((kind.company,) if kind.company else ())
        groups = [group for each in mine for group in each.groups]
        groups += [t.group for t in self._terms.values() if t.group.selector.matches(kind.labels)]
        if any(group.by_label for group in groups):
            return (*kind.unknown, "an affinity term picks namespaces by their labels, which were not read")
        return kind.unknown

    def reasons(self, kind: PodClass) -> Counter[str]:
        """How many nodes refuse for each reason, as a FailedScheduling event counts them."""
        refused = (self.refusal(kind, name) for name in self.seats)
        return Counter(reason for each in refused if each is not None for reason in each.reasons)

    def add_node(self, node: Node, like: str = "") -> None:
        """Add a new node without pods; it has the attach limits of the node called `limits_of` (default: its own)."""
        if node.name in self.seats:
            raise ValueError(f"node {node.name} is there already")
        seat = self.seats[node.name] = NodeOccupancy(node, volumes.of_node(node.name, self._storage, like))
        self._admit(seat)

    def drop_node(self, name: str) -> None:
        """Remove the node and its pods."""
        self._dismiss(self.seats[name])
        del self.seats[name]
        for found in self._candidates.values():
            found.pop(name, None)

    def change_node(self, node: Node) -> None:
        """Update the facts of a node (cordoned, tainted, labeled): its pods stay."""
        seat = self.seats[node.name]
        held = dict(seat.held)
        self._dismiss(seat)
        seat.node, seat.room = node, NodeRoom(node.allocatable)
        self._admit(seat)
        for kind, count in held.items():
            self._move(kind, seat, count)

    def _admit(self, seat: NodeOccupancy) -> None:
        for domains in self._domains.values():
            domains.admit(seat.node)
        for fence, found in self._candidates.items():
            if fence.refusal(seat.node) is None:
                found[seat.node.name] = seat
            else:
                found.pop(seat.node.name, None)

    def _dismiss(self, seat: NodeOccupancy) -> None:
        """Stop counting the node and everything on it."""
        for kind, count in list(seat.held.items()):
            self._move(kind, seat, -count)
        for domains in self._domains.values():
            domains.dismiss(seat.node.name)

    def _move(self, kind: PodClass, seat: NodeOccupancy, count: int) -> None:
        node, placement = seat.node, kind.placement
        seat.room.take(placement.requests, count)
        if kind.takes_more:
            seat.ports.add(placement.ports, count)
            if kind.attaches is not None:
                seat.attached.take(kind.attaches, count)
        for watcher in kind.watchers:
            watcher.count(node, count)
        for term in kind.own:
            term.hold(node, count)
        _add(kind.on, node.name, count)
        _add(seat.held, kind, count)

    def _learn(self, like: SchedulingTraits) -> PodClass:
        labels, placement, namespace = dict(like.labels), like.placement, like.namespace
        company = self._company(placement.affinity, namespace, labels)
        unread = ("its volumes are not known: claims or volumes were not read",)
        attaches = volumes.attach_demand(like.namespace, like.claims, like.disks, like.new, self._storage)
        doubts = unread if like.claims and not self._storage.known else volumes.doubts(attaches, self._storage)
        kind = PodClass(
            namespace=namespace,
            labels=labels,
            placement=placement,
            leaving=like.leaving,
            fence=self._fence(like),
            volumes=volumes.demand(namespace, like.claims, self._storage) if self._storage.known else NO_VOLUMES,
            attaches=attaches,
            takes_more=bool(placement.ports or attaches),
            unknown=placement.not_modelled + doubts,
            company=company,
            counts_itself=company is not None and company.matches(namespace, labels),
            own=tuple(self._term(term, namespace, labels) for term in placement.anti_affinity),
            limits=self._limits(like, labels),
        )
        for watcher in self._watchers.of(namespace, labels):
            _join(kind, watcher)
        self._classes[like] = kind
        self._roll.add(kind)
        return kind

    def _fence(self, like: SchedulingTraits) -> NodeFilter:
        key = (like.placement.nodes, like.tolerations)
        found = self._fences.get(key)
        if found is None:
            found = self._fences[key] = NodeFilter(*key)
        return found

    def _group(self, key: pod_affinity.Resolved) -> PodGroup:
        return PodGroup(key[1], key[2], key[3], self._namespaces)

    def _term(self, term: PodTerm, namespace: str, labels: Labels) -> AntiAffinityTerm:
        key = pod_affinity.resolved(term, namespace, labels)
        if key not in self._terms:
            self._terms[key] = AntiAffinityTerm(key[0], self._group(key))
            self._watch(self._terms[key])
        return self._terms[key]

    def _company(self, terms: Sequence[PodTerm], namespace: str, labels: Labels) -> PodAffinityTerms | None:
        if not terms:
            return None
        keys = tuple(pod_affinity.resolved(term, namespace, labels) for term in terms)
        if keys not in self._companies:
            topology = tuple(key[0] for key in keys)
            self._companies[keys] = PodAffinityTerms(topology, tuple(self._group(key) for key in keys))
            self._watch(self._companies[keys])
        return self._companies[keys]

    def _limits(self, like: SchedulingTraits, labels: Labels) -> tuple[Limit, ...]:
        if not like.placement.spread:
            return ()
        found = []
        for each, scope in zip(like.placement.spread, spread.scopes(like.placement, like.tolerations), strict=True):
            selector = spread.selected(each, labels)
            key = (like.namespace, selector, scope)
            if key not in self._censuses:
                group = PodGroup(frozenset((like.namespace,)), None, selector, self._namespaces)
                self._censuses[key] = DomainCounts(group, self._domains_in(scope))
                self._watch(self._censuses[key])
            itself = int(selector.matches(labels))
            found.append(Limit(self._censuses[key], each.max_skew, each.min_domains, itself))
        return tuple(found)

    def _domains_in(self, scope: SpreadScope) -> Domains:
        if scope not in self._domains:
            made = self._domains[scope] = Domains(scope)
            for seat in self.seats.values():
                made.admit(seat.node)
        return self._domains[scope]

    def _watch(self, watcher: PodCounter) -> None:
        """Register the watcher, and count the pods that are already placed."""
        self._watchers.add(watcher)
        for kind in self._roll.counted_by(watcher):
            if _join(kind, watcher):
                for name, count in kind.on.items():
                    watcher.count(self.seats[name].node, count)


def _join(kind: PodClass, watcher: PodCounter) -> bool:
    """Register the watcher with the class, and return whether it counts such pods: topology spread ignores pods being
    deleted."""
    if kind.leaving and isinstance(watcher, DomainCounts):
        return False
    kind.watchers.append(watcher)
    if isinstance(watcher, AntiAffinityTerm):
        kind.meaning.append(watcher)
    return True


def _beside_others(kind: PodClass, labels: Labels) -> SchedulingRefusal | None:
    """PodTopologySpread and InterPodAffinity, in this order."""
    found = spread.refusal(kind.limits, labels) if kind.limits else None
    return found or pod_affinity.refusal(labels, kind.company, kind.counts_itself, kind.own, kind.meaning)


def _add(held: dict, key: object, count: int) -> None:  # type: ignore[type-arg]
    total = held.get(key, 0) + count
    if total:
        held[key] = total
    else:
        del held[key]
