"""Plot of a DNS measurement: one character a second, and below it the events of CoreDNS pods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kubectl_eksdoc.model.coredns import LoadReport, MeasuredSecond, QueryCounts, QueryStream
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.report import Line, ReportFigure, Section, TextBlock, flush_left, verbatim_line
from kubectl_eksdoc.report.text import MARGIN, Appearance, Title, printable, rfc3339, truncate, wrap

from ..measurement_findings import (
    DnsMeasurement,
    MeasuredZone,
    MeasurementEvent,
    MeasurementEventKind,
    offset_s,
)
from ..measurement_plan import MeasurementPlan

ANSWERED, LATE, LOST, UNKNOWN, NOTHING = "▁", "▄", "█", "?", " "
LEGEND = f"{ANSWERED} answered  {LATE} late  {LOST} lost  {UNKNOWN} not known"
MARKS: Mapping[MeasurementEventKind, str] = {
    MeasurementEventKind.TOLD: "T",
    MeasurementEventKind.OUT: "L",
    MeasurementEventKind.GONE: "G",
    MeasurementEventKind.CAME: "J",
}
MARK_LEGEND = "T told to end  L left the endpoints  G gone  J joined the endpoints; of several the first"


def stream_symbols(report: LoadReport, streams: Sequence[QueryStream], step: int) -> str:
    """One character for each `step` seconds: the worst of them."""
    seconds_by_stream = [report.seconds.get(stream, {}) for stream in streams]
    cells: list[list[MeasuredSecond]] = [[] for _ in range(math.ceil(report.duration_s / step))]
    for stream_seconds in seconds_by_stream:
        for t, second in stream_seconds.items():
            cells[t // step].append(second)
    return "".join(map(_second_symbol, cells))


def _second_symbol(seconds: Sequence[MeasuredSecond]) -> str:
    total = sum((each.counts for each in seconds), QueryCounts())
    if total.bad:
        return LOST
    if total.unknown:
        return UNKNOWN
    if total.late:
        return LATE
    return ANSWERED if total.sent else NOTHING


def event_marks(report: LoadReport, events: Sequence[MeasurementEvent], step: int) -> str:
    """The events in the seconds of the report, each below its second."""
    width = math.ceil(report.duration_s / step)
    cells: dict[int, set[MeasurementEventKind]] = {}
    for each in events:
        cell = math.floor(offset_s(each, report) / step)
        if 0 <= cell < width:
            cells.setdefault(cell, set()).add(each.what)
    return "".join(_event_mark(cells.get(cell, set())) for cell in range(width)).rstrip()


def _event_mark(kinds: set[MeasurementEventKind]) -> str:
    """The mark of the first event kind; the legend lists all events."""
    return next((MARKS[each] for each in MeasurementEventKind if each in kinds), " ")


def step_for(length: int, width: int) -> int:
    """Seconds for each character, so that the plot fits."""
    return max(1, math.ceil(length / max(width, 1)))


_MAX_LABEL = 30


def plot(plan: MeasurementPlan, measured: DnsMeasurement, zone: MeasuredZone) -> Section | None:
    report = zone.report
    if isinstance(report, Unknown) or not report.duration_s:
        return None

    def draw(appearance: Appearance, full: bool) -> list[str]:
        rows = _plotted_streams(plan, full)
        label = min(_MAX_LABEL, max(map(len, rows))) + 2
        step = step_for(report.duration_s, report.duration_s if full else appearance.columns - len(MARGIN) - label)
        lines = []
        for name, streams in rows.items():
            shortened = truncate(printable(name, appearance), label - 2, appearance, in_middle=True)
            lines.append(
                f"{MARGIN}{shortened:<{label}}"
                f"{appearance.transliterate(stream_symbols(report, streams, step)).rstrip()}"
            )
        if happened := event_marks(report, measured.moments, step):
            lines.append(f"{MARGIN}{'':<{label}}{happened}")
        each = "a second" if step == 1 else f"{step} seconds"
        return [*wrap(f"since {rfc3339(report.began)}; a sign is {each}", appearance.columns, MARGIN), *lines]

    return ReportFigure(Title("Zone", f" {zone.zone.label}, from {zone.zone.node}"), draw)


def _plotted_streams(plan: MeasurementPlan, full: bool) -> dict[str, list[QueryStream]]:
    """The streams of each line. Without `full`, both transports of an endpoint share a line."""
    pods = {target.name for target in plan.targets if target.pod}
    streams_by_name: dict[str, list[QueryStream]] = {}
    for stream in plan.streams:
        name = stream.target if stream.target in pods and not full else f"{stream.target} {transport_text(stream)}"
        streams_by_name.setdefault(name, []).append(stream)
    return streams_by_name


def legend(measured: DnsMeasurement) -> Section:
    lines: list[Line | str] = [verbatim_line(LEGEND)]
    if measured.moments:
        lines.append(flush_left(MARK_LEGEND))
    lines += [f"- {rfc3339(moment.at)} {moment.pod}: {moment.what.value}" for moment in measured.moments]
    return TextBlock(Title("Signs", ", and what happened to CoreDNS's pods meanwhile"), lines)


def transport_text(stream: QueryStream) -> str:
    """``udp``, ``tcp``, or ``kept``: over UDP from one long-lived socket."""
    return stream.transport.removeprefix("udp-")
