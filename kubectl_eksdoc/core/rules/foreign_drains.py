"""Who else is draining a node: by the taints that others put on it, and by its deletion."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.core.model.nodes import Node

TAINTS = {
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter",  # its name before v1
    "ToBeDeletedByClusterAutoscaler": "the Cluster Autoscaler",
}

TERMINATION_TAINTS = "aws-node-termination-handler/"
"""Beginning of the taints that the AWS Node Termination Handler puts on nodes (its --taint-node option)."""


class ForeignDrain(NamedTuple):
    """`who` drains it, as one sees by `sign`."""

    who: str
    sign: str


def foreign_drain(node: Node) -> ForeignDrain | None:
    """By a taint; the deletion of a node is not somebody's drain."""
    for taint in node.taints:
        if taint.key in TAINTS:
            return ForeignDrain(TAINTS[taint.key], f"taint {taint.key}")
    return None
