"""Report of a DNS measurement, in every format: the plan, and the result second by second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Annotated, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.roles import RoleManifests
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import Counts, LoadReport, MeasuredSecond, MeasuredStream, QueryTarget
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.placing import NotMade
from kubectl_eksdoc.report import result
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import CommandReport, Findings, Head, Points, Section, Table
from kubectl_eksdoc.report.result import (
    LEFT_OUT,
    Count,
    FindingResult,
    Meta,
    Positive,
    Printed,
    Text,
    Texts,
    UnsetType,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    number_column,
)

from ..measurement_findings import (
    DnsMeasurement,
    MeasuredZone,
    What,
    findings_of,
    offset_s,
    said,
)
from ..measurement_plan import (
    LATE_S,
    MOST_ENDPOINTS,
    Happening,
    MeasurePlan,
    manifests,
)
from .plot import by, legend, plot

# A measurement of DNS in sentences.


_DOES = {
    Happening.WATCH: "nothing else is changed",
    Happening.ROLLOUT: "restart the rollout of Deployment coredns, which replaces",
    Happening.EVICTION: "evict",
}


def in_short(view: MeasureReport) -> str:
    """The first line."""
    plan, measured = view.plan, view.measured
    if measured is None:
        return would(plan)
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, LoadReport)]
    ended = " It was interrupted." if measured.interrupted else ""
    if not reports:
        return f"DNS was not measured.{ended}"
    total = sum((through_service(plan, report) for report in reports), Counts())
    zones = counted(len(reports), "zone")
    late = f", {total.late} came late" if total.late else ""
    unknown = f", {total.unknown} are not known" if total.unknown else ""
    unasked = [zone for zone in measured.zones if isinstance(zone.report, Unknown)]
    rest = f" {counted(len(unasked), 'zone')} told nothing." if unasked else ""
    asked = f"Asked through the service from {zones}, {total.bad} of {total.sent} questions had no answer"
    return f"{asked}{late}{unknown}. {_meanwhile(measured)}{rest}{ended}"


def _meanwhile(measured: DnsMeasurement) -> str:
    """How much the measurement shows: without a change, DNS always answers."""
    gone = {each.pod for each in measured.told}
    if gone:
        return f"{counted(len(gone), 'CoreDNS pod')} ended meanwhile."
    if measured.unseen:
        return "Whether a CoreDNS pod ended meanwhile is not known."
    return "No CoreDNS pod ended meanwhile: this says nothing of a rollout or a drain."


def through_service(plan: MeasurePlan, report: LoadReport) -> Counts:
    names = {target.name for target in plan.targets if not target.pod}
    return sum((report.total(stream) for stream in plan.streams if stream.target in names), Counts())


def would(plan: MeasurePlan) -> str:
    """What would be created and done."""
    if not plan.pods:
        return "There is no node to ask from: nothing would be made."
    namespace = plan.manner.namespace
    made = f"This would make {counted(len(plan.pods), 'pod')}, and the ConfigMap that owns them, in namespace"
    happening = plan.manner.happening
    pods = f" {counted(len(plan.affected), 'pod')}" if happening.changes else ""
    does = _DOES[happening]
    done = f"; {does}." if not happening.changes else f", and {does}{pods} of CoreDNS."
    return f"{made} {namespace}{done} What it makes is deleted at the end."


def about(plan: MeasurePlan) -> list[str]:
    """What the user should know before the pods are created."""
    manner = plan.manner
    rate = manner.rate * len(plan.streams)
    told = [
        f"each pod asks {manner.rate:g} times a second each of {named(plan.targets)}, over UDP and TCP, "
        "and the service over one UDP socket that is kept: "
        f"{rate:g} questions a second",
        f"late is after {LATE_S:g} s, lost after {manner.timeout_s:g} s",
        *(f"{family} does not apply: {why}" for family, why in plan.absent.items()),
        f"image: {manner.image}; it needs Python 3.10 or newer",
        "they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up",
    ]
    pods = sum(1 for target in plan.targets if target.pod)
    if pods == MOST_ENDPOINTS:
        told.append(f"of endpoints, no more than {MOST_ENDPOINTS} are asked at their own address")
    told += _done(plan)
    for owners, why in (
        (plan.stale, "removed first, as a measurement that was killed has left it"),
        (plan.others, "left alone, as another measurement may be running"),
    ):
        if owners:
            told.append(f"{why}: {', '.join(owner.name for owner in owners)}")
    return told


def _done(plan: MeasurePlan) -> Iterable[str]:
    names = ", ".join(pod.name for pod in plan.affected)
    if plan.manner.happening is Happening.ROLLOUT:
        yield f"replaced, as by kubectl rollout restart deployment/coredns -n kube-system: {names}"
        yield "a rollout that hangs is stopped with kubectl rollout undo deployment/coredns -n kube-system"
    if plan.manner.happening is Happening.EVICTION:
        yield f"evicted, once its budget allows it: {names}; its ReplicaSet makes another one"
        if len({target.pod for target in plan.targets if target.pod}) <= 1:
            yield "it is the only one that serves: there is no DNS until the other one is ready"


def named(targets: Iterable[QueryTarget]) -> str:
    every = list(targets)
    service = [target.address for target in every if not target.pod]
    pods = len(every) - len(service)
    return f"the service ({', '.join(service)})" + (f" and {counted(pods, 'endpoint')}" if pods else "")


@frozen
class MeasureReport(CommandReport):
    """`measured` None: nothing was created so far. `refused`: what the server would refuse, by name, after a
    server-side dry run. `program` and `load_plan`: the input of the pods, for the manifests."""

    of = "a measurement"

    cluster: Cluster
    plan: MeasurePlan
    measured: DnsMeasurement | None = None
    refused: Mapping[str, NotMade] = field(default_factory=dict)
    program: bytes = b""
    asked: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.measured is None else findings_of(self.plan, self.measured)

    def sections(self, full: bool) -> Iterator[Section | None]:
        yield Head(in_short(self))
        yield from _before(self) if self.measured is None else _after(self, self.measured, full)

    def result(self) -> object:
        plan, measured = self.plan, self.measured
        return MeasureResult.filled(
            self,
            verdict=in_short(self),
            not_applicable=sorted(plan.absent.items()),
            refused=(_Refused.filled(self.refused[name], name=name) for name in sorted(self.refused)),
            measured=(_zone(plan, measured, each) for each in measured.zones) if measured else (),
        )


def _before(view: MeasureReport) -> Iterator[Section]:
    columns = columns_of("ZONE", name_column("ASKED FROM", 20))
    rows: list[Row] = [
        [zone.said, zone.node or Cell(f"nowhere: {zone.why_not}", Tone.FAINT)] for zone in view.plan.zones
    ]
    yield Table(Title("Zones", ", and the node from which DNS would be asked"), (columns, rows), "zones")
    yield Points("What would be made and done", about(view.plan))
    yield Points("Refused by the server", [f"{name}: {why.why}" for name, why in view.refused.items()])


def _after(view: MeasureReport, measured: DnsMeasurement, full: bool) -> Iterator[Section | None]:
    yield Table(Title("Questions", ", by zone and server"), _counts(view))
    yield Points("Learned about the shutdown budget", tuple(said(view.plan, measured)))
    for zone in measured.zones:
        yield plot(view.plan, measured, zone)
    if any(isinstance(zone.report, LoadReport) for zone in measured.zones):
        yield legend(measured)
    yield Findings(view.findings)


def _counts(view: MeasureReport) -> tuple[list[Column], list[Row]]:
    columns = columns_of(
        name_column("ZONE", 8),
        name_column("ASKED", 14),
        "BY",
        number_column("SENT"),
        number_column("ANSWERED", short="OK"),
        number_column("LATE"),
        number_column("LOST"),
        number_column("UNKNOWN", short="?"),
        number_column("MEDIAN", 2),
        number_column("SLOWEST", 1),
    )
    rows: list[Row] = []
    assert view.measured is not None
    ended = frozenset(each.pod for each in view.measured.told)
    for zone in view.measured.zones:
        if isinstance(zone.report, Unknown):
            rows.append([zone.zone.said, Cell("not measured", Tone.UNKNOWN), *["-"] * 8])
            continue
        for place, stream in enumerate(view.plan.streams):
            rows.append(_row(view.plan, zone.zone.said if not place else "", stream, zone.report, ended))
    return columns, rows


def _row(plan: MeasurePlan, zone: str, stream: MeasuredStream, report: LoadReport, ended: frozenset[str]) -> Row:
    """Lost answers at the own address of `ended_pods` are expected."""
    total = report.total(stream)
    median, slowest = times(report, stream)
    # Answers lost at an endpoint's own address may be expected.
    return [
        zone,
        f"{stream.target} (ended)" if _pod(plan, stream) in ended else stream.target,
        by(stream).upper(),
        total.sent,
        total.answered,
        Cell(str(total.late), Tone.WARN if total.late else None),
        Cell(str(total.bad), None if not total.bad else Tone.FAINT if _pod(plan, stream) else Tone.BAD),
        Cell(str(total.unknown), Tone.UNKNOWN if total.unknown else None),
        "-" if median is None else f"{median:.1f} ms",
        "-" if slowest is None else f"{slowest:.1f} ms",
    ]


def _pod(plan: MeasurePlan, stream: MeasuredStream) -> str:
    """The pod whose own address is queried, or "" for the service."""
    return next((target.pod for target in plan.targets if target.name == stream.target), "")


def times(report: LoadReport, stream: MeasuredStream) -> tuple[float | None, float | None]:
    """Milliseconds: the median of the seconds' medians, and the slowest of all."""
    found = sorted(each.ms for each in report.seconds.get(stream, {}).values() if each.ms is not None)
    return (found[len(found) // 2][0], max(each[2] for each in found)) if found else (None, None)


# The manifests of a measurement, for kubectl.


def dry_run(view: MeasureReport) -> RoleManifests:
    return RoleManifests((), (), tuple(manifests(view.plan, view.program, view.asked)))


# A measurement as ``-o json`` and ``-o yaml`` print it. null: unknown, with the reason beside it.


_Positive = Annotated[float, Meta(gt=0)]
_Milliseconds = Annotated[float, Meta(ge=0)]
_Family = Literal["v4", "v6"]


class _Measurement(Printed):
    called = {"id": "ident", "questions_per_second": "rate", "seconds": "for_s"}

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
    """CoreDNS pods that are replaced or evicted."""
    changes: Count
    """Part of the typed confirmation: pods that are created and pods that are affected."""

    @classmethod
    def of(cls, facts: MeasurePlan) -> _Measurement:
        return cls.filled(
            facts,
            facts.manner,
            pods=(pod.name for pod in facts.pods),
            affected=(pod.name for pod in facts.affected),
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
    called = {"at": "done_at"}

    at: result.Moment | None
    refused: Text | None
    finished: bool


class _Moment(Printed):
    at: result.Moment
    what: What
    pod: Text


class _Mark(Printed):
    second: int
    what: What
    pod: Text


class _Counts(Printed):
    """Queries. sent is the sum of the other counts except unsent: those were due, but the querying pod was too busy.
    late: after more than a second; lost: not within the timeout; refused: answered at once that no server listens;
    failed: SERVFAIL, REFUSED, truncated; unsure: possibly caused by the querying pod."""

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


def _second(number: int, second: MeasuredSecond) -> _Second:
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
    """Seconds in which a query was due, counted from began."""


def _stream(report: LoadReport, stream: MeasuredStream) -> _Stream:
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
    """Whether the pod ran and reported its observations."""
    why: Text | UnsetType
    missing: Text | UnsetType
    began: result.Moment | UnsetType
    marks: tuple[_Mark, ...] | UnsetType
    """Events of CoreDNS pods in the querying pod's seconds, accurate to a second."""
    streams: tuple[_Stream, ...] | UnsetType


def _zone(plan: MeasurePlan, measured: DnsMeasurement, zone: MeasuredZone) -> _Zone:
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
    """DNS queried at a steady rate from a pod in each zone: lost and late answers by second, and the events of CoreDNS
    pods meanwhile."""

    called = {
        "measurement": "plan",
        "zones": "plan.zones",
        "targets": "plan.targets",
        "done": "measured.deed",
        "moments": "measured.moments",
        "unseen": "measured.unseen",
        "cleanup": "measured",
    }

    kind: Literal["DnsMeasure"]
    verdict: Text
    """One sentence."""
    measurement: _Measurement
    zones: tuple[_Asking, ...]
    """Every zone with nodes; node null: DNS is not queried from there."""
    targets: tuple[_Target, ...]
    not_applicable: tuple[_NotApplicable, ...]
    refused: tuple[_Refused, ...]
    """What the server would refuse, after a server-side dry run."""
    done: _Done | None
    """The change of CoreDNS; null: nothing was created."""
    moments: tuple[_Moment, ...]
    """Events of CoreDNS pods, by the API server's clock."""
    unseen: Text | None
    """Why some events are unknown."""
    measured: tuple[_Zone, ...]
    cleanup: _Cleanup | None
    """null: nothing was created."""
    findings: tuple[FindingResult, ...]
