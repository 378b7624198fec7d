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
_TOLD = (*_GROUPS, "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone")


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
class Name:
    """`about` may be ""."""

    text: str
    about: str = ""


Labels = Mapping[str, str]


def of_nodes(nodes: Iterable[tuple[str, Labels]]) -> tuple[Name, ...]:
    """Node names, each with group, instance type and zone, as far as its labels have them."""
    told = {name: dict.fromkeys(labels[key] for key in _TOLD if labels.get(key)) for name, labels in nodes if name}
    return tuple(Name(name, ", ".join(told[name])) for name in sorted(told))


def of_groups(nodes: Iterable[Labels], pools: Iterable[str] = ()) -> tuple[Name, ...]:
    """Groups of the nodes, and the NodePools `pools`, which may have no nodes."""
    counted: Counter[str] = Counter()
    what = dict.fromkeys(pools, _GROUPS[NODE_POOL])
    for labels in nodes:
        groups = {labels[key]: told for key, told in _GROUPS.items() if labels.get(key)}
        counted.update(groups.keys())
        for name, told in groups.items():
            what.setdefault(name, told)
    return tuple(Name(name, f"{what[name]}, {_counted(counted[name])}") for name in sorted(what))


def _counted(nodes: int) -> str:
    return f"{nodes} node{'' if nodes == 1 else 's'}"
