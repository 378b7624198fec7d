"""PodTopologySpread, the constraints that forbid (plugins/podtopologyspread/filtering.go)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.placement import NodeDemand, Spread
from kubectl_eksdoc.core.model.pods import Toleration
from kubectl_eksdoc.core.model.selectors import Labels, Requirement, Selector
from kubectl_eksdoc.core.rules.scheduling.counts import Domains, Group
from kubectl_eksdoc.core.rules.scheduling.refusals import Filter, Refusal
from kubectl_eksdoc.core.rules.scheduling.taints import tolerated

_SKEWED = Refusal(
    Filter.POD_TOPOLOGY_SPREAD, ("node(s) didn't match pod topology spread constraints",), resolvable=True
)
_NO_LABEL = Refusal(
    Filter.POD_TOPOLOGY_SPREAD, ("node(s) didn't match pod topology spread constraints (missing required label)",)
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted for a constraint, and on which nodes; equal ones share one census.

    `keys` are the topology keys of all the pod's constraints: a node that lacks one is in no domain. `demand` and
    `tolerations` are the pod's own where the constraint honours them, else None.
    """

    namespace: str
    selector: Selector
    key: str
    keys: frozenset[str]
    demand: NodeDemand | None
    tolerations: tuple[Toleration, ...] | None

    def on(self, node: Node) -> bool:
        """Whether pods on the node count."""
        if not all(key in node.labels for key in self.keys):
            return False
        if self.demand is not None and not self.demand.accepts(node.name, node.labels):
            return False
        return self.tolerations is None or tolerated(self.tolerations, node)


class Census:
    """The pods that one constraint counts, by domain; `nodes` are those whose pods count."""

    __slots__ = ("_nodes_in", "counted", "domains", "group", "nodes")

    def __init__(self, counted: Counted) -> None:
        self.counted = counted
        self.group = Group(frozenset((counted.namespace,)), None, counted.selector, {})
        self.domains = Domains()
        self.nodes: set[str] = set()
        self._nodes_in: dict[str, int] = {}

    def matches(self, namespace: str, labels: Labels) -> bool:
        return self.group.matches(namespace, labels)

    def admit(self, node: Node) -> None:
        """The node exists, without pods yet."""
        if self.counted.on(node):
            value = node.labels[self.counted.key]
            self.nodes.add(node.name)
            self._nodes_in[value] = self._nodes_in.get(value, 0) + 1
            self.domains.open(value)

    def dismiss(self, node: Node) -> None:
        """The node is gone, after its pods."""
        if node.name in self.nodes:
            value = node.labels[self.counted.key]
            self.nodes.discard(node.name)
            self._nodes_in[value] -= 1
            if not self._nodes_in[value]:
                del self._nodes_in[value]
                self.domains.close(value)

    def count(self, node: Node, count: int) -> None:
        """`count` of its pods more on the node, or fewer. A selector that picks every pod counts none, as upstream."""
        if node.name in self.nodes and self.counted.selector.requirements:
            self.domains.add(node.labels[self.counted.key], count)


@dataclass(frozen=True, slots=True)
class Limit:
    """One constraint of a pod over its census; `itself` is 1 where the pod is one of those counted."""

    census: Census
    max_skew: int
    min_domains: int
    itself: int


def counted(constraints: Sequence[Spread], at: int, namespace: str, labels: Labels, demand: NodeDemand,
            tolerations: tuple[Toleration, ...]) -> Counted:  # fmt: skip
    """What constraint number `at` of a pod with those facts counts."""
    each = constraints[at]
    more = tuple(Requirement(key, "In", (labels[key],)) for key in each.match_keys if key in labels)
    selector = Selector(each.selector.requirements + more, each.selector.valid) if more else each.selector
    return Counted(
        namespace=namespace,
        selector=selector,
        key=each.topology_key,
        keys=frozenset(c.topology_key for c in constraints),
        demand=demand if each.honours_affinity and demand != NodeDemand() else None,
        tolerations=tolerations if each.honours_taints else None,
    )


def refusal(limits: Sequence[Limit], labels: Labels) -> Refusal | None:
    """Of a node with those labels."""
    for limit in limits:
        value = labels.get(limit.census.counted.key)
        if value is None:
            return _NO_LABEL
        domains = limit.census.domains
        least = 0 if len(domains) < limit.min_domains else domains.least
        if domains.by_value.get(value, 0) + limit.itself - least > limit.max_skew:
            return _SKEWED
    return None
