"""Nodes that are not there yet: copies of those that are, which come empty but for their DaemonSets' pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kubectl_eksdoc.model.nodes import HOSTNAME, UNSCHEDULABLE_TAINT, Node, Taint
from kubectl_eksdoc.model.placement import CPU

_PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/disrupt", "ToBeDeleted")
"""How taints begin that a node has for a time only: a new one comes without."""

_OWN_LABELS = frozenset({HOSTNAME, "alpha.eksctl.io/instance-id"})
"""Labels that no two nodes share."""

_CORDON = Taint(UNSCHEDULABLE_TAINT, "", "NoSchedule")


def copy(node: Node, suffix: str) -> Node:
    """A new node like `node`, free of what passes: cordons, conditions, somebody's drain."""
    name = f"{node.name} ({suffix})"
    labels = {**node.labels, HOSTNAME: name}
    taints = tuple(t for t in node.taints if not t.key.startswith(_PASSING_TAINTS))
    return replace(node, name=name, uid=name, labels=labels, unschedulable=False, taints=taints)


def cordoned(node: Node) -> Node:
    """The same node, taking no new pods."""
    return replace(node, unschedulable=True, taints=(*node.taints, _CORDON))


def one_of_each(nodes: Iterable[Node]) -> list[Node]:
    """One node of each group, type, zone and size, the one with the newest kubelet first."""
    found: dict[object, Node] = {}
    for node in nodes:
        found.setdefault((_group(node), node.instance_type, node.zone, node.allocatable.get(CPU)), node)
    return sorted(found.values(), key=lambda n: (n.kubelet is None, _newest_first(n), n.name))


def surged(targets: Sequence[Node], count: int) -> tuple[tuple[Node, Node], ...]:
    """`count` new nodes, each with the one of `targets` it is like: of each group, type and zone about its share.

    One more leaves those before it as they are.
    """
    alike = sorted(targets, key=lambda n: (n.group, n.instance_type, n.zone))
    chosen = [alike[int(_spread(i) * len(alike))] for i in range(1, count + 1)] if alike else []
    return tuple((copy(node, f"surge {i}"), node) for i, node in enumerate(chosen, 1))


def _spread(i: int) -> float:
    """From 0 to 1, each far from those before it (J. G. van der Corput): 1/2, 1/4, 3/4, 1/8 …"""
    spread, step = 0.0, 0.5
    while i:
        spread += step * (i & 1)
        step /= 2
        i >>= 1
    return spread


def _group(node: Node) -> object:
    """What nodes have in common that one of them shows: their group, or without one what they are labelled with."""
    return node.group or frozenset((k, v) for k, v in node.labels.items() if k not in _OWN_LABELS)


def _newest_first(node: Node) -> tuple[int, int]:
    return (-node.kubelet.major, -node.kubelet.minor) if node.kubelet is not None else (0, 0)
