"""A change of CoreDNS as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Any, Literal

from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.coredns_lameduck import run as dns
from kubectl_eksdoc.coredns_lameduck.change import change, placing
from kubectl_eksdoc.coredns_lameduck.change.wishes import Place, Wishes
from kubectl_eksdoc.kubernetes.keeping import printed, printed_corefile
from kubectl_eksdoc.render.addon_update.result import OutcomeResult, RefusalResult
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.dns_change import report
from kubectl_eksdoc.render.dns_change.report import DnsChangeReport
from kubectl_eksdoc.render.result import Count, FindingResult, Lines, Printed, Text


class _Conflict(Printed):
    field: Text
    owner: Text


class _Replicas(Printed):
    least: Count
    most: Count


class _Wished(Printed):
    lameduck_seconds: Count | None
    place: Place | None
    replicas: _Replicas | None

    @classmethod
    def of(cls, facts: Wishes) -> _Wished:
        return cls.filled(facts, lameduck_seconds=facts.lameduck_s, replicas=facts.scale)


class _Corefile(Printed):
    before: str
    after: str
    reloads: bool
    """CoreDNS takes it up by itself."""

    @classmethod
    def of(cls, facts: change.Texts) -> _Corefile:
        return cls.filled(facts, before=printed_corefile(facts.before), after=printed_corefile(facts.after))


class _Node(Printed):
    name: Text
    zone: Text | None
    capacity: Text | None
    why_not: Lines

    @classmethod
    def of(cls, facts: placing.Seat) -> _Node:
        return cls.filled(facts, name=facts.node, why_not=facts.why)


class _Landing(Printed):
    """Which nodes would take a pod of CoreDNS."""

    enough: bool
    zones: Lines
    nodes: tuple[_Node, ...]
    unknown: Lines

    @classmethod
    def of(cls, facts: placing.Landing) -> _Landing:
        return cls.filled(facts, nodes=facts.seats)


class _Change(Printed):
    """What is wished, and what it makes of what is there."""

    managed: bool
    """EKS manages CoreDNS as an add-on."""
    addon_version: Text | None
    wished: _Wished
    corefile: _Corefile | None
    values_of_today: dict[str, Any] | None
    affinity_source: Text | None
    landing: _Landing | None
    nothing: bool
    """It is so already, and kept where it lasts."""
    left_to_you: Lines

    @classmethod
    def of(cls, facts: change.Change) -> _Change:
        return cls.filled(
            facts,
            addon_version=facts.version,
            wished=facts.wishes,
            values_of_today=printed(facts.before),
            nothing=not facts.refusals and facts.nothing,
            left_to_you=map(report.command, facts.not_done),
        )


class _Pod(Printed):
    namespace: Text
    name: Text
    node: Text | None
    taken: dns.Taken
    by: Text | None
    why: Text | None
    missing: Lines

    @classmethod
    def of(cls, facts: dns.Stand) -> _Pod:
        namespace, _, name = facts.pod.partition("/")
        return cls.filled(facts, namespace=namespace, name=name)


class _Verified(Printed):
    """Which pods run the new Corefile."""

    all: bool
    seconds: Count
    left: Text | None
    unread: Text | None
    pods: tuple[_Pod, ...]

    @classmethod
    def of(cls, facts: dns.Verified) -> _Verified:
        return cls.filled(facts, seconds=round(facts.seconds), pods=facts.stands)


class DnsChangeResult(CommandResult):
    """A change of CoreDNS that is to be made, or was: kubectl eksdoc coredns-lameduck --set … -o json."""

    kind: Literal["DnsChange"]
    recognised: Text | None
    run: Text | None
    journal: Text | None
    verdict: Text
    change: _Change | None
    mode: Mode | None
    """How conflicts are resolved."""
    values: dict[str, Any] | None
    """The whole document of the call; null where EKS is not asked."""
    config: dict[str, Any] | None
    """What is applied of the ConfigMap; null where nothing is."""
    resets: Lines
    """Fields that the call takes from other managers besides."""
    conflicts: tuple[_Conflict, ...]
    changes: Count
    """Values, or Corefiles, that become others."""
    command: Text | None
    refusals: tuple[RefusalResult, ...]
    to_acknowledge: Lines
    way_back: Lines
    tried: Text | None
    applied: bool
    outcome: OutcomeResult | None
    """Null where nothing was sent."""
    verified: _Verified | None
    """Null where it was not checked."""
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: DnsChangeReport) -> DnsChangeResult:
        return cls.filled(
            facts,
            metadata=metadata(facts.cluster, facts),
            verdict=report.verdict(facts),
            values=printed(facts.values),
            config=printed(facts.config),
            refusals=facts.guards,
            to_acknowledge=(each.message for each in facts.weighty),
            way_back=facts.back,
            outcome=facts.ended,
        )
