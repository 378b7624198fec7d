"""What a node is to a pod whatever else runs there: decided once for each pair of like pods and like nodes."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.scheduling import node_affinity, taints, unschedulable
from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulingRefusal
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import NodeDemand
from kubectl_eksdoc.model.pods import Toleration


class NodeFilter:
    """The filters that look at the node alone, for pods with one demand and one set of tolerations."""

    __slots__ = ("_by_name", "_keys", "_known", "demand", "tolerations")

    def __init__(self, demand: NodeDemand, tolerations: tuple[Toleration, ...]) -> None:
        self.demand = demand
        self.tolerations = tolerations
        self._keys = tuple(sorted(demand.keys))
        self._by_name = demand.by_name
        self._known: dict[object, SchedulingRefusal | None] = {}

    def refusal(self, node: Node) -> SchedulingRefusal | None:
        """NodeUnschedulable, TaintToleration and NodeAffinity, in this order."""
        labels = node.labels
        like = (
            node.unschedulable,
            node.taints,
            tuple([labels.get(key) for key in self._keys]),
            node.name if self._by_name else "",
        )
        try:
            return self._known[like]
        except KeyError:
            found = self._known[like] = self._decide(node)
            return found

    def _decide(self, node: Node) -> SchedulingRefusal | None:
        return (
            unschedulable.refusal(self.tolerations, node)
            or taints.refusal(self.tolerations, node)
            or node_affinity.refusal(self.demand, node)
        )
