"""A measurement of DNS, in every format: what would be made and done, and what came of it, second by second.

Belongs here: which numbers, plots and findings are shown, in which order and in which words.
Never here: what the numbers mean (that is `coredns_lameduck.measuring`), making or reading pods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from kubectl_eksdoc import __version__
from kubectl_eksdoc.coredns_lameduck.measuring.findings import findings_of, said
from kubectl_eksdoc.coredns_lameduck.measuring.plan import LATE_S, MOST_ENDPOINTS, Happening, MeasurePlan, manifests
from kubectl_eksdoc.coredns_lameduck.measuring.result import Measured, MeasuredZone, Moment, What, offset_s
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import Counts, Second, Stream, Target
from kubectl_eksdoc.model.coredns import Report as Answers
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.placing import NotMade
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.report import Figure, Findings, Head, Line, Lines, Points, Report, Section, Table
from kubectl_eksdoc.render.roles import Manifests
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Row, Title
from kubectl_eksdoc.render.text import counted, cut, rfc3339, shown, wrap

# A measurement of DNS in sentences.


_DOES = {
    Happening.WATCH: "nothing is changed besides",
    Happening.ROLLOUT: "restart the rollout of Deployment coredns, which replaces",
    Happening.EVICTION: "evict",
}


def in_short(view: MeasureReport) -> str:
    """The first line."""
    plan, measured = view.plan, view.measured
    if measured is None:
        return would(plan)
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, Answers)]
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


def _meanwhile(measured: Measured) -> str:
    """What it is worth: DNS that is left alone always answers."""
    gone = {each.pod for each in measured.moments if each.what is What.TOLD}
    if gone:
        return f"{counted(len(gone), 'CoreDNS pod')} ended meanwhile."
    if measured.unseen:
        return "Whether a CoreDNS pod ended meanwhile is not known."
    return "No CoreDNS pod ended meanwhile: this says nothing of a rollout or a drain."


def through_service(plan: MeasurePlan, report: Answers) -> Counts:
    names = {target.name for target in plan.targets if not target.pod}
    return sum((report.total(stream) for stream in plan.streams if stream.target in names), Counts())


def would(plan: MeasurePlan) -> str:
    """What would be made and done."""
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
    """What somebody should know before it is made."""
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


def named(targets: Iterable[Target]) -> str:
    every = list(targets)
    service = [target.address for target in every if not target.pod]
    pods = len(every) - len(service)
    return f"the service ({', '.join(service)})" + (f" and {counted(pods, 'endpoint')}" if pods else "")


# A second a sign: whether DNS answered, and below it what happened to CoreDNS's pods.


ANSWERED, LATE, LOST, UNKNOWN, NOTHING = "▁", "▄", "█", "?", " "
LEGEND = f"{ANSWERED} answered  {LATE} late  {LOST} lost  {UNKNOWN} not known"
MARKS: Mapping[What, str] = {What.TOLD: "T", What.OUT: "L", What.GONE: "G", What.CAME: "J"}
MARK_LEGEND = "T told to end  L left the endpoints  G gone  J joined the endpoints; of several the first"


def signs(report: Answers, streams: Sequence[Stream], step: int) -> str:
    """A sign for each `step` seconds: the worst of them."""
    every = [report.seconds.get(stream, {}) for stream in streams]
    cells: list[list[Second]] = [[] for _ in range(math.ceil(report.length / step))]
    for of in every:
        for t, second in of.items():
            cells[t // step].append(second)
    return "".join(map(_sign, cells))


def _sign(seconds: Sequence[Second]) -> str:
    total = sum((each.counts for each in seconds), Counts())
    if total.bad:
        return LOST
    if total.unknown:
        return UNKNOWN
    if total.late:
        return LATE
    return ANSWERED if total.sent else NOTHING


def marks(report: Answers, moments: Sequence[Moment], step: int) -> str:
    """What happened in the seconds of the report, each under its own."""
    width = math.ceil(report.length / step)
    cells: dict[int, set[What]] = {}
    for each in moments:
        cell = math.floor(offset_s(each, report) / step)
        if 0 <= cell < width:
            cells.setdefault(cell, set()).add(each.what)
    return "".join(_mark(cells.get(cell, set())) for cell in range(width)).rstrip()


def _mark(what: set[What]) -> str:
    """The first by their order: what follows of itself is told below."""
    return next((MARKS[each] for each in What if each in what), " ")


def step_for(length: int, room: int) -> int:
    """So many seconds share a sign where one each would not fit."""
    return max(1, math.ceil(length / max(room, 1)))


_LABEL = 30


@dataclass(frozen=True, slots=True)
class MeasureReport(Report):
    """`measured` None: nothing was made, yet or at all. `refused`: what the server would refuse, by names, where it was
    asked. `options` as they were given; `program` and `asked`: what the pods are given, for the manifests."""

    of: ClassVar[str] = "a measurement"

    cluster: Cluster
    plan: MeasurePlan
    options: Mapping[str, object]
    measured: Measured | None = None
    refused: Mapping[str, NotMade] = field(default_factory=dict)
    program: bytes = b""
    asked: str = ""
    tool_version: str = __version__

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.measured is None else findings_of(self.plan, self.measured)

    def sections(self, full: bool) -> Iterator[Section | None]:
        yield Head(in_short(self))
        yield from _before(self) if self.measured is None else _after(self, self.measured, full)

    def result(self) -> object:
        from kubectl_eksdoc.render.dns_measure.result import MeasureResult

        return MeasureResult.of(self)


def _before(view: MeasureReport) -> Iterator[Section]:
    columns = [Column("ZONE"), Column("ASKED FROM", floor=20, middle=True)]
    rows: list[Row] = [
        [zone.said, zone.node or Cell(f"nowhere: {zone.why_not}", Tone.FAINT)] for zone in view.plan.zones
    ]
    yield Table(Title("Zones", ", and the node from which DNS would be asked"), (columns, rows), "zones")
    yield Points(Title("What would be made and done"), about(view.plan))
    yield Points(Title("Refused by the server"), [f"{name}: {why.why}" for name, why in view.refused.items()])


def _after(view: MeasureReport, measured: Measured, full: bool) -> Iterator[Section | None]:
    yield Table(Title("Questions", ", by zone and by who was asked"), _counts(view))
    yield Points(Title("Learned about the shutdown budget"), tuple(said(view.plan, measured)))
    for zone in measured.zones:
        yield _plot(view.plan, measured, zone)
    if any(isinstance(zone.report, Answers) for zone in measured.zones):
        yield _legend(measured)
    yield Findings(view.findings)


def _counts(view: MeasureReport) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("ZONE", floor=8, middle=True),
        Column("ASKED", floor=14, middle=True),
        Column("BY"),
        Column("SENT", right=True),
        Column("ANSWERED", right=True, short="OK"),
        Column("LATE", right=True),
        Column("LOST", right=True),
        Column("UNKNOWN", right=True, short="?"),
        Column("MEDIAN", right=True, drop=2),
        Column("SLOWEST", right=True, drop=1),
    ]
    rows: list[Row] = []
    assert view.measured is not None
    ended = frozenset(each.pod for each in view.measured.moments if each.what is What.TOLD)
    for zone in view.measured.zones:
        if isinstance(zone.report, Unknown):
            rows.append([zone.zone.said, Cell("not measured", Tone.UNKNOWN), *["-"] * 8])
            continue
        for place, stream in enumerate(view.plan.streams):
            rows.append(_row(view.plan, zone.zone.said if not place else "", stream, zone.report, ended))
    return columns, rows


def _row(plan: MeasurePlan, zone: str, stream: Stream, report: Answers, ended: frozenset[str]) -> Row:
    """Of `ended` pods the lost answers at their own address are as they should be."""
    total = report.total(stream)
    median, slowest = times(report, stream)
    return [
        zone,
        f"{stream.target} (ended)" if _pod(plan, stream) in ended else stream.target,
        _by(stream).upper(),
        str(total.sent),
        str(total.answered),
        Cell(str(total.late), Tone.WARN if total.late else None),
        Cell(str(total.bad), _tone(plan, stream, total)),
        Cell(str(total.unknown), Tone.UNKNOWN if total.unknown else None),
        "-" if median is None else f"{median:.1f} ms",
        "-" if slowest is None else f"{slowest:.1f} ms",
    ]


def _by(stream: Stream) -> str:
    """``udp``, ``tcp``, or ``kept``: over UDP, from a socket that is kept."""
    return stream.transport.removeprefix("udp-")


def _tone(plan: MeasurePlan, stream: Stream, total: Counts) -> Tone | None:
    """What is lost of an endpoint's own address may be as it should be."""
    return None if not total.bad else Tone.FAINT if _pod(plan, stream) else Tone.BAD


def _pod(plan: MeasurePlan, stream: Stream) -> str:
    """Whose own address is asked, "" for the service's."""
    return next((target.pod for target in plan.targets if target.name == stream.target), "")


def times(report: Answers, stream: Stream) -> tuple[float | None, float | None]:
    """Milliseconds: the median of the seconds' medians, and the slowest of all."""
    found = sorted(each.ms for each in report.seconds.get(stream, {}).values() if each.ms is not None)
    return (found[len(found) // 2][0], max(each[2] for each in found)) if found else (None, None)


def _plot(plan: MeasurePlan, measured: Measured, zone: MeasuredZone) -> Section | None:
    report = zone.report
    if isinstance(report, Unknown) or not report.length:
        return None

    def draw(look: Look, full: bool) -> list[str]:
        rows = _plotted(plan, full)
        label = min(_LABEL, max(map(len, rows))) + 2
        step = step_for(report.length, report.length if full else look.columns - len(MARGIN) - label)
        lines = []
        for name, streams in rows.items():
            shortened = cut(shown(name, look), label - 2, look, middle=True)
            lines.append(f"{MARGIN}{shortened:<{label}}{look.signs(signs(report, streams, step)).rstrip()}")
        if happened := marks(report, measured.moments, step):
            lines.append(f"{MARGIN}{'':<{label}}{happened}")
        each = "a second" if step == 1 else f"{step} seconds"
        return [*wrap(f"since {rfc3339(report.began)}; a sign is {each}", look.columns, MARGIN), *lines]

    return Figure(Title("Zone", f" {zone.zone.said}, from {zone.zone.node}"), draw)


def _plotted(plan: MeasurePlan, full: bool) -> dict[str, list[Stream]]:
    """What is a line: a stream; of an endpoint both transports share one, where not everything is shown."""
    pods = {target.name for target in plan.targets if target.pod}
    found: dict[str, list[Stream]] = {}
    for stream in plan.streams:
        name = stream.target if stream.target in pods and not full else f"{stream.target} {_by(stream)}"
        found.setdefault(name, []).append(stream)
    return found


def _legend(measured: Measured) -> Section:
    lines: list[Line | str] = [Line(LEGEND, whole=True)]
    if measured.moments:
        lines.append(Line(MARK_LEGEND, hang=0))
    lines += [f"- {rfc3339(moment.at)} {moment.pod}: {moment.what.value}" for moment in measured.moments]
    return Lines(Title("Signs", ", and what happened to CoreDNS's pods meanwhile"), lines)


# What a measurement would make, as kubectl takes it.


def dry_run(view: MeasureReport) -> Manifests:
    return Manifests((), (), tuple(manifests(view.plan, view.program, view.asked)))
