"""NodeAffinity: nodeSelector and required node affinity (plugins/nodeaffinity)."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import NODE_NAME_FIELD, NodeDemand, NodeTerm, any_matches

CONFLICT = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("pod affinity terms conflict",))
"""What the scheduler says before it looks at any node, when the demand names none that could exist."""

_REFUSED = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("node(s) didn't match Pod's node affinity/selector",))
_ENFORCED = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("node(s) didn't match scheduler-enforced node affinity",))


def refusal(demand: NodeDemand, node: Node, enforced: tuple[NodeTerm, ...] | None = None) -> SchedulingRefusal | None:
    """`enforced` is the scheduler's own addedAffinity, None (as in EKS) where it has none."""
    if enforced is not None and not any_matches(enforced, node.name, node.labels):
        return _ENFORCED
    return None if demand.accepts(node.name, node.labels) else _REFUSED


def named_nodes(demand: NodeDemand) -> frozenset[str] | None:
    """The nodes that the demand names, so that no other need be looked at; None where it names none.

    Empty where its terms contradict each other: the pod then fits nowhere (`CONFLICT`).
    """
    if not demand.terms:
        return None
    found: set[str] = set()
    for term in demand.terms:
        named = [set(r.values) for r in term.fields if r.key == NODE_NAME_FIELD and r.operator == "In"]
        if not named:
            return None
        found |= set.intersection(*named)
    return frozenset(found)
