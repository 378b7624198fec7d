"""Names in a cluster for shell completion, each with a short description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum

from kubectl_eksdoc.frozen import frozen

from .nodes import EKSCTL_GROUP, MANAGED_GROUP, NODE_POOL, PROVISIONER

_GROUPS = {
    MANAGED_GROUP: "managed node group",
    EKSCTL_GROUP: "node group of eksctl",
    NODE_POOL: "NodePool",
    PROVISIONER: "Provisioner",
}
"""By node label; ``--nodegroup`` finds node groups by each of them."""
_DESCRIBING_LABELS = (*_GROUPS, "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone")


class NameKind(str, Enum):
    """The kind of names; pods and budgets may be completed with their namespaces."""

    NODES = "nodes"
    NODE_GROUPS = "node groups"
    NAMESPACES = "namespaces"
    PODS = "pods"
    PODS_ANYWHERE = "pods with their namespaces"
    BUDGETS = "budgets with their namespaces"
    RUNS = "runs"
    ADDONS = "add-ons that EKS manages"


@frozen
class CompletionName:
    """`about` may be ""."""

    text: str
    about: str = ""


Labels = Mapping[str, str]


def node_names(nodes: Iterable[tuple[str, Labels]]) -> tuple[CompletionName, ...]:
    """Node names, each with group, instance type and zone, as far as its labels have them."""
    descriptions = {
        name: dict.fromkeys(labels[key] for key in _DESCRIBING_LABELS if labels.get(key))
        for name, labels in nodes
        if name
    }
    return tuple(CompletionName(name, ", ".join(descriptions[name])) for name in sorted(descriptions))


def node_group_names(nodes: Iterable[Labels], pools: Iterable[str] = ()) -> tuple[CompletionName, ...]:
    """Groups of the nodes, and the NodePools `pools`, which may have no nodes."""
    node_counts: Counter[str] = Counter()
    kind_by_group = dict.fromkeys(pools, _GROUPS[NODE_POOL])
    for labels in nodes:
        groups = {labels[key]: kind for key, kind in _GROUPS.items() if labels.get(key)}
        node_counts.update(groups.keys())
        for name, kind in groups.items():
            kind_by_group.setdefault(name, kind)
    return tuple(
        CompletionName(name, f"{kind_by_group[name]}, {_node_count(node_counts[name])}")
        for name in sorted(kind_by_group)
    )


def _node_count(nodes: int) -> str:
    return f"{nodes} node{'' if nodes == 1 else 's'}"
