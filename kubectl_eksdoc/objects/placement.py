"""Where a pod may run, out of its spec: decided once for each different set of bytes, since replicas repeat them.

Whole containers cannot be the key: each pod mounts its own service account token. Their resources and ports can.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from kubectl_eksdoc.model.placement import (
    DEFAULT_SCHEDULER,
    NOWHERE_SPECIAL,
    HostPort,
    NodeDemand,
    Placement,
    PodTerm,
    Spread,
)
from kubectl_eksdoc.model.placement import NodeTerm as Term
from kubectl_eksdoc.objects.affinity import AffinityEntry, SpreadEntry, node_terms, pod_terms, spreads
from kubectl_eksdoc.objects.pod_details import Calling
from kubectl_eksdoc.objects.resources import NOTHING, Amounts, Quantity, amounts, requests
from kubectl_eksdoc.objects.structs import MOST, NO_RAW, InternedTexts, Lean, RawCache

Affinity = tuple[tuple[Term, ...] | None, tuple[PodTerm, ...], tuple[PodTerm, ...]]
NO_DEMAND: Affinity = (None, (), ())

T = TypeVar("T")


class ContainerEntry(Calling):
    resources: msgspec.Raw = NO_RAW
    ports: msgspec.Raw = NO_RAW
    security_context: msgspec.Raw = NO_RAW
    restart_policy: str | None = None


class PlacingSpec(Lean):
    """The part of a pod's spec that is read here."""

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


class ResourcesEntry(Lean):
    requests: dict[str, Quantity | None] | None = None


class PortEntry(Lean):
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class _Present(Lean):
    """An entry of which only its presence counts."""


class PlacementDecoder:
    """The placements of one observation."""

    __slots__ = ("_affinity", "_claims", "_gates", "_known", "_overhead", "_own", "_pool", "_ports",
                 "_selector", "_share", "_spread", "_sums")  # fmt: skip

    def __init__(self, share: InternedTexts) -> None:
        self._share = share
        self._known: dict[object, Placement] = {}
        self._pool: dict[Any, Any] = {}
        each, form = "$.spec.containers[...]", ResourcesEntry | None
        self._sums: RawCache[ResourcesEntry, Amounts] = RawCache(f"{each}.resources", form, _amounts, NOTHING)
        self._own: RawCache[ResourcesEntry, Amounts] = RawCache("$.spec.resources", form, _amounts, NOTHING)
        self._overhead: RawCache[dict[str, Quantity | None], Amounts] = RawCache(
            "$.spec.overhead", dict[str, Quantity | None] | None, _overhead, NOTHING
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
        self._spread: RawCache[list[SpreadEntry], tuple[Spread, ...]] = RawCache(
            "$.spec.topologySpreadConstraints", list[SpreadEntry] | None, self._spreads, ()
        )
        some: object = list[_Present] | None
        self._gates: RawCache[list[_Present], bool] = RawCache("$.spec.schedulingGates", some, bool, False)
        self._claims: RawCache[list[_Present], bool] = RawCache("$.spec.resourceClaims", some, bool, False)

    def __call__(self, spec: PlacingSpec) -> Placement:
        """The placement of that spec.

        Raises:
            RawError: a part that is decoded late has a wrong type, or an amount is none.
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
            # What only prefers is another text in each workload, and the same as none.
            demands = spec.affinity is not NO_RAW and self._affinity(spec.affinity) is not NO_DEMAND
            if demands or only.ports is not NO_RAW:
                key = (key, bytes(only.ports), bytes(spec.affinity) if demands else b"")
        else:
            key = _mixed_key(spec)
        try:
            return self._known[key]
        except KeyError:
            return self._learn(key, spec)

    def _learn(self, key: object, spec: PlacingSpec) -> Placement:
        if len(self._known) >= MOST:
            self._known.clear()
            self._pool.clear()
        placement = self._known[key] = self._build(spec)
        return placement

    def _build(self, spec: PlacingSpec) -> Placement:
        containers, inits = spec.containers or [], spec.init_containers or []
        sidecars = [c for c in inits if c.restart_policy == "Always"]
        terms, affinity, anti_affinity = self._affinity(spec.affinity)
        asked = requests(
            [self._sums(c.resources) for c in containers],
            [(self._sums(c.resources), c.restart_policy == "Always") for c in inits],
            self._own(spec.resources),
            self._overhead(spec.overhead),
        )
        placement = Placement(
            requests=self._one(asked),
            nodes=self._one(NodeDemand(self._selector(spec.node_selector), terms)),
            affinity=affinity,
            anti_affinity=anti_affinity,
            spread=self._spread(spec.topology_spread_constraints),
            ports=self._one(tuple(port for c in sidecars + containers for port in self._ports(c.ports))),
            scheduler=self._share.text(spec.scheduler_name) or DEFAULT_SCHEDULER,
            gated=self._gates(spec.scheduling_gates),
            claims_devices=self._claims(spec.resource_claims),
        )
        return NOWHERE_SPECIAL if placement == NOWHERE_SPECIAL else self._one(placement)

    def _one(self, value: T) -> T:
        """The one value equal to it: what differs in its bytes, or in a part, can be equal all the same."""
        return self._pool.setdefault(value, value)  # type: ignore[no-any-return]

    def _pairs(self, given: dict[str, str]) -> tuple[tuple[str, str], ...]:
        text = self._share.text
        return tuple(sorted((text(key), text(value)) for key, value in given.items()))

    def _terms(self, given: AffinityEntry) -> Affinity:
        share = self._share
        required = given.node_affinity.required if given.node_affinity else None
        found = (
            node_terms(required, share),
            pod_terms(given.pod_affinity, share),
            pod_terms(given.pod_anti_affinity, share),
        )
        return NO_DEMAND if found == NO_DEMAND else found

    def _spreads(self, given: list[SpreadEntry]) -> tuple[Spread, ...]:
        return spreads(given, self._share)


def _mixed_key(spec: PlacingSpec) -> object:
    """All the bytes that decide, each with what it belongs to."""
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


def _amounts(given: ResourcesEntry) -> Amounts:
    return amounts(given.requests or {}, "$.spec.containers[...].resources.requests")


def _overhead(given: dict[str, Quantity | None]) -> Amounts:
    return amounts(given, "$.spec.overhead")


def _host_ports(given: list[PortEntry]) -> tuple[HostPort, ...]:
    return tuple(
        HostPort(p.host_port, p.protocol or "TCP", p.host_ip or "0.0.0.0")
        for p in given
        if p.host_port is not None and p.host_port > 0
    )
