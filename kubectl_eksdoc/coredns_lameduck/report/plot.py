"""Plot of a DNS measurement: one character a second, and below it the events of CoreDNS pods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kubectl_eksdoc.model.coredns import Counts, LoadReport, MeasuredSecond, MeasuredStream
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.report import Line, Lines, ReportFigure, Section, as_it_is, flush
from kubectl_eksdoc.report.text import MARGIN, Look, Title, cut, rfc3339, shown, wrap

from ..measurement_findings import (
    DnsMeasurement,
    MeasuredZone,
    MeasurementEvent,
    What,
    offset_s,
)
from ..measurement_plan import MeasurePlan

ANSWERED, LATE, LOST, UNKNOWN, NOTHING = "▁", "▄", "█", "?", " "
LEGEND = f"{ANSWERED} answered  {LATE} late  {LOST} lost  {UNKNOWN} not known"
MARKS: Mapping[What, str] = {What.TOLD: "T", What.OUT: "L", What.GONE: "G", What.CAME: "J"}
MARK_LEGEND = "T told to end  L left the endpoints  G gone  J joined the endpoints; of several the first"


def signs(report: LoadReport, streams: Sequence[MeasuredStream], step: int) -> str:
    """One character for each `step` seconds: the worst of them."""
    every = [report.seconds.get(stream, {}) for stream in streams]
    cells: list[list[MeasuredSecond]] = [[] for _ in range(math.ceil(report.length / step))]
    for of in every:
        for t, second in of.items():
            cells[t // step].append(second)
    return "".join(map(_sign, cells))


def _sign(seconds: Sequence[MeasuredSecond]) -> str:
    total = sum((each.counts for each in seconds), Counts())
    if total.bad:
        return LOST
    if total.unknown:
        return UNKNOWN
    if total.late:
        return LATE
    return ANSWERED if total.sent else NOTHING


def marks(report: LoadReport, moments: Sequence[MeasurementEvent], step: int) -> str:
    """The events in the seconds of the report, each below its second."""
    width = math.ceil(report.length / step)
    cells: dict[int, set[What]] = {}
    for each in moments:
        cell = math.floor(offset_s(each, report) / step)
        if 0 <= cell < width:
            cells.setdefault(cell, set()).add(each.what)
    return "".join(_mark(cells.get(cell, set())) for cell in range(width)).rstrip()


def _mark(what: set[What]) -> str:
    """The mark of the first event kind; the legend lists all events."""
    return next((MARKS[each] for each in What if each in what), " ")


def step_for(length: int, room: int) -> int:
    """Seconds for each character, so that the plot fits."""
    return max(1, math.ceil(length / max(room, 1)))


_LABEL = 30


def plot(plan: MeasurePlan, measured: DnsMeasurement, zone: MeasuredZone) -> Section | None:
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

    return ReportFigure(Title("Zone", f" {zone.zone.said}, from {zone.zone.node}"), draw)


def _plotted(plan: MeasurePlan, full: bool) -> dict[str, list[MeasuredStream]]:
    """The streams of each line. Without `full`, both transports of an endpoint share a line."""
    pods = {target.name for target in plan.targets if target.pod}
    found: dict[str, list[MeasuredStream]] = {}
    for stream in plan.streams:
        name = stream.target if stream.target in pods and not full else f"{stream.target} {by(stream)}"
        found.setdefault(name, []).append(stream)
    return found


def legend(measured: DnsMeasurement) -> Section:
    lines: list[Line | str] = [as_it_is(LEGEND)]
    if measured.moments:
        lines.append(flush(MARK_LEGEND))
    lines += [f"- {rfc3339(moment.at)} {moment.pod}: {moment.what.value}" for moment in measured.moments]
    return Lines(Title("Signs", ", and what happened to CoreDNS's pods meanwhile"), lines)


def by(stream: MeasuredStream) -> str:
    """``udp``, ``tcp``, or ``kept``: over UDP from one long-lived socket."""
    return stream.transport.removeprefix("udp-")
