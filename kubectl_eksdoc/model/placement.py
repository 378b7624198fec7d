"""What a pod's spec demands of the node it runs on, and of the pods already there: all that decides where it may go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubectl_eksdoc.model.selectors import Labels, Requirement, Selector, is_valid

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
DEFAULT_SCHEDULER = "default-scheduler"
NODE_NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class Requests:
    """What the scheduler takes off a node for the pod: cpu in millicores, memory and ephemeral storage in bytes.

    `others` are (resource, units) sorted by name: huge pages in bytes, extended resources in pieces; none is 0.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    others: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One nodeSelectorTerm: all its requirements must hold; without any it matches no node.

    A requirement that the scheduler cannot parse makes its term match nothing
    (component-helpers/scheduling/corev1/nodeaffinity).
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def valid(self) -> bool:
        return all(is_valid(r, compares=True) for r in self.labels) and all(
            r.operator in ("In", "NotIn") and len(r.values) == 1 for r in self.fields
        )

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether the node of that name and with those labels is one of these."""
        if not (self.labels or self.fields) or not self.valid:
            return False
        if not all(r.matches(labels) for r in self.labels):
            return False
        known = {NODE_NAME_FIELD: name}
        return all((known.get(r.key, "") == r.values[0]) is (r.operator == "In") for r in self.fields)


def any_matches(terms: Iterable[NodeTerm], name: str, labels: Labels) -> bool:
    """As a node selector does: its terms are alternatives, and without terms it matches no node."""
    return any(term.matches(name, labels) for term in terms)


@dataclass(frozen=True, slots=True)
class NodeDemand:
    """The nodes a pod asks for: every pair of `selector`, and one of `terms` (None: no required node affinity)."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    def accepts(self, name: str, labels: Labels) -> bool:
        if not all(labels.get(key) == value for key, value in self.selector):
            return False
        return self.terms is None or any_matches(self.terms, name, labels)

    @property
    def keys(self) -> frozenset[str]:
        """The node labels that decide."""
        asked = {key for key, _ in self.selector}
        return frozenset(asked | {r.key for term in self.terms or () for r in term.labels})

    @property
    def by_name(self) -> bool:
        """Whether a node's own name decides."""
        return any(term.fields for term in self.terms or ())


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One required term of pod affinity or anti-affinity, as the pod writes it.

    `namespaces` empty and `namespace_selector` None mean the pod's own namespace. `match_keys` and
    `mismatch_keys` are labels whose value the pod itself supplies; an API server from 1.31 on has merged them
    into `selector` already, and to merge them twice changes nothing.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None
    match_keys: tuple[str, ...] = ()
    mismatch_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """One topology spread constraint with whenUnsatisfiable DoNotSchedule; the defaults are the API's.

    `honours_affinity`, `honours_taints`: whether nodes the pod could not use anyway are left out of the count.
    """

    topology_key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    match_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node itself that the pod takes; `address` 0.0.0.0 is every address."""

    port: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Placement:
    """All of a pod's spec that decides where it may run, volumes and tolerations aside; replicas share one object.

    `gated` and `claims_devices` (DRA) say what is there and is not modelled.
    """

    requests: Requests = field(default=Requests())
    nodes: NodeDemand = field(default=NodeDemand())
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    scheduler: str = DEFAULT_SCHEDULER
    gated: bool = False
    claims_devices: bool = False
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Kept once it is known: it is made of many, and every class of pods is looked up by it."""
        if not self._hash:
            demands = (self.requests, self.nodes, self.affinity, self.anti_affinity, self.spread, self.ports)
            object.__setattr__(self, "_hash", hash((demands, self.scheduler, self.gated, self.claims_devices)))
        return self._hash

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What stands between this placement and a certain verdict; empty in all but odd cases."""
        found = []
        if self.scheduler != DEFAULT_SCHEDULER:
            found.append(f"it is placed by scheduler {self.scheduler}, whose rules are not known")
        if self.gated:
            found.append("it has scheduling gates, and who removes them is not known")
        if self.claims_devices:
            found.append("it claims devices (dynamic resource allocation), which is not modelled")
        return tuple(found)


NOWHERE_SPECIAL = Placement()
"""A pod that asks for nothing: any schedulable node will do."""
