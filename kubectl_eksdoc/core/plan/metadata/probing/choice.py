"""On which nodes a probe runs: one of each kind that looks alike from within the cluster, unless others are named.

Alike are nodes of one node group or NodePool that come from the same version of the same template: what EC2 gave them
is the same, unless somebody changed an instance by hand, which only AWS tells, or a probe of every node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.nodes import Node, NodeOwner
from kubectl_eksdoc.errors import UsageError

TEMPLATE, TEMPLATE_VERSION = "eks.amazonaws.com/sourceLaunchTemplateId", "eks.amazonaws.com/sourceLaunchTemplateVersion"
IMAGE, NODE_CLASS = "eks.amazonaws.com/nodegroup-image", "karpenter.k8s.aws/ec2nodeclass"
OS = "kubernetes.io/os"

_FARGATE = "Fargate has no metadata service"
_HYBRID = "a hybrid node is no EC2 instance"

NOTHING_TO_ASK = (_FARGATE, _HYBRID)
"""Why nodes are not probed of which there is nothing to know."""

_SAME = (TEMPLATE, TEMPLATE_VERSION, IMAGE, NODE_CLASS)


@dataclass(frozen=True, slots=True)
class Likes:
    """Nodes that are alike; `why_not`: why none of them is probed, "" if `chosen` are."""

    owner: NodeOwner
    group: str
    nodes: tuple[str, ...]
    chosen: tuple[str, ...] = ()
    why_not: str = ""


def likes(nodes: Iterable[Node], named: Sequence[str] = (), every: bool = False) -> tuple[Likes, ...]:
    """All that are alike, by owner and group; `named`: exactly those nodes, `every`: each one.

    Raises:
        UsageError: there is no such node.
    """
    nodes = tuple(nodes)
    if absent := sorted(set(named) - {node.name for node in nodes}):
        raise UsageError(f"there is no node {', '.join(absent)}", "kubectl get nodes lists them.")
    alike: dict[tuple[str, ...], list[Node]] = defaultdict(list)
    for node in nodes:
        if not named or node.name in named:
            alike[_kind(node)].append(node)
    every = every or bool(named)
    return tuple(_likes(sorted(alike[kind], key=lambda node: node.name), every) for kind in sorted(alike))


def _kind(node: Node) -> tuple[str, ...]:
    return (node.owner.value, node.group, *(node.labels.get(label, "") for label in _SAME), _why_not(node))


def _likes(nodes: Sequence[Node], every: bool) -> Likes:
    first, names = nodes[0], tuple(node.name for node in nodes)
    if why_not := _why_not(first):
        return Likes(first.owner, first.group, names, (), why_not)
    chosen = names if every else (min(nodes, key=_least_busy).name,)
    return Likes(first.owner, first.group, names, chosen)


def _why_not(node: Node) -> str:
    """Why a pod there would tell nothing, "" where it would."""
    if node.owner is NodeOwner.FARGATE:
        return _FARGATE
    if node.owner is NodeOwner.HYBRID:
        return _HYBRID
    if node.labels.get(OS, "linux") != "linux":
        return f"the probe is a shell script, and {node.labels[OS]} runs none"
    if node.deletion_at is not None:
        return "it is being deleted"
    if node.ready != "True":
        return f"Ready is {node.ready}: its kubelet would start nothing"
    return ""


def _least_busy(node: Node) -> tuple[bool, int, str]:
    """One that takes pods, and that has much room for them."""
    return (node.unschedulable, -node.pods_allocatable, node.name)
