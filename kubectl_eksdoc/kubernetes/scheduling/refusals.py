"""What filters say of a node they refuse; and those that look at nothing but the node."""

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
    """The filter plugins, in the order in which the scheduler asks them (apis/config/v1/default_plugins.go)."""

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

    `resolvable`: other pods going from the node could help (Unschedulable; otherwise UnschedulableAndUnresolvable).
    """

    filter: SchedulerFilter
    reasons: tuple[str, ...]
    resolvable: bool = False

    @property
    def code(self) -> str:
        return "Unschedulable" if self.resolvable else "UnschedulableAndUnresolvable"


# NodeAffinity: nodeSelector and required node affinity (plugins/nodeaffinity).


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


# NodePorts: a port of the node belongs to one pod (plugins/nodeports, HostPortInfo of framework/types.go).


EVERYWHERE = "0.0.0.0"

_PORTS_REFUSED = SchedulingRefusal(
    SchedulerFilter.NODE_PORTS, ("node(s) didn't have free ports for the requested pod ports",), resolvable=True
)


class UsedPorts:
    """The ports taken on one node: how many pods hold each address, by protocol and number."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], dict[str, int]] = {}

    def add(self, ports: Iterable[HostPort], count: int = 1) -> None:
        """`count` pods take the ports; a negative number of pods gives them back."""
        for port in ports:
            held = self._held.setdefault((port.protocol, port.port), {})
            held[port.address] = held.get(port.address, 0) + count
            if not held[port.address]:
                del held[port.address]

    def taken(self, port: HostPort) -> bool:
        """Every address conflicts with any other address."""
        held = self._held.get((port.protocol, port.port))
        if not held:
            return False
        return port.address == EVERYWHERE or port.address in held or EVERYWHERE in held


def ports_refusal(ports: Iterable[HostPort], used: UsedPorts) -> SchedulingRefusal | None:
    return _PORTS_REFUSED if any(used.taken(port) for port in ports) else None


# NodeResourcesFit: what the pod requests must be left on the node, and room for one pod more (plugins/noderesources).
#
# Not modelled: an in-place resize that is under way counts with what the spec says.


TOO_MANY_PODS = "Too many pods"


@frozen
class Shortage:
    """One resource of which there is too little; millicores, bytes or pieces."""

    resource: str
    requested: int
    used: int
    capacity: int


class NodeRoom:
    """What one node has and what is taken of it. The fields are plain, for the search over nodes reads them often."""

    __slots__ = ("allocatable", "cpu", "ephemeral", "memory", "others", "pods")

    def __init__(self, allocatable: Mapping[str, int]) -> None:
        """All is free; `cpu`, `memory`, `ephemeral`, `pods` and `others` are what is left, and may go below 0."""
        self.allocatable = allocatable
        self.cpu = allocatable.get(CPU, 0)
        self.memory = allocatable.get(MEMORY, 0)
        self.ephemeral = allocatable.get(EPHEMERAL_STORAGE, 0)
        self.pods = allocatable.get(PODS, 0)
        self.others: dict[str, int] = {}  # of those that any pod ever took

    def take(self, asked: Requests, count: int = 1) -> None:
        """`count` pods take what each requests; a negative number of pods gives it back."""
        self.cpu -= count * asked.cpu
        self.memory -= count * asked.memory
        self.ephemeral -= count * asked.ephemeral
        self.pods -= count
        for name, amount in asked.others:
            self.others[name] = self.left(name) - count * amount

    def left(self, name: str) -> int:
        """Of a resource that is counted by its name."""
        left = self.others.get(name)
        return self.allocatable.get(name, 0) if left is None else left

    def fits(self, asked: Requests) -> bool:
        """Whether `refusal` is None, in the fewest steps."""
        return (
            self.pods > 0
            and (asked.cpu <= self.cpu or not asked.cpu)
            and (asked.memory <= self.memory or not asked.memory)
            and (asked.ephemeral <= self.ephemeral or not asked.ephemeral)
            and (not asked.others or all(amount <= self.left(name) for name, amount in asked.others))
        )


def shortages(asked: Requests, room: NodeRoom, ignored: frozenset[str] = frozenset()) -> tuple[Shortage, ...]:
    """Every resource that does not suffice, the place for a pod aside.

    `ignored` are the scheduler's ignoredResources and ignoredResourceGroups (what stands before the slash).
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
    """Other pods going helps unless the pod asks for more than the whole node has."""
    short = shortages(asked, room, ignored)
    if not short and room.pods > 0:
        return None
    full = (TOO_MANY_PODS,) if room.pods <= 0 else ()
    reasons = full + tuple(f"Insufficient {s.resource}" for s in short)
    return SchedulingRefusal(SchedulerFilter.NODE_RESOURCES_FIT, reasons, all(s.requested <= s.capacity for s in short))


# TaintToleration: taints that forbid, NoSchedule and NoExecute, must be tolerated (plugins/tainttoleration).
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


# NodeUnschedulable: cordoned nodes take no pods but those that tolerate it (plugins/nodeunschedulable).


_UNSCHEDULABLE_REFUSED = SchedulingRefusal(SchedulerFilter.NODE_UNSCHEDULABLE, ("node(s) were unschedulable",))


def cordon_refusal(tolerations: Iterable[Toleration], node: Node) -> SchedulingRefusal | None:
    if not node.unschedulable:
        return None
    tolerated = any(t.tolerates(UNSCHEDULABLE_TAINT, "", "NoSchedule") for t in tolerations)
    return None if tolerated else _UNSCHEDULABLE_REFUSED


# What a node is to a pod whatever else runs there: decided once for each pair of like pods and like nodes.


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
            cordon_refusal(self.tolerations, node)
            or taints_refusal(self.tolerations, node)
            or refusal(self.demand, node)
        )
