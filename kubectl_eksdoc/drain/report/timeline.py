"""Timeline of a drain as bars, for a terminal and for HTML: one line for each node, from its cordon until it is
done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.pages import Html, collapsible, concat, element, html_lines, omitted_note
from kubectl_eksdoc.report.text import Appearance, Title, Tone, pluralize, printable, short_duration, truncate, wrap

from ..outcome import DrainTarget
from ..result import DrainPlan, Headroom
from ..timeline import NodeSpan
from .plan import DrainView
from .verdict import estimate_lines

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


def ticks(end: float, limit: int = 5) -> list[float]:
    """Round seconds from 0 to `end` for axis marks: about `limit` of them besides the 0."""
    step = next((step for step in _STEPS_S if end / step <= limit), _STEPS_S[-1])
    return [float(tick) for tick in range(0, int(end) + 1, step)]


# Text Gantt chart: one line for each node, from its cordon until it is done, scaled to the width.


TITLE = Title("Timeline", " (p50), nodes in the order in which they are begun")

MAX_NODES = 40
"""Further nodes are only counted: a longer chart is not readable, and a ticket has little room."""

_GAP = 2
_MIN_BAR_WIDTH = 24
"""Minimum columns for the bars, whatever the length of node names: shorter bars are not readable."""
_TICK_WIDTH = 10
_EVICTING = ("█", "▓")
"""Waves alternate between these characters, so that the start of a wave is visible."""
SLOW = "·"


class _TimedDrain(Protocol):
    """A plan or the result of a drain, with times for each node."""

    @property
    def plan(self) -> DrainPlan: ...

    @property
    def spans(self) -> Mapping[str, NodeSpan]: ...

    @property
    def wave_of(self) -> Mapping[str, int]: ...


def timeline(
    view: _TimedDrain,
    appearance: Appearance,
    indent: int = 0,
    all_nodes_option: str = "-o html",
    p95_done_s: Mapping[str, float] = MappingProxyType({}),
) -> list[str]:
    """The lines, at most as wide as the terminal; no lines where no times are known.

    `all_nodes_option`: the option that shows every node. `p95_done_s`: when nodes are done in the p95 run, the tails of
    the bars.
    """
    spans = sorted(view.spans.values(), key=lambda span: span.start_s)  # ties: by activation
    shown_spans, end = (
        spans[:MAX_NODES],
        max([span.done_s for span in spans] + list(p95_done_s.values()), default=0.0) or 1.0,
    )
    if not shown_spans:
        return []
    waves = [str(_wave(view, span)) for span in shown_spans] if _in_waves(view) else []
    times = [
        printable(f"{format_duration(span.start_s)}–{format_duration(span.done_s)}", appearance) for span in shown_spans
    ]
    headings = (
        ("NODE", "GEN" if view.plan.uses_generations else "WAVE", "START–DONE") if appearance.headers else ("", "", "")
    )
    wave_width = max(map(len, (headings[1], *waves))) + _GAP if waves else 0
    time_width = max(map(len, (headings[2], *times)))
    available = appearance.columns - indent - wave_width - time_width - 2 * _GAP
    names = _fit_names(
        [printable(span.node, appearance) for span in shown_spans], available - _MIN_BAR_WIDTH, appearance
    )
    name_width = max(map(len, (headings[0], *names)))
    bar_width = available - name_width

    def row(name: str, wave: str, bar: str, time: str) -> str:
        middle = f"{wave:>{wave_width - _GAP}}{' ' * _GAP}" if waves else ""
        return f"{' ' * indent}{name:<{name_width}}{' ' * _GAP}{middle}{bar:<{bar_width}}{' ' * _GAP}{time}".rstrip()

    lines = []
    if appearance.headers:
        head = row(headings[0], headings[1], text_axis(end, bar_width, "|"), printable(headings[2], appearance))
        lines.append(" " * indent + appearance.paint(head[indent:], Tone.FAINT))
    for index, span in enumerate(shown_spans):
        bar = appearance.transliterate(
            text_bar(span, p95_done_s.get(span.node, 0.0), end, bar_width, _EVICTING[(_wave(view, span) - 1) % 2])
        )
        lines.append(row(names[index], waves[index] if waves else "", bar, times[index]))
    if len(shown_spans) < len(spans):
        lines.append(
            f"{' ' * indent}{appearance.ellipsis} and {len(spans) - len(shown_spans)} more nodes ({all_nodes_option})"
        )
    return lines + wrap(appearance.transliterate(_legend(view, bool(p95_done_s))), appearance.columns, " " * indent)


def text_axis(end: float, width: int, symbol: str = "") -> str:
    """``|0s      |30s     |1m``: each label begins at its time; labels without room are left out."""
    line = ""
    for tick in ticks(end, max(2, width // _TICK_WIDTH)):
        column, label = int(tick / end * width), f"{symbol}{short_duration(tick)}"
        if column + len(label) <= width and column >= len(line) + bool(line):
            line = line.ljust(column) + label
    return line


def text_bar(span: NodeSpan, p95_done_s: float, end: float, width: int, evicting: str, empty: str = "░") -> str:
    """A bar of at least one character; a node without a pod to evict is empty at once."""
    begun = min(int(span.start_s / end * width), width - 1)
    empty_from = max(round(span.empty_s / end * width), begun + 1) if span.empty_s > span.start_s else begun
    done = max(round(span.done_s / end * width), empty_from, begun + 1)
    return (
        " " * begun
        + evicting * (empty_from - begun)
        + empty * (done - empty_from)
        + SLOW * (round(p95_done_s / end * width) - done)
    )


def _legend(view: _TimedDrain, has_p95: bool) -> str:
    wave_word = "generation" if view.plan.uses_generations else "wave"
    evicting = f"{' and '.join(_EVICTING)} (by {wave_word})" if _in_waves(view) else _EVICTING[0]
    p95_text = f"; {SLOW}: until then in a slow run (p95)" if has_p95 else ""
    return f"{evicting}: pods are evicted; ░: empty, until it is done{p95_text}."


def _fit_names(names: Sequence[str], width: int, appearance: Appearance) -> list[str]:
    """Names that do not fit lose their domain, if they stay distinct; then their middle."""
    if max(map(len, names)) <= width:
        return list(names)
    hosts = [name.partition(".")[0] + appearance.ellipsis if "." in name else name for name in names]
    short_names = hosts if len(set(hosts)) == len(set(names)) else names
    return [truncate(name, max(width, 1), appearance, in_middle=True) for name in short_names]


def _wave(view: _TimedDrain, span: NodeSpan) -> int:
    return view.wave_of.get(span.node, 0) or 1


def _in_waves(view: _TimedDrain) -> bool:
    return any(wave > 1 for wave in view.wave_of.values())


# The drain over time: nodes as bars, the headroom of the slowest budgets, and the bounds of the time.


_ASSUMPTION_PREFIX = "- "


def drain_timeline(view: DrainView) -> Html:
    """Empty where no node is drained."""
    # Bounds of the time and changes that would shorten it; the assumptions are folded.
    estimate_texts = estimate_lines(view)
    assumptions = [
        line.removeprefix(_ASSUMPTION_PREFIX) for line in estimate_texts if line.startswith(_ASSUMPTION_PREFIX)
    ]
    other_texts = estimate_texts[: -len(assumptions) - 1] if assumptions else estimate_texts
    assumption_list = element("ul", *(element("li", each) for each in assumptions)) if assumptions else ""
    return html_lines(
        [
            gantt(view),
            headroom_over_time(view),
            concat(
                *(element("p", line) for line in other_texts), collapsible("What the times assume", assumption_list)
            ),
        ]
    )


# The axis that the charts share.


def axis(marks: list[float], end: float) -> Html:
    """Labels of the marks, above the bars."""
    labels = (
        element("text", short_duration(mark), x=percent_of(mark, end), y="85%", text_anchor="middle")
        for mark in marks
        if mark
    )
    return element("svg", concat(*labels), role="img", aria_label=f"{format_duration(end)} in all")


def grid(marks: list[float], end: float) -> Iterator[Html]:
    return (element("line", x1=percent_of(mark, end), x2=percent_of(mark, end), y1="0", y2="100%") for mark in marks)


def percent_of(time: float, end: float) -> str:
    return f"{100 * time / end:.2f}%"


# Gantt chart of the p50 run: for each node from its cordon to the end of its last pod, and until it is done. Its tail
# ends when the node is done in the p95 run.


NO_GROUP = "without a group"
"""Shown instead of the name of a node group."""

MAX_BARS = 200
"""With more bars the chart is not readable: the nodes of one group and wave are then one bar."""


class _Bar(NamedTuple):
    """Nodes on one bar, in seconds from the start: begun, last node empty, last node done, and done in the p95 run."""

    name: str
    start_s: float
    empty_s: float
    done_s: float
    p95_done_s: float


def gantt(view: DrainView) -> Html:
    """One row for each drained node, in order and by wave; empty where the times are not estimated."""
    targets = [target for target in view.targets if target.order and target.node.name in view.spans]
    if not targets:
        return Html("")
    end = max(max(view.spans[t.node.name].done_s, view.p95_done_s.get(t.node.name, 0.0)) for t in targets) or 1.0
    marks = ticks(end)
    waves = [(wave, list(members)) for wave, members in groupby(targets, key=lambda target: target.wave)]
    wave_word = "Generation" if view.plan.uses_generations else "Wave"
    rows, bars, shown = [element("span"), axis(marks, end), element("span")], 0, 0
    for wave, members in waves:
        wave_bars = [_Bar(*view.spans[each.node.name], view.p95_done_s.get(each.node.name, 0.0)) for each in members]
        if len(targets) > MAX_BARS:
            wave_bars = _bars_by_group(wave_bars, members)
        if bars and bars + len(wave_bars) > MAX_BARS:
            break
        rows += [element("div", f"{wave_word} {wave}", class_="wave")] if len(waves) > 1 else []
        rows += [part for row in wave_bars for part in _bar_row(row, marks, end)]
        bars, shown = bars + len(wave_bars), shown + len(members)
    legend = element("p", color_key("bar"), "pods are evicted", color_key("rest"), "empty, until it is done",
             color_key("slow"), "until then in a slow run (p95)", class_="key")  # fmt: skip
    return element(
        "div",
        element("div", html_lines(rows), class_="gantt"),
        omitted_note(len(targets) - shown, "nodes"),
        legend,
        class_="card",
    )


def _bars_by_group(bars: list[_Bar], members: Sequence[DrainTarget]) -> list[_Bar]:
    """One bar for each node group; the group that is begun first is at the top."""
    bars_by_group: dict[str, list[_Bar]] = {}
    for bar, target in zip(bars, members, strict=True):
        bars_by_group.setdefault(target.node.group or NO_GROUP, []).append(bar)
    rows = []
    for group, group_bars in bars_by_group.items():
        _, starts, empties, dones, p95_times = zip(*group_bars, strict=True)
        name = f"{group}: {pluralize(len(group_bars), 'node')}"
        rows.append(_Bar(name, min(starts), max(empties), max(dones), max(p95_times)))
    return sorted(rows, key=lambda row: row.start_s)


def _bar_row(bar: _Bar, marks: list[float], end: float) -> list[Html]:
    label = (
        f"{bar.name}: {format_duration(bar.start_s)} to {format_duration(bar.empty_s)}, done after "
        f"{format_duration(bar.done_s)}"
    )
    label += f", at p95 after {format_duration(bar.p95_done_s)}" if bar.p95_done_s > bar.done_s else ""
    picture = element("svg", element("title", label), *grid(marks, end), rect("bar", bar.start_s, bar.empty_s, end),
              rect("rest", bar.empty_s, bar.done_s, end),
              rect("slow", bar.done_s, max(bar.done_s, bar.p95_done_s), end), role="img")  # fmt: skip
    return [element("span", bar.name, class_="name"), picture, element("span", format_duration(bar.done_s), class_="t")]


def rect(kind: str, start: float, stop: float, end: float) -> Html:
    return element(
        "rect", class_=kind, x=percent_of(start, end), width=percent_of(stop - start, end), y="15%", height="70%", rx=2
    )


def color_key(kind: str) -> Html:
    return element("svg", element("rect", class_=kind, width="100%", height="100%", rx=2), aria_hidden="true")


# Headroom over time: a step line for each of the slowest budgets, on the axis of the timeline.


_WIDE = 1000
"""Columns on which the line is drawn (the browser scales them to the page), and its limits in percent of the height."""
_TOP, _BOTTOM = 15, 85

_HEADROOM_LEGEND = (
    "How many disruptions the slowest budgets allow during the run that takes the p50: high is the most, low is none."
)


def headroom_over_time(view: DrainView) -> Html:
    """One row for each budget that has a line, most rounds first; empty where none has."""
    headrooms = sorted((h for h in view.budgets if h.allowed_over_time), key=lambda h: (-h.rounds, h.budget.key))
    if not headrooms:
        return Html("")
    drain_end = max((span.done_s for span in view.spans.values()), default=0.0)
    end = max(drain_end, *(h.allowed_over_time[-1][0] for h in headrooms)) or 1.0
    marks = ticks(end)
    rows = [element("span"), axis(marks, end), element("span")]
    for headroom in headrooms:
        allowed_text = _allowed_text(headroom, end)
        line = element("polyline", points=_step_points(headroom, end), vector_effect="non-scaling-stroke")
        plot = element("svg", line, viewBox=f"0 0 {_WIDE} 100", preserveAspectRatio="none", width="100%", height="100%")
        label = element("title", f"{headroom.budget.key}: {allowed_text}, at most {_max_allowed(headroom)}")
        picture = element("svg", label, *grid(marks, end), plot, role="img")
        rows += [
            element("span", headroom.budget.key, class_="name"),
            picture,
            element("span", allowed_text, class_="t"),
        ]
    return element(
        "div",
        element("div", html_lines(rows), class_="gantt steps"),
        element("p", _HEADROOM_LEGEND, class_="key"),
        class_="card",
    )


def _allowed_text(headroom: Headroom, end: float) -> str:
    """The line in words: ``none for 4m47s``, ``1 or more``."""
    line = [*headroom.allowed_over_time, (end, 0)]
    none_s = sum(end_of_step - start for (start, allowed), (end_of_step, _) in pairwise(line) if allowed <= 0)
    return (
        f"none for {format_duration(none_s)}"
        if none_s
        else f"{min(allowed for _, allowed in headroom.allowed_over_time)} or more"
    )


def _step_points(headroom: Headroom, end: float) -> str:
    """Points of the step line: horizontal until the next change, then vertical."""
    maximum = max(_max_allowed(headroom), 1)
    corners: list[str] = []
    y = 0.0
    for time, allowed in headroom.allowed_over_time:
        x = _WIDE * time / end
        if corners:
            corners.append(f"{x:.1f},{y:g}")
        y = _BOTTOM - round((_BOTTOM - _TOP) * allowed / maximum, 1)
        corners.append(f"{x:.1f},{y:g}")
    return " ".join([*corners, f"{_WIDE},{y:g}"])


def _max_allowed(headroom: Headroom) -> int:
    return max(allowed for _, allowed in headroom.allowed_over_time)
