"""A measurement as ``-o json`` and ``-o yaml`` print it. What is not known is null, and why is said beside it. Times of
answers are milliseconds."""

from __future__ import annotations

from typing import Annotated, Literal

from kubectl_eksdoc.coredns_lameduck.measuring.plan import Happening, MeasurePlan
from kubectl_eksdoc.coredns_lameduck.measuring.result import Deed, Measured, MeasuredZone, What, offset_s
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.coredns import Report, Second, Stream
from kubectl_eksdoc.render import result
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.dns_measure import report
from kubectl_eksdoc.render.dns_measure.report import MeasureReport, times
from kubectl_eksdoc.render.result import LEFT_OUT, Count, FindingResult, Meta, Positive, Printed, Text, Texts, UnsetType

_Positive = Annotated[float, Meta(gt=0)]
_Milliseconds = Annotated[float, Meta(ge=0)]
_Family = Literal["v4", "v6"]


class _Measurement(Printed):
    id: Text
    happening: Happening
    namespace: Text
    image: Text
    questions_per_second: _Positive
    """To each target over each transport."""
    seconds: _Positive
    """At most."""
    timeout_seconds: _Positive
    deadline_seconds: Positive
    pods: Texts
    affected: Texts
    """CoreDNS's pods that are replaced or evicted."""
    changes: Count
    """Part of the typed confirmation: pods that are made and pods that are affected."""

    @classmethod
    def of(cls, facts: MeasurePlan) -> _Measurement:
        manner = facts.manner
        return cls.filled(
            manner,
            id=facts.ident,
            questions_per_second=manner.rate,
            seconds=manner.for_s,
            timeout_seconds=manner.timeout_s,
            deadline_seconds=manner.deadline_s,
            pods=(pod.name for pod in facts.pods),
            affected=(pod.name for pod in facts.affected),
            changes=facts.changes,
        )


class _Asking(Printed):
    name: Text | None
    node: Text | None
    why_not: Text | None


class _Target(Printed):
    name: Text
    address: Text
    port: Annotated[int, Meta(ge=1, le=65535)]
    family: _Family
    pod: Text | None
    """null: the service."""


class _NotApplicable(Printed):
    family: _Family
    why: Text


class _Refused(Printed):
    name: Text
    why: Text
    missing: Text | UnsetType


class _Done(Printed):
    at: result.Moment | None
    refused: Text | None
    finished: bool

    @classmethod
    def of(cls, facts: Deed) -> _Done:
        return cls.filled(facts, at=facts.done_at)


class _Moment(Printed):
    at: result.Moment
    what: What
    pod: Text


class _Mark(Printed):
    second: int
    what: What
    pod: Text


class _Counts(Printed):
    """Questions. sent is the sum of what follows, but for unsent: due, but the asking pod was too busy. late: after
    over a second; lost: not within the timeout; refused: answered at once that no server is there; failed: SERVFAIL,
    REFUSED, truncated; unsure: as likely the asking pod's own fault."""

    sent: Count
    answered: Count
    late: Count
    lost: Count
    refused: Count
    failed: Count
    unsure: Count
    unsent: Count


class _Second(Printed):
    second: Count
    sent: Count
    answered: Count
    late: Count
    lost: Count
    refused: Count
    failed: Count
    unsure: Count
    unsent: Count
    median_ms: _Milliseconds | None
    p99_ms: _Milliseconds | None
    slowest_ms: _Milliseconds | None
    said: Texts


def _second(number: int, second: Second) -> _Second:
    median, p99, slowest = second.ms or (None, None, None)
    return _Second.filled(
        second.counts, second=number, median_ms=median, p99_ms=p99, slowest_ms=slowest, said=second.why
    )


class _Stream(Printed):
    """One target over one transport."""

    target: Text
    transport: Literal["udp", "tcp", "udp-kept"]
    total: _Counts
    median_ms: _Milliseconds | None
    slowest_ms: _Milliseconds | None
    seconds: tuple[_Second, ...]
    """Those in which something was due, counted from began."""


def _stream(report: Report, stream: Stream) -> _Stream:
    median, slowest = times(report, stream)
    seconds = (_second(*each) for each in sorted(report.seconds.get(stream, {}).items()))
    return _Stream.filled(stream, total=report.total(stream), median_ms=median, slowest_ms=slowest, seconds=seconds)


class _Zone(Printed):
    schema = {
        "if": {"properties": {"ran": {"const": True}}},
        "then": {"required": ["began", "marks", "streams"]},
        "else": {"required": ["why"]},
    }

    zone: Text | None
    node: Text
    ran: bool
    """Whether the pod ran and reported what it saw."""
    why: Text | UnsetType
    missing: Text | UnsetType
    began: result.Moment | UnsetType
    marks: tuple[_Mark, ...] | UnsetType
    """What happened to CoreDNS's pods, in the asking pod's seconds: known to a second."""
    streams: tuple[_Stream, ...] | UnsetType


def _zone(plan: MeasurePlan, measured: Measured, zone: MeasuredZone) -> _Zone:
    name, node, report = zone.zone.name, zone.zone.node, zone.report
    if isinstance(report, Unknown):
        return _Zone.filled(LEFT_OUT, zone=name, node=node, ran=False, why=report.why, missing=report.missing)
    return _Zone.filled(
        LEFT_OUT,
        zone=name,
        node=node,
        ran=True,
        began=report.began,
        marks=[_Mark.filled(each, second=round(offset_s(each, report))) for each in measured.moments],
        streams=[_stream(report, stream) for stream in plan.streams],
    )


class _Cleanup(Printed):
    owner: Text
    interrupted: bool
    left: Texts
    not_removed: Text | None


class MeasureResult(CommandResult):
    """DNS, asked at a steady rate from a pod in each zone: what was lost and late by second, and what happened to
    CoreDNS's pods meanwhile."""

    kind: Literal["DnsMeasure"]
    verdict: Text
    """One sentence."""
    measurement: _Measurement
    zones: tuple[_Asking, ...]
    """Every zone with nodes; node null: DNS is not asked from there."""
    targets: tuple[_Target, ...]
    not_applicable: tuple[_NotApplicable, ...]
    refused: tuple[_Refused, ...]
    """What the server would refuse, where a dry run asked it."""
    done: _Done | None
    """What was done to CoreDNS; null: nothing was made."""
    moments: tuple[_Moment, ...]
    """What happened to CoreDNS's pods, by the API server's clock."""
    unseen: Text | None
    """Why not all of that is known."""
    measured: tuple[_Zone, ...]
    cleanup: _Cleanup | None
    """null: nothing was made."""
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: MeasureReport) -> MeasureResult:
        plan, measured = facts.plan, facts.measured
        return cls.filled(
            facts,
            metadata=metadata(facts.cluster, facts),
            verdict=report.in_short(facts),
            measurement=plan,
            zones=plan.zones,
            targets=plan.targets,
            not_applicable=(_NotApplicable.filled(family=key, why=why) for key, why in sorted(plan.absent.items())),
            refused=(_Refused.filled(facts.refused[name], name=name) for name in sorted(facts.refused)),
            done=measured and measured.deed,
            moments=measured.moments if measured else (),
            unseen=measured and measured.unseen,
            measured=(_zone(plan, measured, each) for each in measured.zones) if measured else (),
            cleanup=measured,
        )
