"""Occupancy of nodes: which pods run where, and whether another pod fits. Updated pod by pod, at constant cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

from kubectl_eksdoc.model.nodes import FINISHED_PHASES, Node, Pod, VolumeKind
from kubectl_eksdoc.model.placement import PodAffinityTerm
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
    LabelIndex,
    PodCounter,
    PodGroup,
    SpreadLimit,
    SpreadScope,
    TopologyDomains,
    Watchers,
)
from .volumes import NO_STORAGE, NO_VOLUMES, NodeVolumes, Storage


class NodeOccupancy:
    """One node with its free room; `pod_counts` is the number of pods of each class on it."""

    __slots__ = ("attached", "node", "pod_counts", "ports", "room")

    def __init__(self, node: Node, attached: NodeVolumes) -> None:
        self.node = node
        self.room = NodeRoom(node.allocatable)
        self.ports = UsedPorts()
        self.attached = attached
        self.pod_counts: dict[PodClass, int] = {}


class Occupancy:
    """Nodes, and the pods placed on them, by class.

    Finished pods use no resources and must not be put. `namespaces` are the labels of each namespace, None if they were
    not read.
    """

    def __init__(
        self, nodes: Iterable[Node], namespaces: Mapping[str, Labels] | None = None, storage: Storage = NO_STORAGE
    ) -> None:
        self._namespaces = namespaces or {}
        self._knows_namespaces = namespaces is not None
        self._storage = storage
        self._classes: dict[SchedulingTraits, PodClass] = {}
        self._class_cache: dict[object, tuple[PodClass, Pod]] = {}  # by shared objects, which the pod keeps alive
        self._node_filters: dict[object, NodeFilter] = {}
        self._terms: dict[object, AntiAffinityTerm] = {}
        self._affinity_terms: dict[object, PodAffinityTerms] = {}
        self._domain_counts: dict[object, DomainCounts] = {}
        self._domains: dict[SpreadScope, TopologyDomains] = {}
        self._watchers = Watchers()
        self._class_index: LabelIndex[PodClass] = LabelIndex()
        self._candidates: dict[NodeFilter, dict[str, NodeOccupancy]] = {}
        self.by_node: dict[str, NodeOccupancy] = {}
        for node in nodes:
            self.add_node(node)

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node],
        pods: Sequence[Pod],
        namespaces: Mapping[str, Labels] | None = None,
        storage: Storage = NO_STORAGE,
        closed: Set[str] = frozenset(),
    ) -> Occupancy:
        """Build it with every pod on its node; pods that have finished, or whose node is empty or unknown, are skipped.

        Nothing will be put on the nodes `closed`: the use of their room does not matter, and is not counted.
        """
        occupancy = cls(nodes, namespaces, storage)
        nodes_by_name = occupancy.by_node
        placed_pods = [pod for pod in pods if pod.node in nodes_by_name and pod.phase not in FINISHED_PHASES]
        classes = [occupancy.class_of(pod) for pod in placed_pods]
        # All terms are known by now, so none has to search for its pods among those already placed.
        counted = {kind for kind in occupancy._classes.values() if kind.is_counted}
        for pod, kind in zip(placed_pods, classes, strict=True):
            if kind in counted or pod.node not in closed:
                occupancy._count_pods(kind, nodes_by_name[pod.node], 1)
        for node_occupancy in nodes_by_name.values():
            node_occupancy.attached.release_unused()
        return occupancy

    def class_of(self, pod: Pod) -> PodClass:
        """The scheduling class of the pod."""
        # Replicas share these objects, and comparing object identities is faster than comparing contents.
        cache_key: object = (id(pod.labels), id(pod.placement), id(pod.tolerations), pod.namespace)
        if pod.volumes or pod.deletion_deadline is not None:
            cache_key = cache_key, pod.volumes, pod.deleting
        cached = self._class_cache.get(cache_key)
        if cached is None:
            cached = self._class_cache[cache_key] = self.class_for_traits(SchedulingTraits.of(pod)), pod
        return cached[0]

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
        new_drivers = volumes.recreated_volume_drivers(pod, self._storage) if pod.volumes else ()
        return kind, self.class_for_traits(SchedulingTraits.of_replacement(pod, new_drivers))

    def class_for_traits(self, traits: SchedulingTraits) -> PodClass:
        """The one class for these traits."""
        known_class = self._classes.get(traits)
        return known_class if known_class is not None else self._build_class(traits)

    def put(self, kind: PodClass, name: str) -> None:
        """Add one pod to the node of that name."""
        self._count_pods(kind, self.by_node[name], 1)

    def take(self, kind: PodClass, name: str) -> None:
        """Remove one pod from the node. It must have been put."""
        if not kind.counts_by_node.get(name):
            raise ValueError(f"no such pod is on {name}")
        self._count_pods(kind, self.by_node[name], -1)

    def candidates(self, kind: PodClass) -> Mapping[str, NodeOccupancy]:
        """The nodes that its node requirements and its volumes allow, kept up to date as nodes change."""
        allowed_nodes = self._candidates.get(kind.node_filter)
        if allowed_nodes is None:
            node_names = refusals.named_nodes(kind.node_filter.demand)
            searched = (
                self.by_node if node_names is None else {n: s for n, s in self.by_node.items() if n in node_names}
            )
            allowed_nodes = {
                name: node_occupancy
                for name, node_occupancy in searched.items()
                if kind.node_filter.refusal(node_occupancy.node) is None
            }
            self._candidates[kind.node_filter] = allowed_nodes
        if kind.volumes is NO_VOLUMES:
            return allowed_nodes
        return {
            name: node_occupancy
            for name, node_occupancy in allowed_nodes.items()
            if volumes.volume_refusal(kind.volumes, node_occupancy.node) is None
        }

    def fits_now(self, kind: PodClass, node_occupancy: NodeOccupancy) -> bool:
        """Whether one of `candidates` can take another pod, given the pods that are on it now."""
        if not node_occupancy.room.fits(kind.placement.requests):
            return False
        return kind.needs_only_room or (
            refusals.ports_refusal(kind.placement.ports, node_occupancy.ports) is None
            and volumes.attach_refusal(kind.attaches, node_occupancy.attached) is None
            and _other_pods_refusal(kind, node_occupancy.node.labels) is None
        )

    def refusal(self, kind: PodClass, name: str) -> SchedulingRefusal | None:
        """The refusal of the first filter that refuses the node, in the scheduler's order; None if the pod fits."""
        node_occupancy = self.by_node[name]
        return (
            kind.node_filter.refusal(node_occupancy.node)
            or refusals.ports_refusal(kind.placement.ports, node_occupancy.ports)
            or refusals.resources_refusal(kind.placement.requests, node_occupancy.room)
            # A claim that no node can satisfy is found before any node is filtered (VolumeBinding.PreFilter).
            or (None if kind.volumes.never else volumes.attach_refusal(kind.attaches, node_occupancy.attached))
            or volumes.volume_refusal(kind.volumes, node_occupancy.node)
            or _other_pods_refusal(kind, node_occupancy.node.labels)
        )

    def uncertainties(self, kind: PodClass) -> tuple[str, ...]:
        """Why no verdict on such a pod is certain; empty for almost all pods."""
        if self._knows_namespaces:
            return kind.uncertainties
        own_terms = kind.anti_affinity + ((kind.affinity,) if kind.affinity else ())
        groups = [group for each in own_terms for group in each.groups]
        groups += [t.group for t in self._terms.values() if t.group.selector.matches(kind.labels)]
        if any(group.uses_namespace_labels for group in groups):
            return (*kind.uncertainties, "an affinity term picks namespaces by their labels, which were not read")
        return kind.uncertainties

    def refusal_reasons(self, kind: PodClass) -> Counter[str]:
        """How many nodes refuse for each reason, as a FailedScheduling event counts them."""
        node_refusals = (self.refusal(kind, name) for name in self.by_node)
        return Counter(reason for each in node_refusals if each is not None for reason in each.reasons)

    def add_node(self, node: Node, limits_of: str = "") -> None:
        """Add a new node without pods; it has the attach limits of the node called `limits_of` (default: its own)."""
        if node.name in self.by_node:
            raise ValueError(f"node {node.name} is there already")
        node_occupancy = self.by_node[node.name] = NodeOccupancy(
            node, volumes.node_volumes(node.name, self._storage, limits_of)
        )
        self._admit(node_occupancy)

    def remove_node(self, name: str) -> None:
        """Remove the node and its pods."""
        self._discount(self.by_node[name])
        del self.by_node[name]
        for candidates in self._candidates.values():
            candidates.pop(name, None)

    def change_node(self, node: Node) -> None:
        """Update the facts of a node (cordoned, tainted, labeled): its pods stay."""
        node_occupancy = self.by_node[node.name]
        pod_counts = dict(node_occupancy.pod_counts)
        self._discount(node_occupancy)
        node_occupancy.node, node_occupancy.room = node, NodeRoom(node.allocatable)
        self._admit(node_occupancy)
        for kind, count in pod_counts.items():
            self._count_pods(kind, node_occupancy, count)

    def _admit(self, node_occupancy: NodeOccupancy) -> None:
        for domains in self._domains.values():
            domains.add_node(node_occupancy.node)
        for node_filter, candidates in self._candidates.items():
            if node_filter.refusal(node_occupancy.node) is None:
                candidates[node_occupancy.node.name] = node_occupancy
            else:
                candidates.pop(node_occupancy.node.name, None)

    def _discount(self, node_occupancy: NodeOccupancy) -> None:
        """Stop counting the node and everything on it."""
        for kind, count in list(node_occupancy.pod_counts.items()):
            self._count_pods(kind, node_occupancy, -count)
        for domains in self._domains.values():
            domains.remove_node(node_occupancy.node.name)

    def _count_pods(self, kind: PodClass, node_occupancy: NodeOccupancy, count: int) -> None:
        node, placement = node_occupancy.node, kind.placement
        node_occupancy.room.take(placement.requests, count)
        if kind.uses_ports_or_volumes:
            node_occupancy.ports.add(placement.ports, count)
            if kind.attaches is not None:
                node_occupancy.attached.take(kind.attaches, count)
        for watcher in kind.watchers:
            watcher.count(node, count)
        for term in kind.anti_affinity:
            term.count_holder(node, count)
        _add_count(kind.counts_by_node, node.name, count)
        _add_count(node_occupancy.pod_counts, kind, count)

    def _build_class(self, traits: SchedulingTraits) -> PodClass:
        labels, placement, namespace = dict(traits.labels), traits.placement, traits.namespace
        affinity = self._affinity(placement.affinity, namespace, labels)
        volumes_unknown = ("its volumes are not known: claims or volumes were not read",)
        attaches = volumes.attach_demand(
            traits.namespace, traits.claims, traits.disks, traits.new_drivers, self._storage
        )
        doubts = (
            volumes_unknown
            if traits.claims and not self._storage.known
            else volumes.attach_uncertainties(attaches, self._storage)
        )
        kind = PodClass(
            namespace=namespace,
            labels=labels,
            placement=placement,
            deleting=traits.deleting,
            node_filter=self._node_filter(traits),
            volumes=volumes.volume_demand(namespace, traits.claims, self._storage)
            if self._storage.known
            else NO_VOLUMES,
            attaches=attaches,
            uses_ports_or_volumes=bool(placement.ports or attaches),
            uncertainties=placement.unmodeled_constraints + doubts,
            affinity=affinity,
            counts_itself=affinity is not None and affinity.matches(namespace, labels),
            anti_affinity=tuple(self._term(term, namespace, labels) for term in placement.anti_affinity),
            limits=self._limits(traits, labels),
        )
        for watcher in self._watchers.for_pod(namespace, labels):
            _register_watcher(kind, watcher)
        self._classes[traits] = kind
        self._class_index.add(kind)
        return kind

    def _node_filter(self, traits: SchedulingTraits) -> NodeFilter:
        key = (traits.placement.nodes, traits.tolerations)
        node_filter = self._node_filters.get(key)
        if node_filter is None:
            node_filter = self._node_filters[key] = NodeFilter(*key)
        return node_filter

    def _group(self, key: pod_affinity.ResolvedTerm) -> PodGroup:
        return PodGroup(key[1], key[2], key[3], self._namespaces)

    def _term(self, term: PodAffinityTerm, namespace: str, labels: Labels) -> AntiAffinityTerm:
        key = pod_affinity.resolve_term(term, namespace, labels)
        if key not in self._terms:
            self._terms[key] = AntiAffinityTerm(key[0], self._group(key))
            self._watch(self._terms[key])
        return self._terms[key]

    def _affinity(self, terms: Sequence[PodAffinityTerm], namespace: str, labels: Labels) -> PodAffinityTerms | None:
        if not terms:
            return None
        keys = tuple(pod_affinity.resolve_term(term, namespace, labels) for term in terms)
        if keys not in self._affinity_terms:
            topology = tuple(key[0] for key in keys)
            self._affinity_terms[keys] = PodAffinityTerms(topology, tuple(self._group(key) for key in keys))
            self._watch(self._affinity_terms[keys])
        return self._affinity_terms[keys]

    def _limits(self, traits: SchedulingTraits, labels: Labels) -> tuple[SpreadLimit, ...]:
        if not traits.placement.spread:
            return ()
        limits = []
        for each, scope in zip(
            traits.placement.spread, spread.scopes(traits.placement, traits.tolerations), strict=True
        ):
            selector = spread.counted_selector(each, labels)
            key = (traits.namespace, selector, scope)
            if key not in self._domain_counts:
                group = PodGroup(frozenset((traits.namespace,)), None, selector, self._namespaces)
                self._domain_counts[key] = DomainCounts(group, self._domains_in(scope))
                self._watch(self._domain_counts[key])
            self_count = int(selector.matches(labels))
            limits.append(SpreadLimit(self._domain_counts[key], each.max_skew, each.min_domains, self_count))
        return tuple(limits)

    def _domains_in(self, scope: SpreadScope) -> TopologyDomains:
        if scope not in self._domains:
            domains = self._domains[scope] = TopologyDomains(scope)
            for node_occupancy in self.by_node.values():
                domains.add_node(node_occupancy.node)
        return self._domains[scope]

    def _watch(self, watcher: PodCounter) -> None:
        """Register the watcher, and count the pods that are already placed."""
        self._watchers.add(watcher)
        for kind in self._class_index.counted_by(watcher):
            if _register_watcher(kind, watcher):
                for name, count in kind.counts_by_node.items():
                    watcher.count(self.by_node[name].node, count)


def _register_watcher(kind: PodClass, watcher: PodCounter) -> bool:
    """Register the watcher with the class, and return whether it counts such pods: topology spread ignores pods being
    deleted."""
    if kind.deleting and isinstance(watcher, DomainCounts):
        return False
    kind.watchers.append(watcher)
    if isinstance(watcher, AntiAffinityTerm):
        kind.matching_terms.append(watcher)
    return True


def _other_pods_refusal(kind: PodClass, labels: Labels) -> SchedulingRefusal | None:
    """PodTopologySpread and InterPodAffinity, in this order."""
    refusal = spread.spread_refusal(kind.limits, labels) if kind.limits else None
    return refusal or pod_affinity.pod_affinity_refusal(
        labels, kind.affinity, kind.counts_itself, kind.anti_affinity, kind.matching_terms
    )


def _add_count(counts: dict, key: object, count: int) -> None:  # type: ignore[type-arg]
    total = counts.get(key, 0) + count
    if total:
        counts[key] = total
    else:
        del counts[key]
