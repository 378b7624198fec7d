"""Decoder of a pod's placement (requests, node affinity, topology spread): each different set of bytes is decoded once,
because replicas repeat them.

Whole containers cannot be the cache key: each pod mounts its own service account token. Their resources and ports can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from kubectl_eksdoc.model.placement import (
    ANY_NODE,
    CPU,
    DEFAULT_SCHEDULER,
    EPHEMERAL_STORAGE,
    MEMORY,
    HostPort,
    NodeRequirements,
    NodeTerm,
    Placement,
    PodAffinityTerm,
    ResourceRequests,
    TopologySpread,
)
from kubectl_eksdoc.model.quantities import InvalidQuantity, millis, nanos, wholes
from kubectl_eksdoc.model.selectors import Requirement

from .pod_details import AwsCallingContainer
from .structs import (
    MAX_CACHE_ENTRIES,
    NO_RAW,
    InternedTexts,
    LabelSelector,
    LeanStruct,
    MatchExpression,
    RawCache,
    RawError,
    build_selector,
)

# Node selectors, required affinity terms and topology spread constraints in a pod's spec.


class AffinityTerm(LeanStruct):
    match_expressions: list[MatchExpression] | None = None
    match_fields: list[MatchExpression] | None = None


class NodeSelector(LeanStruct):
    node_selector_terms: list[AffinityTerm] | None = None


class NodeAffinityEntry(LeanStruct, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: NodeSelector | None = None


class PodTermEntry(LeanStruct):
    topology_key: str | None = None
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodTermsEntry(LeanStruct, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: list[PodTermEntry] | None = None


class AffinityEntry(LeanStruct):
    """spec.affinity; preferred terms have no effect here and are skipped."""

    node_affinity: NodeAffinityEntry | None = None
    pod_affinity: PodTermsEntry | None = None
    pod_anti_affinity: PodTermsEntry | None = None


class SpreadEntry(LeanStruct):
    topology_key: str | None = None
    max_skew: int | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


def build_node_terms(node_selector: NodeSelector | None, share: InternedTexts) -> tuple[NodeTerm, ...] | None:
    """None if there is no node selector, which differs from one without terms."""
    if node_selector is None:
        return None
    return tuple(
        NodeTerm(_requirements(t.match_expressions, share), _requirements(t.match_fields, share))
        for t in node_selector.node_selector_terms or ()
    )


def build_pod_terms(entry: PodTermsEntry | None, share: InternedTexts) -> tuple[PodAffinityTerm, ...]:
    return tuple(_pod_term(t, share) for t in (entry.required if entry else None) or ())


def build_spreads(entries: list[SpreadEntry], share: InternedTexts) -> tuple[TopologySpread, ...]:
    """Only the constraints with DoNotSchedule; ScheduleAnyway is only a preference."""
    return tuple(
        TopologySpread(
            topology_key=share.text(c.topology_key),
            max_skew=1 if c.max_skew is None else c.max_skew,
            selector=build_selector(c.label_selector),
            min_domains=1 if c.min_domains is None else c.min_domains,
            honours_affinity=c.node_affinity_policy != "Ignore",
            honours_taints=c.node_taints_policy == "Honor",
            match_keys=share.texts(c.match_label_keys),
        )
        for c in entries
        if c.when_unsatisfiable == "DoNotSchedule"
    )


def _pod_term(entry: PodTermEntry, share: InternedTexts) -> PodAffinityTerm:
    namespace_selector = entry.namespace_selector
    return PodAffinityTerm(
        topology_key=share.text(entry.topology_key),
        selector=build_selector(entry.label_selector),
        namespaces=share.texts(entry.namespaces),
        namespace_selector=None if namespace_selector is None else build_selector(namespace_selector),
        match_keys=share.texts(entry.match_label_keys),
        mismatch_keys=share.texts(entry.mismatch_label_keys),
    )


def _requirements(expressions: list[MatchExpression] | None, share: InternedTexts) -> tuple[Requirement, ...]:
    text = share.text
    return tuple(Requirement(text(e.key), text(e.operator), share.texts(e.values)) for e in expressions or ())


# Resource requests of a pod, summed like the scheduler does, and allocatable resources of a node.


Quantity = str | int | float
Amounts = Mapping[str, int]
"""Billionths by resource: sums must be exact before they are rounded."""

NO_AMOUNTS: Amounts = {}
HUGE_PAGES = "hugepages-"


def parse_amounts(quantities: Mapping[str, Quantity | None], path: str) -> Amounts:
    """Billionths of each resource.

    Raises:
        RawError: one of them is not a quantity.
    """
    nanos_by_name = {}
    for name, text in quantities.items():
        try:
            nanos_by_name[name] = nanos(str(text)) if text is not None else 0
        except InvalidQuantity as error:
            raise RawError(f"{error} - at `{path}.{name}`") from error
    return nanos_by_name


def pod_requests(
    containers: Iterable[Amounts], init_containers: Iterable[tuple[Amounts, bool]], pod: Amounts, overhead: Amounts
) -> ResourceRequests:
    """The resources that the pod takes from a node; init containers are in their order, each with whether it is a
    sidecar.

    As ``PodRequests`` of component-helpers/resource/helpers.go: containers run together, init containers one after the
    other beside the sidecars started before them; pod-level requests replace the sum; overhead is added.
    """
    total: dict[str, int] = {}
    for each in containers:
        _add(total, each)
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for each, is_sidecar in init_containers:
        if is_sidecar:
            _add(total, each)
            _add(sidecars, each)
            running = sidecars
        else:
            running = dict(sidecars)
            _add(running, each)
        _raise_to(peak, running)
    _raise_to(total, peak)
    total.update({name: amount for name, amount in pod.items() if _is_pod_level(name)})
    _add(total, overhead)
    others = {name: wholes(amount) for name, amount in total.items() if is_scalar(name)}
    return ResourceRequests(
        cpu=millis(total.get(CPU, 0)),
        memory=wholes(total.get(MEMORY, 0)),
        ephemeral=wholes(total.get(EPHEMERAL_STORAGE, 0)),
        others=tuple(sorted((name, amount) for name, amount in others.items() if amount)),
    )


def allocatable(amounts_by_name: Amounts) -> dict[str, int]:
    """CPU in millicores, everything else in whole units."""
    return {name: millis(amount) if name == CPU else wholes(amount) for name, amount in amounts_by_name.items()}


def is_scalar(name: str) -> bool:
    """Whether the scheduler counts the resource by name (``IsScalarResourceName``): huge pages and resources with a
    domain."""
    return name.startswith((HUGE_PAGES, "attachable-volumes-")) or ("/" in name and not name.startswith("requests."))


def _is_pod_level(name: str) -> bool:
    """Whether the resource can be requested for the pod as a whole (``IsSupportedPodLevelResource``)."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], minimum: Amounts) -> None:
    for name, amount in minimum.items():
        if amount > total.get(name, 0):
            total[name] = amount


Affinity = tuple[tuple[NodeTerm, ...] | None, tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]
NO_DEMAND: Affinity = (None, (), ())

T = TypeVar("T")


class ContainerEntry(AwsCallingContainer):
    resources: msgspec.Raw = NO_RAW
    ports: msgspec.Raw = NO_RAW
    security_context: msgspec.Raw = NO_RAW
    restart_policy: str | None = None
    lifecycle: msgspec.Raw = NO_RAW


class PlacingSpec(LeanStruct):
    """The part of a pod's spec that is decoded here."""

    containers: list[ContainerEntry] | None = None
    init_containers: list[ContainerEntry] | None = None
    resources: msgspec.Raw = NO_RAW
    overhead: msgspec.Raw = NO_RAW
    node_selector: msgspec.Raw = NO_RAW
    affinity: msgspec.Raw = NO_RAW
    topology_spread_constraints: msgspec.Raw = NO_RAW
    scheduler_name: str | None = None
    scheduling_gates: msgspec.Raw = NO_RAW
    resource_claims: msgspec.Raw = NO_RAW


class ResourcesEntry(LeanStruct):
    requests: dict[str, Quantity | None] | None = None


class PortEntry(LeanStruct):
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class _Present(LeanStruct):
    """An entry of which only the presence counts."""


class PlacementDecoder:
    """Decodes the placements of one observation."""

    __slots__ = (
        "_affinity",
        "_claims",
        "_container_requests",
        "_gates",
        "_overhead",
        "_placements",
        "_pod_level",
        "_pool",
        "_ports",
        "_selector",
        "_share",
        "_spread",
    )  # fmt: skip

    def __init__(self, share: InternedTexts) -> None:
        self._share = share
        self._placements: dict[object, Placement] = {}
        self._pool: dict[Any, Any] = {}
        each, form = "$.spec.containers[...]", ResourcesEntry | None
        self._container_requests: RawCache[ResourcesEntry, Amounts] = RawCache(
            f"{each}.resources", form, _amounts, NO_AMOUNTS
        )
        self._pod_level: RawCache[ResourcesEntry, Amounts] = RawCache("$.spec.resources", form, _amounts, NO_AMOUNTS)
        self._overhead: RawCache[dict[str, Quantity | None], Amounts] = RawCache(
            "$.spec.overhead", dict[str, Quantity | None] | None, _overhead, NO_AMOUNTS
        )
        self._ports: RawCache[list[PortEntry], tuple[HostPort, ...]] = RawCache(
            f"{each}.ports", list[PortEntry] | None, _host_ports, ()
        )
        self._selector: RawCache[dict[str, str], tuple[tuple[str, str], ...]] = RawCache(
            "$.spec.nodeSelector", dict[str, str] | None, self._pairs, ()
        )
        self._affinity: RawCache[AffinityEntry, Affinity] = RawCache(
            "$.spec.affinity", AffinityEntry | None, self._terms, NO_DEMAND
        )
        self._spread: RawCache[list[SpreadEntry], tuple[TopologySpread, ...]] = RawCache(
            "$.spec.topologySpreadConstraints", list[SpreadEntry] | None, self._spreads, ()
        )
        some: object = list[_Present] | None
        self._gates: RawCache[list[_Present], bool] = RawCache("$.spec.schedulingGates", some, bool, False)
        self._claims: RawCache[list[_Present], bool] = RawCache("$.spec.resourceClaims", some, bool, False)

    def __call__(self, spec: PlacingSpec) -> Placement:
        """The placement of that spec.

        Raises:
            RawError: a lazily decoded part has a wrong type, or a quantity is invalid.
        """
        containers = spec.containers
        if (
            containers is not None
            and len(containers) == 1
            and spec.scheduler_name == DEFAULT_SCHEDULER
            and spec.init_containers is None
            and spec.node_selector is NO_RAW
            and spec.topology_spread_constraints is NO_RAW
            and spec.overhead is NO_RAW
            and spec.resources is NO_RAW
            and spec.scheduling_gates is NO_RAW
            and spec.resource_claims is NO_RAW
        ):
            (only,) = containers
            key: object = bytes(only.resources)
            # Preferred terms differ between workloads, and are equal to no terms.
            demands = spec.affinity is not NO_RAW and self._affinity(spec.affinity) is not NO_DEMAND
            if demands or only.ports is not NO_RAW:
                key = (key, bytes(only.ports), bytes(spec.affinity) if demands else b"")
        else:
            key = _mixed_key(spec)
        try:
            return self._placements[key]
        except KeyError:
            if len(self._placements) >= MAX_CACHE_ENTRIES:
                self._placements.clear()
                self._pool.clear()
            placement = self._placements[key] = self._build(spec)
            return placement

    def _build(self, spec: PlacingSpec) -> Placement:
        containers, inits = spec.containers or [], spec.init_containers or []
        sidecars = [c for c in inits if c.restart_policy == "Always"]
        terms, affinity, anti_affinity = self._affinity(spec.affinity)
        pod_resources = pod_requests(
            [self._container_requests(c.resources) for c in containers],
            [(self._container_requests(c.resources), c.restart_policy == "Always") for c in inits],
            self._pod_level(spec.resources),
            self._overhead(spec.overhead),
        )
        placement = Placement(
            requests=self._shared(pod_resources),
            nodes=self._shared(NodeRequirements(self._selector(spec.node_selector), terms)),
            affinity=affinity,
            anti_affinity=anti_affinity,
            spread=self._spread(spec.topology_spread_constraints),
            ports=self._shared(tuple(port for c in sidecars + containers for port in self._ports(c.ports))),
            scheduler=self._share.text(spec.scheduler_name) or DEFAULT_SCHEDULER,
            gated=self._gates(spec.scheduling_gates),
            claims_devices=self._claims(spec.resource_claims),
        )
        return ANY_NODE if placement == ANY_NODE else self._shared(placement)

    def _shared(self, value: T) -> T:
        """The shared value equal to it: values can be equal although their bytes differ."""
        return self._pool.setdefault(value, value)  # type: ignore[no-any-return]

    def _pairs(self, labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
        text = self._share.text
        return tuple(sorted((text(key), text(value)) for key, value in labels.items()))

    def _terms(self, entry: AffinityEntry) -> Affinity:
        share = self._share
        required = entry.node_affinity.required if entry.node_affinity else None
        affinity = (
            build_node_terms(required, share),
            build_pod_terms(entry.pod_affinity, share),
            build_pod_terms(entry.pod_anti_affinity, share),
        )
        return NO_DEMAND if affinity == NO_DEMAND else affinity

    def _spreads(self, entries: list[SpreadEntry]) -> tuple[TopologySpread, ...]:
        return build_spreads(entries, self._share)


def _mixed_key(spec: PlacingSpec) -> object:
    """All bytes that decide, each with the part they belong to."""
    parts: list[object] = [spec.scheduler_name]
    for each in spec.containers or ():
        parts += (bytes(each.resources), bytes(each.ports))
    if spec.init_containers is not None:
        parts.append(None)
        for each in spec.init_containers:
            parts += (bytes(each.resources), bytes(each.ports), each.restart_policy)
    parts += (
        None,
        bytes(spec.affinity),
        bytes(spec.node_selector),
        bytes(spec.topology_spread_constraints),
        bytes(spec.resources),
        bytes(spec.overhead),
        bytes(spec.scheduling_gates),
        bytes(spec.resource_claims),
    )
    return tuple(parts)


def _amounts(entry: ResourcesEntry) -> Amounts:
    return parse_amounts(entry.requests or {}, "$.spec.containers[...].resources.requests")


def _overhead(quantities: dict[str, Quantity | None]) -> Amounts:
    return parse_amounts(quantities, "$.spec.overhead")


def _host_ports(entries: list[PortEntry]) -> tuple[HostPort, ...]:
    return tuple(
        HostPort(p.host_port, p.protocol or "TCP", p.host_ip or "0.0.0.0")
        for p in entries
        if p.host_port is not None and p.host_port > 0
    )
