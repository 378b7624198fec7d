"""PodTopologySpread, the constraints with DoNotSchedule (plugins/podtopologyspread/filtering.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Node, Toleration
from kubectl_eksdoc.model.placement import NodeRequirements, Placement, TopologySpread
from kubectl_eksdoc.model.selectors import Labels, Requirement, Selector

from .refusals import SchedulerFilter, SchedulingRefusal, tolerates_taints

# Number of pods in each topology domain, kept up to date as pods come and go.


class PlaceCounts:
    """Pods in each place that has any, with the smallest number: no search to add, remove or read."""

    __slots__ = ("_places_by_count", "by_place")

    def __init__(self) -> None:
        self.by_place: dict[str, int] = {}
        self._places_by_count: dict[
            int, int
        ] = {}  # number of places with that many pods; there are few different numbers

    def add(self, place: str, count: int) -> None:
        """Add `count` pods to the place; a negative number removes them."""
        before = self.by_place.get(place, 0)
        after = before + count
        if before:
            self._places_by_count[before] -= 1
            if not self._places_by_count[before]:
                del self._places_by_count[before]
        if after:
            self.by_place[place] = after
            self._places_by_count[after] = self._places_by_count.get(after, 0) + 1
        elif before:
            del self.by_place[place]

    def minimum(self, places: int) -> int:
        """The smallest number of pods in any of that many places; 0 if one of them has none."""
        return min(self._places_by_count, default=0) if len(self.by_place) >= places else 0


class PodGroup:
    """Pods that a selector matches in some namespaces: those of `namespaces`, and those that the namespace selector
    matches."""

    __slots__ = ("_labels", "_names", "_namespace_selector", "_resolved", "namespaces", "selector")

    def __init__(
        self,
        namespaces: frozenset[str],
        namespace_selector: Selector | None,
        selector: Selector,
        namespace_labels: Mapping[str, Labels],
    ) -> None:
        """`namespace_labels` are the labels of every namespace."""
        self.namespaces = namespaces
        self.selector = selector
        self._namespace_selector = namespace_selector
        self._labels = namespace_labels
        self._resolved: dict[str, bool] = {}

    @property
    def spans_namespaces(self) -> bool:
        """Whether it may include pods of namespaces that it does not name."""
        return self._namespace_selector is not None

    @property
    def uses_namespace_labels(self) -> bool:
        """Whether it depends on the labels of a namespace."""
        return self._namespace_selector is not None and bool(self._namespace_selector.requirements)

    def includes_namespace(self, namespace: str) -> bool:
        if namespace in self.namespaces:
            return True
        if self._namespace_selector is None:
            return False
        included = self._resolved.get(namespace)
        if included is None:
            included = self._resolved[namespace] = self._namespace_selector.matches(self._labels.get(namespace, {}))
        return included

    def matches(self, namespace: str, labels: Labels) -> bool:
        return self.includes_namespace(namespace) and self.selector.matches(labels)

    def label_pairs(self) -> tuple[tuple[str, str], ...] | None:
        """Label pairs of which every pod in the group has one; None if it requires none."""
        for each in self.selector.requirements:
            if each.operator == "In":
                return tuple((each.key, value) for value in each.values)
        return None


_SKEWED = SchedulingRefusal(
    SchedulerFilter.POD_TOPOLOGY_SPREAD, ("node(s) didn't match pod topology spread constraints",), resolvable=True
)
_NO_LABEL = SchedulingRefusal(
    SchedulerFilter.POD_TOPOLOGY_SPREAD,
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
)


@frozen
class SpreadScope:
    """The nodes whose pods count for a constraint, and their topology domains.

    `keys` are the topology keys of all the pod's constraints: a node that lacks one is in no domain. `demand` and
    `tolerations` are the pod's own if the constraint honors them, else None.
    """

    key: str
    keys: frozenset[str]
    demand: NodeRequirements | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def includes(self, node: Node) -> bool:
        if not all(key in node.labels for key in self.keys):
            return False
        if self.demand is not None and not self.demand.accepts(node.name, node.labels):
            return False
        return self.tolerations is None or tolerates_taints(self.tolerations, node)


class TopologyDomains:
    """The nodes in one scope, each with its domain, and every domain with its number of nodes."""

    __slots__ = ("by_node", "node_counts", "scope")

    def __init__(self, scope: SpreadScope) -> None:
        self.scope = scope
        self.by_node: dict[str, str] = {}
        self.node_counts: dict[str, int] = {}

    def add_node(self, node: Node) -> None:
        if self.scope.includes(node):
            value = self.by_node[node.name] = node.labels[self.scope.key]
            self.node_counts[value] = self.node_counts.get(value, 0) + 1

    def remove_node(self, name: str) -> None:
        """Remove a node after its pods; its domain disappears with its last node."""
        value = self.by_node.pop(name, None)
        if value is not None:
            self.node_counts[value] -= 1
            if not self.node_counts[value]:
                del self.node_counts[value]


class DomainCounts:
    """The pods that one constraint counts, by domain; constraints that count the same pods share one."""

    __slots__ = ("domains", "group", "sizes")

    def __init__(self, group: PodGroup, domains: TopologyDomains) -> None:
        self.group = group
        self.domains = domains
        self.sizes = PlaceCounts()

    def matches(self, namespace: str, labels: Labels) -> bool:
        """A selector that matches every pod counts none, as upstream (countPodsMatchSelector)."""
        return bool(self.group.selector.requirements) and self.group.matches(namespace, labels)

    def count(self, node: Node, count: int) -> None:
        """Add `count` pods on the node; a negative number removes them."""
        value = self.domains.by_node.get(node.name)
        if value is not None:
            self.sizes.add(value, count)


@frozen
class SpreadLimit:
    """One constraint of a pod, with its counts; `self_count` is 1 if the pod itself is counted."""

    counts: DomainCounts
    max_skew: int
    min_domains: int
    self_count: int


def counted_selector(constraint: TopologySpread, labels: Labels) -> Selector:
    """The selector of the pods that the constraint counts, for a pod with those labels."""
    added_requirements = tuple(Requirement(key, "In", (labels[key],)) for key in constraint.match_keys if key in labels)
    base = constraint.selector
    return Selector(base.requirements + added_requirements, base.valid) if added_requirements else base


def scopes(placement: Placement, tolerations: tuple[Toleration, ...]) -> tuple[SpreadScope, ...]:
    """The scope of each constraint of a pod with that placement and those tolerations."""
    keys = frozenset(each.topology_key for each in placement.spread)
    has_node_requirements = placement.nodes != NodeRequirements()
    return tuple(
        SpreadScope(
            key=each.topology_key,
            keys=keys,
            demand=placement.nodes if each.honours_affinity and has_node_requirements else None,
            tolerations=tolerations if each.honours_taints else None,
        )
        for each in placement.spread
    )


def spread_refusal(limits: Sequence[SpreadLimit], labels: Labels) -> SchedulingRefusal | None:
    """The refusal of a node with those labels."""
    for limit in limits:
        counts = limit.counts
        value = labels.get(counts.domains.scope.key)
        if value is None:
            return _NO_LABEL
        places = len(counts.domains.node_counts)
        minimum = counts.sizes.minimum(places) if places >= limit.min_domains else 0
        if counts.sizes.by_place.get(value, 0) + limit.self_count - minimum > limit.max_skew:
            return _SKEWED
    return None


# The counts that a pod belongs to: found by namespace and labels, without trying every selector on every pod.


class PodCounter(Protocol):
    """A counter of pods by node."""

    @property
    def group(self) -> PodGroup:
        """A group that contains every pod it counts."""

    def matches(self, namespace: str, labels: Labels) -> bool: ...

    def count(self, node: Node, count: int, /) -> None: ...


class HasLabels(Protocol):
    """Pods of one namespace with one set of labels."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Labels: ...


P = TypeVar("P", bound=HasLabels)

_Pair = tuple[str, str]
"""A label's key and value."""


class LabelIndex(Generic[P]):
    """All pod classes, by namespace and by label pair."""

    def __init__(self) -> None:
        self._all: list[P] = []
        self._by_namespace: dict[str, list[P]] = {}
        self._by_pair: dict[str, dict[_Pair, list[P]]] = {}

    def add(self, pods: P) -> None:
        namespace = pods.namespace
        self._all.append(pods)
        by_pair = self._by_pair.get(namespace)
        if by_pair is None:
            by_pair = self._by_pair[namespace] = {}
            self._by_namespace[namespace] = []
        self._by_namespace[namespace].append(pods)
        for pair in pods.labels.items():
            alike = by_pair.get(pair)
            if alike is None:
                alike = by_pair[pair] = []
            alike.append(pods)

    def counted_by(self, watcher: PodCounter) -> Iterator[P]:
        """The classes that `watcher` counts, each once."""
        return (p for p in self._candidates(watcher.group) if watcher.matches(p.namespace, p.labels))

    def _candidates(self, group: PodGroup) -> Iterator[P]:
        if group.spans_namespaces:
            yield from self._all
            return
        pairs = group.label_pairs()
        for namespace in group.namespaces:
            if pairs is None:
                yield from self._by_namespace.get(namespace, ())
            by_pair = self._by_pair.get(namespace, {})
            for pair in dict.fromkeys(pairs or ()):
                yield from by_pair.get(pair, ())


class Watchers:
    """All counters, by what their pods must have: a namespace (None: several), and a label pair if they require one."""

    def __init__(self) -> None:
        self._by_pair: dict[str | None, dict[_Pair, list[PodCounter]]] = {}
        self._rest: dict[str | None, list[PodCounter]] = {}

    def add(self, watcher: PodCounter) -> None:
        group = watcher.group
        namespaces: frozenset[str | None] = (
            frozenset((None,)) if group.spans_namespaces else frozenset(group.namespaces)
        )
        pairs = group.label_pairs()
        for namespace in namespaces:
            if pairs is None:
                self._rest.setdefault(namespace, []).append(watcher)
            for pair in dict.fromkeys(pairs or ()):
                self._by_pair.setdefault(namespace, {}).setdefault(pair, []).append(watcher)

    def for_pod(self, namespace: str, labels: Labels) -> Iterator[PodCounter]:
        """The counters that count a pod with that namespace and those labels, each once."""
        for scope in (namespace, None):
            candidates = self._rest.get(scope, ())
            yield from (w for w in candidates if w.matches(namespace, labels))
            by_pair = self._by_pair.get(scope)
            if by_pair is None:
                continue  # usually there are none for several namespaces
            for pair in labels.items():
                candidates = by_pair.get(pair, ())
                yield from (w for w in candidates if w.matches(namespace, labels))
