"""PodTopologySpread, the constraints that forbid (plugins/podtopologyspread/filtering.go)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.kubernetes.scheduling.counts import PodGroup, Sizes
from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.kubernetes.scheduling.taints import tolerated
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import NodeDemand, Placement, Spread
from kubectl_eksdoc.model.pods import Toleration
from kubectl_eksdoc.model.selectors import Labels, Requirement, Selector

_SKEWED = SchedulingRefusal(
    SchedulerFilter.POD_TOPOLOGY_SPREAD, ("node(s) didn't match pod topology spread constraints",), resolvable=True
)
_NO_LABEL = SchedulingRefusal(
    SchedulerFilter.POD_TOPOLOGY_SPREAD,
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
)


@dataclass(frozen=True, slots=True)
class SpreadScope:
    """On which nodes pods count for a constraint, and in what domains.

    `keys` are the topology keys of all the pod's constraints: a node that lacks one is in no domain. `demand` and
    `tolerations` are the pod's own where the constraint honours them, else None.
    """

    key: str
    keys: frozenset[str]
    demand: NodeDemand | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def holds(self, node: Node) -> bool:
        if not all(key in node.labels for key in self.keys):
            return False
        if self.demand is not None and not self.demand.accepts(node.name, node.labels):
            return False
        return self.tolerations is None or tolerated(self.tolerations, node)


class Domains:
    """The nodes in one scope, each with its domain, and every domain with its number of nodes."""

    __slots__ = ("by_node", "nodes_in", "scope")

    def __init__(self, scope: SpreadScope) -> None:
        self.scope = scope
        self.by_node: dict[str, str] = {}
        self.nodes_in: dict[str, int] = {}

    def admit(self, node: Node) -> None:
        if self.scope.holds(node):
            value = self.by_node[node.name] = node.labels[self.scope.key]
            self.nodes_in[value] = self.nodes_in.get(value, 0) + 1

    def dismiss(self, name: str) -> None:
        """The node goes, after its pods; its domain goes with its last node."""
        value = self.by_node.pop(name, None)
        if value is not None:
            self.nodes_in[value] -= 1
            if not self.nodes_in[value]:
                del self.nodes_in[value]


class DomainCounts:
    """The pods that one constraint counts, by domain; constraints that count the same share one."""

    __slots__ = ("domains", "group", "sizes")

    def __init__(self, group: PodGroup, domains: Domains) -> None:
        self.group = group
        self.domains = domains
        self.sizes = Sizes()

    def matches(self, namespace: str, labels: Labels) -> bool:
        """A selector that picks every pod counts none, as upstream (countPodsMatchSelector)."""
        return bool(self.group.selector.requirements) and self.group.matches(namespace, labels)

    def count(self, node: Node, count: int) -> None:
        """`count` of its pods more on the node, or fewer."""
        value = self.domains.by_node.get(node.name)
        if value is not None:
            self.sizes.add(value, count)


@dataclass(frozen=True, slots=True)
class Limit:
    """One constraint of a pod over its census; `itself` is 1 where the pod is one of those counted."""

    census: DomainCounts
    max_skew: int
    min_domains: int
    itself: int


def selected(constraint: Spread, labels: Labels) -> Selector:
    """The pods that the constraint of a pod with those labels counts."""
    more = tuple(Requirement(key, "In", (labels[key],)) for key in constraint.match_keys if key in labels)
    given = constraint.selector
    return Selector(given.requirements + more, given.valid) if more else given


def scopes(placement: Placement, tolerations: tuple[Toleration, ...]) -> tuple[SpreadScope, ...]:
    """The scope of each constraint of a pod with that placement and those tolerations."""
    keys = frozenset(each.topology_key for each in placement.spread)
    asks = placement.nodes != NodeDemand()
    return tuple(
        SpreadScope(
            key=each.topology_key,
            keys=keys,
            demand=placement.nodes if each.honours_affinity and asks else None,
            tolerations=tolerations if each.honours_taints else None,
        )
        for each in placement.spread
    )


def refusal(limits: Sequence[Limit], labels: Labels) -> SchedulingRefusal | None:
    """Of a node with those labels."""
    for limit in limits:
        census = limit.census
        value = labels.get(census.domains.scope.key)
        if value is None:
            return _NO_LABEL
        places = len(census.domains.nodes_in)
        least = census.sizes.least(places) if places >= limit.min_domains else 0
        if census.sizes.by_place.get(value, 0) + limit.itself - least > limit.max_skew:
            return _SKEWED
    return None
