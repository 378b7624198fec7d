"""Refusals of a node by scheduler filters, and the filters that depend only on the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT, Node, Toleration
from kubectl_eksdoc.model.placement import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    NODE_NAME_FIELD,
    PODS,
    HostPort,
    NodeRequirements,
    NodeTerm,
    ResourceRequests,
    any_term_matches,
)


class SchedulerFilter(str, Enum):
    """The filter plugins, in the order in which the scheduler runs them (apis/config/v1/default_plugins.go)."""

    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    TAINT_TOLERATION = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    NODE_PORTS = "NodePorts"
    NODE_RESOURCES_FIT = "NodeResourcesFit"
    NODE_VOLUME_LIMITS = "NodeVolumeLimits"
    VOLUME_BINDING = "VolumeBinding"
    VOLUME_ZONE = "VolumeZone"
    POD_TOPOLOGY_SPREAD = "PodTopologySpread"
    INTER_POD_AFFINITY = "InterPodAffinity"


@frozen
class SchedulingRefusal:
    """`reasons` in the scheduler's words, as its FailedScheduling events count them (one node may give several).

    `resolvable`: removing other pods from the node could help (Unschedulable; otherwise UnschedulableAndUnresolvable).
    """

    filter: SchedulerFilter
    reasons: tuple[str, ...]
    resolvable: bool = False

    @property
    def code(self) -> str:
        return "Unschedulable" if self.resolvable else "UnschedulableAndUnresolvable"


# NodeAffinity: nodeSelector and required node affinity (plugins/nodeaffinity).


CONFLICTING_TERMS = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("pod affinity terms conflict",))
"""The scheduler's refusal before it filters any node, if the required terms name no possible node."""

_AFFINITY_REFUSED = SchedulingRefusal(
    SchedulerFilter.NODE_AFFINITY, ("node(s) didn't match Pod's node affinity/selector",)
)
_ENFORCED_AFFINITY_REFUSED = SchedulingRefusal(
    SchedulerFilter.NODE_AFFINITY, ("node(s) didn't match scheduler-enforced node affinity",)
)


def node_affinity_refusal(
    demand: NodeRequirements, node: Node, enforced: tuple[NodeTerm, ...] | None = None
) -> SchedulingRefusal | None:
    """The refusal by node affinity. `enforced` is the scheduler's own addedAffinity, None (as in EKS) if it has
    none."""
    if enforced is not None and not any_term_matches(enforced, node.name, node.labels):
        return _ENFORCED_AFFINITY_REFUSED
    return None if demand.accepts(node.name, node.labels) else _AFFINITY_REFUSED


def named_nodes(demand: NodeRequirements) -> frozenset[str] | None:
    """The nodes that the requirements name, so that no other node has to be checked; None if they name none.

    Empty if the terms contradict each other: the pod then fits nowhere (`CONFLICTING_TERMS`).
    """
    if not demand.terms:
        return None
    node_names: set[str] = set()
    for term in demand.terms:
        named = [set(r.values) for r in term.fields if r.key == NODE_NAME_FIELD and r.operator == "In"]
        if not named:
            return None
        node_names |= set.intersection(*named)
    return frozenset(node_names)


# NodePorts: only one pod can use a port of the node (plugins/nodeports, HostPortInfo of framework/types.go).


ANY_ADDRESS = "0.0.0.0"

_PORTS_REFUSED = SchedulingRefusal(
    SchedulerFilter.NODE_PORTS, ("node(s) didn't have free ports for the requested pod ports",), resolvable=True
)


class UsedPorts:
    """The used ports of one node: the number of pods for each address, by protocol and port."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], dict[str, int]] = {}

    def add(self, ports: Iterable[HostPort], count: int = 1) -> None:
        """`count` pods use the ports; a negative number releases them."""
        for port in ports:
            counts = self._counts.setdefault((port.protocol, port.port), {})
            counts[port.address] = counts.get(port.address, 0) + count
            if not counts[port.address]:
                del counts[port.address]

    def is_taken(self, port: HostPort) -> bool:
        """0.0.0.0 conflicts with every address."""
        counts = self._counts.get((port.protocol, port.port))
        if not counts:
            return False
        return port.address == ANY_ADDRESS or port.address in counts or ANY_ADDRESS in counts


def ports_refusal(ports: Iterable[HostPort], used: UsedPorts) -> SchedulingRefusal | None:
    return _PORTS_REFUSED if any(used.is_taken(port) for port in ports) else None


# NodeResourcesFit: the node needs enough free resources for the pod, and room for one more pod (plugins/noderesources).
#
# Not modeled: an in-place resize in progress counts with the values of the spec.


TOO_MANY_PODS = "Too many pods"


@frozen
class Shortage:
    """A resource that is not sufficient; in millicores, bytes or units."""

    resource: str
    requested: int
    used: int
    capacity: int


class NodeRoom:
    """Capacity and free resources of one node. The fields are plain attributes, because the search over nodes reads
    them often."""

    __slots__ = ("allocatable", "cpu", "ephemeral", "memory", "others", "pods")

    def __init__(self, allocatable: Mapping[str, int]) -> None:
        """Everything is free; `cpu`, `memory`, `ephemeral`, `pods` and `others` are the free amounts, and may go below
        0."""
        self.allocatable = allocatable
        self.cpu = allocatable.get(CPU, 0)
        self.memory = allocatable.get(MEMORY, 0)
        self.ephemeral = allocatable.get(EPHEMERAL_STORAGE, 0)
        self.pods = allocatable.get(PODS, 0)
        self.others: dict[str, int] = {}  # only resources that a pod has used

    def take(self, requests: ResourceRequests, count: int = 1) -> None:
        """`count` pods use these requests; a negative number releases them."""
        self.cpu -= count * requests.cpu
        self.memory -= count * requests.memory
        self.ephemeral -= count * requests.ephemeral
        self.pods -= count
        for name, amount in requests.others:
            self.others[name] = self.remaining(name) - count * amount

    def remaining(self, name: str) -> int:
        """The free amount of a resource that is counted by name."""
        amount = self.others.get(name)
        return self.allocatable.get(name, 0) if amount is None else amount

    def fits(self, requests: ResourceRequests) -> bool:
        """Whether `resources_refusal` is None, but faster."""
        return (
            self.pods > 0
            and (requests.cpu <= self.cpu or not requests.cpu)
            and (requests.memory <= self.memory or not requests.memory)
            and (requests.ephemeral <= self.ephemeral or not requests.ephemeral)
            and (not requests.others or all(amount <= self.remaining(name) for name, amount in requests.others))
        )


def shortages(
    requests: ResourceRequests, room: NodeRoom, ignored: frozenset[str] = frozenset()
) -> tuple[Shortage, ...]:
    """Every resource that is not sufficient, except the number of pods.

    `ignored` are the scheduler's ignoredResources and ignoredResourceGroups (the part before the slash).
    """
    requested_and_remaining = [
        (CPU, requests.cpu, room.cpu),
        (MEMORY, requests.memory, room.memory),
        (EPHEMERAL_STORAGE, requests.ephemeral, room.ephemeral),
    ]
    for name, amount in requests.others:
        if name not in ignored and name.partition("/")[0] not in ignored:
            requested_and_remaining.append((name, amount, room.remaining(name)))
    short = []
    for name, amount, remaining in requested_and_remaining:
        if amount > 0 and amount > remaining:
            capacity = room.allocatable.get(name, 0)
            short.append(Shortage(name, amount, capacity - remaining, capacity))
    return tuple(short)


def resources_refusal(
    requests: ResourceRequests, room: NodeRoom, ignored: frozenset[str] = frozenset()
) -> SchedulingRefusal | None:
    """Resolvable unless the pod requests more than the whole node has."""
    short = shortages(requests, room, ignored)
    if not short and room.pods > 0:
        return None
    full = (TOO_MANY_PODS,) if room.pods <= 0 else ()
    reasons = full + tuple(f"Insufficient {s.resource}" for s in short)
    return SchedulingRefusal(SchedulerFilter.NODE_RESOURCES_FIT, reasons, all(s.requested <= s.capacity for s in short))


# TaintToleration: the taints NoSchedule and NoExecute must be tolerated (plugins/tainttoleration).
#
# The operators Gt and Lt of tolerations are alpha and off in 1.36: such a toleration tolerates nothing.


FORBIDDING_EFFECTS = ("NoSchedule", "NoExecute")

_TAINTS_REFUSED = SchedulingRefusal(SchedulerFilter.TAINT_TOLERATION, ("node(s) had untolerated taint(s)",))


def tolerates_taints(tolerations: Sequence[Toleration], node: Node) -> bool:
    return all(
        any(t.tolerates(taint.key, taint.value, taint.effect) for t in tolerations)
        for taint in node.taints
        if taint.effect in FORBIDDING_EFFECTS
    )


def taints_refusal(tolerations: Sequence[Toleration], node: Node) -> SchedulingRefusal | None:
    return None if tolerates_taints(tolerations, node) else _TAINTS_REFUSED


# NodeUnschedulable: cordoned nodes take only pods that tolerate the cordon (plugins/nodeunschedulable).


_UNSCHEDULABLE_REFUSED = SchedulingRefusal(SchedulerFilter.NODE_UNSCHEDULABLE, ("node(s) were unschedulable",))


def cordon_refusal(tolerations: Iterable[Toleration], node: Node) -> SchedulingRefusal | None:
    if not node.unschedulable:
        return None
    tolerated = any(t.tolerates(UNSCHEDULABLE_TAINT, "", "NoSchedule") for t in tolerations)
    return None if tolerated else _UNSCHEDULABLE_REFUSED


# Filters that do not depend on other pods: evaluated once for each pair of equal pods and equal nodes.


class NodeFilter:
    """The filters that depend only on the node, for pods with the same requirements and tolerations."""

    __slots__ = ("_by_name", "_keys", "_known", "demand", "tolerations")

    def __init__(self, demand: NodeRequirements, tolerations: tuple[Toleration, ...]) -> None:
        self.demand = demand
        self.tolerations = tolerations
        self._keys = tuple(sorted(demand.label_keys))
        self._by_name = demand.uses_node_name
        self._known: dict[object, SchedulingRefusal | None] = {}

    def refusal(self, node: Node) -> SchedulingRefusal | None:
        """NodeUnschedulable, TaintToleration and NodeAffinity, in this order."""
        labels = node.labels
        cache_key = (
            node.unschedulable,
            node.taints,
            tuple([labels.get(key) for key in self._keys]),
            node.name if self._by_name else "",
        )
        try:
            return self._known[cache_key]
        except KeyError:
            decided = self._known[cache_key] = self._decide(node)
            return decided

    def _decide(self, node: Node) -> SchedulingRefusal | None:
        return (
            cordon_refusal(self.tolerations, node)
            or taints_refusal(self.tolerations, node)
            or node_affinity_refusal(self.demand, node)
        )
