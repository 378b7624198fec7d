"""Nodes by who makes them: what is upgraded together is told together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.check.wording import listed, number
from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.nodes import Node, NodeOwner

_KINDS = {
    NodeOwner.MANAGED: "Nodegroup",
    NodeOwner.EKSCTL: "Nodegroup",
    NodeOwner.KARPENTER: "NodePool",
    NodeOwner.AUTO_MODE: "NodePool",
}


@dataclass(frozen=True, slots=True)
class NodeGroupNodes:
    """`name` is that of the node group or NodePool, "" for nodes that have none."""

    owner: NodeOwner
    name: str
    nodes: tuple[Node, ...]

    @property
    def subject(self) -> Subject:
        """The group; of nodes without one, what they are (``self-managed nodes``)."""
        if self.name:
            return Subject(_KINDS.get(self.owner, "Nodegroup"), self.name)
        return Subject("Nodes", self.owner.value)


def groups(nodes: Iterable[Node]) -> tuple[NodeGroupNodes, ...]:
    """By owner and name, nodes in natural order."""
    found: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in nodes:
        found[node.owner.value, node.group].append(node)
    return tuple(
        NodeGroupNodes(NodeOwner(owner), name, tuple(sorted(each, key=lambda node: natural(node.name))))
        for (owner, name), each in sorted(found.items())
    )


def counted(nodes: Sequence[object]) -> str:
    """``1 node``, ``8 nodes``."""
    return number(len(nodes), "node")


def named(nodes: Sequence[Node]) -> str:
    """``blue-1, blue-2 and 6 more``."""
    return listed([node.name for node in nodes])
