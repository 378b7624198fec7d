"""Refusals of a node by scheduler filters, and the filters that depend only on the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT, Node, Toleration
from kubectl_eksdoc.model.placing import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    NODE_NAME_FIELD,
    PODS,
    HostPort,
    NodeDemand,
    NodeTerm,
    Requests,
    any_matches,
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


CONFLICT = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("pod affinity terms conflict",))
"""The scheduler's refusal before it filters any node, if the required terms name no possible node."""

_REFUSED = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("node(s) didn't match Pod's node affinity/selector",))
_ENFORCED = SchedulingRefusal(SchedulerFilter.NODE_AFFINITY, ("node(s) didn't match scheduler-enforced node affinity",))


def refusal(demand: NodeDemand, node: Node, enforced: tuple[NodeTerm, ...] | None = None) -> SchedulingRefusal | None:
    """The refusal by node affinity. `enforced` is the scheduler's own addedAffinity, None (as in EKS) if it has
    none."""
    if enforced is not None and not any_matches(enforced, node.name, node.labels):
        return _ENFORCED
    return None if demand.accepts(node.name, node.labels) else _REFUSED


def named_nodes(demand: NodeDemand) -> frozenset[str] | None:
    """The nodes that the requirements name, so that no other node has to be checked; None if they name none.

    Empty if the terms contradict each other: the pod then fits nowhere (`CONFLICTING_TERMS`).
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


# NodePorts: only one pod can use a port of the node (plugins/nodeports, HostPortInfo of framework/types.go).


EVERYWHERE = "0.0.0.0"

_PORTS_REFUSED = SchedulingRefusal(
    SchedulerFilter.NODE_PORTS, ("node(s) didn't have free ports for the requested pod ports",), resolvable=True
)


class UsedPorts:
    """The used ports of one node: the number of pods for each address, by protocol and port."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], dict[str, int]] = {}

    def add(self, ports: Iterable[HostPort], count: int = 1) -> None:
        """`count` pods use the ports; a negative number releases them."""
        for port in ports:
            held = self._held.setdefault((port.protocol, port.port), {})
            held[port.address] = held.get(port.address, 0) + count
            if not held[port.address]:
                del held[port.address]

    def taken(self, port: HostPort) -> bool:
        """0.0.0.0 conflicts with every address."""
        held = self._held.get((port.protocol, port.port))
        if not held:
            return False
        return port.address == EVERYWHERE or port.address in held or EVERYWHERE in held


def ports_refusal(ports: Iterable[HostPort], used: UsedPorts) -> SchedulingRefusal | None:
    return _PORTS_REFUSED if any(used.taken(port) for port in ports) else None


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

    def take(self, asked: Requests, count: int = 1) -> None:
        """`count` pods use these requests; a negative number releases them."""
        self.cpu -= count * asked.cpu
        self.memory -= count * asked.memory
        self.ephemeral -= count * asked.ephemeral
        self.pods -= count
        for name, amount in asked.others:
            self.others[name] = self.left(name) - count * amount

    def left(self, name: str) -> int:
        """The free amount of a resource that is counted by name."""
        left = self.others.get(name)
        return self.allocatable.get(name, 0) if left is None else left

    def fits(self, asked: Requests) -> bool:
        """Whether `resources_refusal` is None, but faster."""
        return (
            self.pods > 0
            and (asked.cpu <= self.cpu or not asked.cpu)
            and (asked.memory <= self.memory or not asked.memory)
            and (asked.ephemeral <= self.ephemeral or not asked.ephemeral)
            and (not asked.others or all(amount <= self.left(name) for name, amount in asked.others))
        )


def shortages(asked: Requests, room: NodeRoom, ignored: frozenset[str] = frozenset()) -> tuple[Shortage, ...]:
    """Every resource that is not sufficient, except the number of pods.

    `ignored` are the scheduler's ignoredResources and ignoredResourceGroups (the part before the slash).
    """
    asked_and_left = [
        (CPU, asked.cpu, room.cpu),
        (MEMORY, asked.memory, room.memory),
        (EPHEMERAL_STORAGE, asked.ephemeral, room.ephemeral),
    ]
    for name, amount in asked.others:
        if name not in ignored and name.partition("/")[0] not in ignored:
            asked_and_left.append((name, amount, room.left(name)))
    found = []
    for name, amount, left in asked_and_left:
        if amount > 0 and amount > left:
            capacity = room.allocatable.get(name, 0)
            found.append(Shortage(name, amount, capacity - left, capacity))
    return tuple(found)


def resources_refusal(
    asked: Requests, room: NodeRoom, ignored: frozenset[str] = frozenset()
) -> SchedulingRefusal | None:
    """Resolvable unless the pod requests more than the whole node has."""
    short = shortages(asked, room, ignored)
    if not short and room.pods > 0:
        return None
    full = (TOO_MANY_PODS,) if room.pods <= 0 else ()
    reasons = full + tuple(f"Insufficient {s.resource}" for s in short)
    return SchedulingRefusal(SchedulerFilter.NODE_RESOURCES_FIT, reasons, all(s.requested <= s.capacity for s in short))


# TaintToleration: the taints NoSchedule and NoExecute must be tolerated (plugins/tainttoleration).
#
# The operators Gt and Lt of tolerations are alpha and off in 1.36: such a toleration tolerates nothing.


FORBIDDING = ("NoSchedule", "NoExecute")

_TAINTS_REFUSED = SchedulingRefusal(SchedulerFilter.TAINT_TOLERATION, ("node(s) had untolerated taint(s)",))


def tolerated(tolerations: Sequence[Toleration], node: Node) -> bool:
    return all(
        any(t.tolerates(taint.key, taint.value, taint.effect) for t in tolerations)
        for taint in node.taints
        if taint.effect in FORBIDDING
    )


def taints_refusal(tolerations: Sequence[Toleration], node: Node) -> SchedulingRefusal | None:
    return None if tolerated(tolerations, node) else _TAINTS_REFUSED


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
            cordon_refusal(self.tolerations, node)
            or taints_refusal(self.tolerations, node)
            or refusal(self.demand, node)
        )
