"""From which node of each zone DNS is asked: one that stays, and better one on which no CoreDNS runs.

A question that does not leave its node says nothing of the network, and a pod of ours on a node that is being drained
would end with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.nodes import Node, NodeOwner

OS = "kubernetes.io/os"


@dataclass(frozen=True, slots=True)
class Zone:
    """`name` "" for nodes without a zone; `node` "" where none can be asked from, and `why_not`."""

    name: str
    node: str = ""
    why_not: str = ""

    @property
    def said(self) -> str:
        return self.name or "(no zone)"


def zones(nodes: Iterable[Node], of_dns: Collection[str]) -> tuple[Zone, ...]:
    """Every zone in which there are nodes, in order; `of_dns`: nodes on which CoreDNS runs."""
    held: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        held[node.zone].append(node)
    return tuple(_zone(name, held[name], of_dns) for name in sorted(held))


def _zone(name: str, nodes: list[Node], of_dns: Collection[str]) -> Zone:
    able = [node for node in nodes if not why_not(node)]
    if not able:
        whys = sorted({why_not(node) for node in nodes})
        return Zone(name, why_not="; ".join(whys))
    best = min(able, key=lambda node: (node.name in of_dns, -node.pods_allocatable, node.name))
    return Zone(name, best.name)


def why_not(node: Node) -> str:
    """Why nothing is asked from there, "" where it can be."""
    if node.owner is NodeOwner.FARGATE:
        return "Fargate runs no pod that is bound to its node"
    if node.labels.get(OS, "linux") != "linux":
        return f"the image does not run on {node.labels[OS]}"
    if node.deletion_at is not None:
        return "the node is being deleted"
    if node.unschedulable:
        return "the node is cordoned: it may be drained"
    if node.ready != "True":
        return f"Ready is {node.ready}: its kubelet would start nothing"
    return ""
