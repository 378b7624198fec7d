"""Report of a DNS measurement, in every format: the plan, and the result second by second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Annotated, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.roles import ManifestReport
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import LoadReport, MeasuredSecond, QueryCounts, QueryStream, QueryTarget
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.placement import ProbeFailure
from kubectl_eksdoc.report import result
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import BulletList, CommandReport, FindingList, Heading, Section, Table
from kubectl_eksdoc.report.result import (
    OMITTED,
    Count,
    FindingResult,
    Meta,
    PositiveCount,
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
    as_columns,
    name_column,
    number_column,
    pluralize,
)

from ..measurement_findings import (
    DnsMeasurement,
    MeasuredZone,
    MeasurementEventKind,
    budget_sentences,
    measurement_findings,
    offset_s,
)
from ..measurement_plan import (
    LATE_S,
    MAX_ENDPOINTS,
    MeasuredChange,
    MeasurementPlan,
    manifests,
)
from .plot import legend, plot, transport_text

# A measurement of DNS in sentences.


_ACTION_TEXTS = {
    MeasuredChange.WATCH: "nothing else is changed",
    MeasuredChange.ROLLOUT: "restart the rollout of Deployment coredns, which replaces",
    MeasuredChange.EVICTION: "evict",
}


def summary(measurement_report: MeasurementReport) -> str:
    """The first line."""
    plan, measured = measurement_report.plan, measurement_report.measured
    if measured is None:
        return plan_sentence(plan)
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, LoadReport)]
    interrupted_text = " It was interrupted." if measured.interrupted else ""
    if not reports:
        return f"DNS was not measured.{interrupted_text}"
    total = sum((through_service(plan, report) for report in reports), QueryCounts())
    zones = pluralize(len(reports), "zone")
    late_text = f", {total.late} came late" if total.late else ""
    unknown_text = f", {total.unknown} are not known" if total.unknown else ""
    silent_zones = [zone for zone in measured.zones if isinstance(zone.report, Unknown)]
    silent_text = f" {pluralize(len(silent_zones), 'zone')} told nothing." if silent_zones else ""
    counts_text = f"Asked through the service from {zones}, {total.bad} of {total.sent} questions had no answer"
    return f"{counts_text}{late_text}{unknown_text}. {_ended_pods_text(measured)}{silent_text}{interrupted_text}"


def _ended_pods_text(measured: DnsMeasurement) -> str:
    """How much the measurement shows: without a change, DNS always answers."""
    ended_pods = {each.pod for each in measured.terminations}
    if ended_pods:
        return f"{pluralize(len(ended_pods), 'CoreDNS pod')} ended meanwhile."
    if measured.unseen:
        return "Whether a CoreDNS pod ended meanwhile is not known."
    return "No CoreDNS pod ended meanwhile: this says nothing of a rollout or a drain."


def through_service(plan: MeasurementPlan, report: LoadReport) -> QueryCounts:
    names = {target.name for target in plan.targets if not target.pod}
    return sum((report.total(stream) for stream in plan.streams if stream.target in names), QueryCounts())


def plan_sentence(plan: MeasurementPlan) -> str:
    """What would be created and done."""
    if not plan.pods:
        return "There is no node to ask from: nothing would be made."
    namespace = plan.settings.namespace
    pods_text = f"This would make {pluralize(len(plan.pods), 'pod')}, and the ConfigMap that owns them, in namespace"
    happening = plan.settings.happening
    affected_text = f" {pluralize(len(plan.affected), 'pod')}" if happening.changes else ""
    action = _ACTION_TEXTS[happening]
    action_text = f"; {action}." if not happening.changes else f", and {action}{affected_text} of CoreDNS."
    return f"{pods_text} {namespace}{action_text} What it makes is deleted at the end."


def plan_notes(plan: MeasurementPlan) -> list[str]:
    """What the user should know before the pods are created."""
    settings = plan.settings
    rate = settings.rate * len(plan.streams)
    notes = [
        f"each pod asks {settings.rate:g} times a second each of {targets_text(plan.targets)}, over UDP and TCP, "
        "and the service over one UDP socket that is kept: "
        f"{rate:g} questions a second",
        f"late is after {LATE_S:g} s, lost after {settings.timeout_s:g} s",
        *(f"{family} does not apply: {reason}" for family, reason in plan.absent_families.items()),
        f"image: {settings.image}; it needs Python 3.10 or newer",
        "they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up",
    ]
    pods = sum(1 for target in plan.targets if target.pod)
    if pods == MAX_ENDPOINTS:
        notes.append(f"of endpoints, no more than {MAX_ENDPOINTS} are asked at their own address")
    notes += _action_notes(plan)
    for owners, reason in (
        (plan.stale, "removed first, as a measurement that was killed has left it"),
        (plan.other_owners, "left alone, as another measurement may be running"),
    ):
        if owners:
            notes.append(f"{reason}: {', '.join(owner.name for owner in owners)}")
    return notes


def _action_notes(plan: MeasurementPlan) -> Iterable[str]:
    names = ", ".join(pod.name for pod in plan.affected)
    if plan.settings.happening is MeasuredChange.ROLLOUT:
        yield f"replaced, as by kubectl rollout restart deployment/coredns -n kube-system: {names}"
        yield "a rollout that hangs is stopped with kubectl rollout undo deployment/coredns -n kube-system"
    if plan.settings.happening is MeasuredChange.EVICTION:
        yield f"evicted, once its budget allows it: {names}; its ReplicaSet makes another one"
        if len({target.pod for target in plan.targets if target.pod}) <= 1:
            yield "it is the only one that serves: there is no DNS until the other one is ready"


def targets_text(targets: Iterable[QueryTarget]) -> str:
    all_targets = list(targets)
    service_addresses = [target.address for target in all_targets if not target.pod]
    pods = len(all_targets) - len(service_addresses)
    return f"the service ({', '.join(service_addresses)})" + (f" and {pluralize(pods, 'endpoint')}" if pods else "")


@frozen
class MeasurementReport(CommandReport):
    """`measured` None: nothing was created so far. `refused`: what the server would refuse, by name, after a
    server-side dry run. `program` and `load_plan`: the input of the pods, for the manifests."""

    noun_phrase = "a measurement"

    cluster: Cluster
    plan: MeasurementPlan
    measured: DnsMeasurement | None = None
    refused: Mapping[str, ProbeFailure] = field(default_factory=dict)
    program: bytes = b""
    load_plan: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.measured is None else measurement_findings(self.plan, self.measured)

    def sections(self, full: bool) -> Iterator[Section | None]:
        yield Heading(summary(self))
        yield from _plan_sections(self) if self.measured is None else _result_sections(self, self.measured, full)

    def result(self) -> object:
        plan, measured = self.plan, self.measured
        return MeasureResult.from_facts(
            self,
            verdict=summary(self),
            not_applicable=sorted(plan.absent_families.items()),
            refused=(_Refused.from_facts(self.refused[name], name=name) for name in sorted(self.refused)),
            measured=(_zone(plan, measured, each) for each in measured.zones) if measured else (),
        )


def _plan_sections(report: MeasurementReport) -> Iterator[Section]:
    columns = as_columns("ZONE", name_column("ASKED FROM", 20))
    rows: list[Row] = [
        [zone.label, zone.node or Cell(f"nowhere: {zone.why_not}", Tone.FAINT)] for zone in report.plan.zones
    ]
    yield Table(Title("Zones", ", and the node from which DNS would be asked"), (columns, rows), "zones")
    yield BulletList("What would be made and done", plan_notes(report.plan))
    yield BulletList("Refused by the server", [f"{name}: {refusal.why}" for name, refusal in report.refused.items()])


def _result_sections(report: MeasurementReport, measured: DnsMeasurement, full: bool) -> Iterator[Section | None]:
    yield Table(Title("Questions", ", by zone and server"), _counts_table(report))
    yield BulletList("Learned about the shutdown budget", tuple(budget_sentences(report.plan, measured)))
    for zone in measured.zones:
        yield plot(report.plan, measured, zone)
    if any(isinstance(zone.report, LoadReport) for zone in measured.zones):
        yield legend(measured)
    yield FindingList(report.findings)


def _counts_table(report: MeasurementReport) -> tuple[list[Column], list[Row]]:
    columns = as_columns(
        name_column("ZONE", 8),
        name_column("ASKED", 14),
        "BY",
        number_column("SENT"),
        number_column("ANSWERED", short_title="OK"),
        number_column("LATE"),
        number_column("LOST"),
        number_column("UNKNOWN", short_title="?"),
        number_column("MEDIAN", 2),
        number_column("SLOWEST", 1),
    )
    rows: list[Row] = []
    assert report.measured is not None
    ended_pods = frozenset(each.pod for each in report.measured.terminations)
    for zone in report.measured.zones:
        if isinstance(zone.report, Unknown):
            rows.append([zone.zone.label, Cell("not measured", Tone.UNKNOWN), *["-"] * 8])
            continue
        for index, stream in enumerate(report.plan.streams):
            rows.append(_row(report.plan, zone.zone.label if not index else "", stream, zone.report, ended_pods))
    return columns, rows


def _row(plan: MeasurementPlan, zone: str, stream: QueryStream, report: LoadReport, ended_pods: frozenset[str]) -> Row:
    """Lost answers at the own address of `ended_pods` are expected."""
    total = report.total(stream)
    median, slowest = latencies(report, stream)
    # Answers lost at an endpoint's own address may be expected.
    return [
        zone,
        f"{stream.target} (ended)" if _target_pod(plan, stream) in ended_pods else stream.target,
        transport_text(stream).upper(),
        total.sent,
        total.answered,
        Cell(str(total.late), Tone.WARN if total.late else None),
        Cell(str(total.bad), None if not total.bad else Tone.FAINT if _target_pod(plan, stream) else Tone.BAD),
        Cell(str(total.unknown), Tone.UNKNOWN if total.unknown else None),
        "-" if median is None else f"{median:.1f} ms",
        "-" if slowest is None else f"{slowest:.1f} ms",
    ]


def _target_pod(plan: MeasurementPlan, stream: QueryStream) -> str:
    """The pod whose own address is queried, or "" for the service."""
    return next((target.pod for target in plan.targets if target.name == stream.target), "")


def latencies(report: LoadReport, stream: QueryStream) -> tuple[float | None, float | None]:
    """Milliseconds: the median of the seconds' medians, and the slowest of all."""
    measured_ms = sorted(each.ms for each in report.seconds.get(stream, {}).values() if each.ms is not None)
    return (
        (measured_ms[len(measured_ms) // 2][0], max(each[2] for each in measured_ms)) if measured_ms else (None, None)
    )


# The manifests of a measurement, for kubectl.


def dry_run(report: MeasurementReport) -> ManifestReport:
    return ManifestReport((), (), tuple(manifests(report.plan, report.program, report.load_plan)))


# A measurement as ``-o json`` and ``-o yaml`` print it. null: unknown, with the reason beside it.


_Positive = Annotated[float, Meta(gt=0)]
_Milliseconds = Annotated[float, Meta(ge=0)]
_Family = Literal["v4", "v6"]


class _Measurement(Printed):
    called = {"id": "ident", "questions_per_second": "rate", "seconds": "for_s"}

    id: Text
    happening: MeasuredChange
    namespace: Text
    image: Text
    questions_per_second: _Positive
    """To each target over each transport."""
    seconds: _Positive
    """At most."""
    timeout_seconds: _Positive
    deadline_seconds: PositiveCount
    pods: Texts
    affected: Texts
    """CoreDNS pods that are replaced or evicted."""
    changes: Count
    """Part of the typed confirmation: pods that are created and pods that are affected."""

    @classmethod
    def of(cls, facts: MeasurementPlan) -> _Measurement:
        return cls.from_facts(
            facts,
            facts.settings,
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


class _MadeChange(Printed):
    called = {"at": "done_at"}

    at: result.Timestamp | None
    refused: Text | None
    finished: bool


class _Event(Printed):
    at: result.Timestamp
    what: MeasurementEventKind
    pod: Text


class _EventInSecond(Printed):
    second: int
    what: MeasurementEventKind
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
    return _Second.from_facts(
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


def _stream(report: LoadReport, stream: QueryStream) -> _Stream:
    median, slowest = latencies(report, stream)
    seconds = (_second(*each) for each in sorted(report.seconds.get(stream, {}).items()))
    return _Stream.from_facts(stream, total=report.total(stream), median_ms=median, slowest_ms=slowest, seconds=seconds)


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
    began: result.Timestamp | UnsetType
    marks: tuple[_EventInSecond, ...] | UnsetType
    """Events of CoreDNS pods in the querying pod's seconds, accurate to a second."""
    streams: tuple[_Stream, ...] | UnsetType


def _zone(plan: MeasurementPlan, measured: DnsMeasurement, zone: MeasuredZone) -> _Zone:
    name, node, report = zone.zone.name, zone.zone.node, zone.report
    if isinstance(report, Unknown):
        return _Zone.from_facts(OMITTED, zone=name, node=node, ran=False, why=report.why, missing=report.missing)
    return _Zone.from_facts(
        OMITTED,
        zone=name,
        node=node,
        ran=True,
        began=report.began,
        marks=[_EventInSecond.from_facts(each, second=round(offset_s(each, report))) for each in measured.moments],
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
    done: _MadeChange | None
    """The change of CoreDNS; null: nothing was created."""
    moments: tuple[_Event, ...]
    """Events of CoreDNS pods, by the API server's clock."""
    unseen: Text | None
    """Why some events are unknown."""
    measured: tuple[_Zone, ...]
    cleanup: _Cleanup | None
    """null: nothing was created."""
    findings: tuple[FindingResult, ...]
