"""``-o table``: the numbers, a plot by seconds, and what is found. ``-o wide``: nothing is cut, a sign is a second."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import Counts, Report, Stream
from kubectl_eksdoc.core.plan.dns.measuring.learned import said
from kubectl_eksdoc.core.plan.dns.measuring.moments import What
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import Measured, MeasuredZone
from kubectl_eksdoc.render.dns_measure import plot, words
from kubectl_eksdoc.render.dns_measure.view import MeasureView
from kubectl_eksdoc.render.findings import findings
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, titled, told
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import cut, shown, wrap
from kubectl_eksdoc.render.times import rfc3339

_LABEL = 30


def table(view: MeasureView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: MeasureView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: MeasureView, look: Look, full: bool) -> str:
    head = [look.paint(line, Tone.TITLE) for line in wrap(shown(words.in_short(view), look), look.columns)]
    if view.measured is None:
        sections = [head, *_before(view, look, full)]
    else:
        sections = [head, *_after(view, view.measured, look, full)]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _before(view: MeasureView, look: Look, full: bool) -> Iterator[list[str]]:
    columns = [Column("ZONE"), Column("ASKED FROM", floor=20, middle=True)]
    rows: list[Row] = [
        [zone.said, zone.node or Cell(f"nowhere: {zone.why_not}", Tone.FAINT)] for zone in view.plan.zones
    ]
    yield drawn(Title("Zones", ", and the node from which DNS would be asked"), (columns, rows), look, full)
    yield told(Title("What would be made and done"), words.about(view.plan), look)
    yield told(Title("Refused by the server"), [f"{name}: {why.why}" for name, why in view.refused.items()], look)


def _after(view: MeasureView, measured: Measured, look: Look, full: bool) -> Iterator[list[str]]:
    yield drawn(Title("Questions", ", by zone and by who was asked"), _counts(view), look, full)
    yield told(Title("Learned about the shutdown budget"), tuple(said(view.plan, measured)), look)
    for zone in measured.zones:
        yield _plot(view.plan, measured, zone, look, full)
    if any(isinstance(zone.report, Report) for zone in measured.zones):
        yield _legend(measured, look)
    yield findings(view.findings, "", look, full, named=True)


def _counts(view: MeasureView) -> tuple[list[Column], list[Row]]:
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


def _row(plan: MeasurePlan, zone: str, stream: Stream, report: Report, ended: frozenset[str]) -> Row:
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


def times(report: Report, stream: Stream) -> tuple[float | None, float | None]:
    """Milliseconds: the median of the seconds' medians, and the slowest of all."""
    found = sorted(each.ms for each in report.seconds.get(stream, {}).values() if each.ms is not None)
    return (found[len(found) // 2][0], max(each[2] for each in found)) if found else (None, None)


def _plot(plan: MeasurePlan, measured: Measured, zone: MeasuredZone, look: Look, full: bool) -> list[str]:
    if isinstance(zone.report, Unknown) or not zone.report.length:
        return []
    report, rows = zone.report, _plotted(plan, full)
    label = min(_LABEL, max(map(len, rows))) + 2
    room = report.length if full else look.columns - len(MARGIN) - label
    step = plot.step_for(report.length, room)
    lines = []
    for name, streams in rows.items():
        shortened = cut(shown(name, look), label - 2, look, middle=True)
        lines.append(f"{MARGIN}{shortened:<{label}}{look.signs(plot.signs(report, streams, step)).rstrip()}")
    happened = plot.marks(report, measured.moments, step)
    if happened:
        lines.append(f"{MARGIN}{'':<{label}}{happened}")
    each = "a second" if step == 1 else f"{step} seconds"
    since = wrap(f"since {rfc3339(report.began)}; a sign is {each}", look.columns, MARGIN)
    rest = f" {zone.zone.said}, from {zone.zone.node}"
    if not full:
        rest = cut(rest, look.columns - len("zone"), look, middle=True)
    return titled(Title("Zone", rest), [*since, *lines], look)


def _plotted(plan: MeasurePlan, full: bool) -> dict[str, list[Stream]]:
    """What is a line: a stream; of an endpoint both transports share one, where not everything is shown."""
    pods = {target.name for target in plan.targets if target.pod}
    found: dict[str, list[Stream]] = {}
    for stream in plan.streams:
        name = stream.target if stream.target in pods and not full else f"{stream.target} {_by(stream)}"
        found.setdefault(name, []).append(stream)
    return found


def _legend(measured: Measured, look: Look) -> list[str]:
    lines = [f"{MARGIN}{shown(plot.LEGEND, look)}"]
    if measured.moments:
        lines += wrap(shown(plot.MARK_LEGEND, look), look.columns, MARGIN)
    for moment in measured.moments:
        text = f"- {rfc3339(moment.at)} {moment.pod}: {moment.what.value}"
        lines += wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)
    return titled(Title("Signs", ", and what happened to CoreDNS's pods meanwhile"), lines, look)
