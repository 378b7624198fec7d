"""Timeline of a drain as bars, for a terminal and for HTML: one line for each node, from its cordon until it is
done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.pages import Html, el, folded, lines, more, put
from kubectl_eksdoc.report.text import Look, Title, Tone, counted, cut, short, shown, wrap

from ..course import Span
from ..outcome import DrainTarget
from ..result import DrainPlan, Headroom
from .plan import DrainView
from .verdict import estimate_lines

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


def ticks(end: float, most: int = 5) -> list[float]:
    """Round seconds from 0 to `end` for axis marks: about `limit` of them besides the 0."""
    step = next((step for step in _STEPS_S if end / step <= most), _STEPS_S[-1])
    return [float(tick) for tick in range(0, int(end) + 1, step)]


# Text Gantt chart: one line for each node, from its cordon until it is done, scaled to the width.


TITLE = Title("Timeline", " (p50), nodes in the order in which they are begun")

MOST_NODES = 40
"""Further nodes are only counted: a longer chart is not readable, and a ticket has little room."""

_GAP = 2
_LEAST_BAR = 24
"""Minimum columns for the bars, whatever the length of node names: shorter bars are not readable."""
_TICK_ROOM = 10
_EVICTING = ("█", "▓")
"""Waves alternate between these characters, so that the start of a wave is visible."""
SLOW = "·"


class _Timed(Protocol):
    """A plan or the result of a drain, with times for each node."""

    @property
    def plan(self) -> DrainPlan: ...

    @property
    def spans(self) -> Mapping[str, Span]: ...

    @property
    def wave_of(self) -> Mapping[str, int]: ...


def timeline(
    view: _Timed,
    look: Look,
    indent: int = 0,
    whole: str = "-o html",
    slow_s: Mapping[str, float] = MappingProxyType({}),
) -> list[str]:
    """The lines, at most as wide as the terminal; no lines where no times are known.

    `all_nodes_option`: the option that shows every node. `p95_done_s`: when nodes are done in the p95 run, the tails of
    the bars.
    """
    spans = sorted(view.spans.values(), key=lambda span: span.start_s)  # ties: by activation
    kept, end = spans[:MOST_NODES], max([span.done_s for span in spans] + list(slow_s.values()), default=0.0) or 1.0
    if not kept:
        return []
    waves = [str(_wave(view, span)) for span in kept] if _in_waves(view) else []
    times = [shown(f"{duration(span.start_s)}–{duration(span.done_s)}", look) for span in kept]
    heads = ("NODE", "GEN" if view.plan.in_generations else "WAVE", "START–DONE") if look.headers else ("", "", "")
    wave_width = max(map(len, (heads[1], *waves))) + _GAP if waves else 0
    time_width = max(map(len, (heads[2], *times)))
    spare = look.columns - indent - wave_width - time_width - 2 * _GAP
    names = _names([shown(span.node, look) for span in kept], spare - _LEAST_BAR, look)
    name_width = max(map(len, (heads[0], *names)))
    room = spare - name_width

    def row(name: str, wave: str, bar: str, time: str) -> str:
        middle = f"{wave:>{wave_width - _GAP}}{' ' * _GAP}" if waves else ""
        return f"{' ' * indent}{name:<{name_width}}{' ' * _GAP}{middle}{bar:<{room}}{' ' * _GAP}{time}".rstrip()

    lines = []
    if look.headers:
        head = row(heads[0], heads[1], text_axis(end, room, "|"), shown(heads[2], look))
        lines.append(" " * indent + look.paint(head[indent:], Tone.FAINT))
    for place, span in enumerate(kept):
        bar = look.signs(text_bar(span, slow_s.get(span.node, 0.0), end, room, _EVICTING[(_wave(view, span) - 1) % 2]))
        lines.append(row(names[place], waves[place] if waves else "", bar, times[place]))
    if len(kept) < len(spans):
        lines.append(f"{' ' * indent}{look.ellipsis} and {len(spans) - len(kept)} more nodes ({whole})")
    return lines + wrap(look.signs(_legend(view, bool(slow_s))), look.columns, " " * indent)


def text_axis(end: float, room: int, sign: str = "") -> str:
    """``|0s      |30s     |1m``: each label begins at its time; labels without room are left out."""
    line = ""
    for mark in ticks(end, max(2, room // _TICK_ROOM)):
        at, said = int(mark / end * room), f"{sign}{short(mark)}"
        if at + len(said) <= room and at >= len(line) + bool(line):
            line = line.ljust(at) + said
    return line


def text_bar(span: Span, slow_s: float, end: float, room: int, evicting: str, empty: str = "░") -> str:
    """A bar of at least one character; a node without a pod to evict is empty at once."""
    begun = min(int(span.start_s / end * room), room - 1)
    gone = max(round(span.empty_s / end * room), begun + 1) if span.empty_s > span.start_s else begun
    done = max(round(span.done_s / end * room), gone, begun + 1)
    return " " * begun + evicting * (gone - begun) + empty * (done - gone) + SLOW * (round(slow_s / end * room) - done)


def _legend(view: _Timed, tails: bool) -> str:
    called = "generation" if view.plan.in_generations else "wave"
    both = f"{' and '.join(_EVICTING)} (by {called})" if _in_waves(view) else _EVICTING[0]
    slow = f"; {SLOW}: until then in a slow run (p95)" if tails else ""
    return f"{both}: pods are evicted; ░: empty, until it is done{slow}."


def _names(names: Sequence[str], room: int, look: Look) -> list[str]:
    """Names that do not fit lose their domain, if they stay distinct; then their middle."""
    if max(map(len, names)) <= room:
        return list(names)
    hosts = [name.partition(".")[0] + look.ellipsis if "." in name else name for name in names]
    kept = hosts if len(set(hosts)) == len(set(names)) else names
    return [cut(name, max(room, 1), look, middle=True) for name in kept]


def _wave(view: _Timed, span: Span) -> int:
    return view.wave_of.get(span.node, 0) or 1


def _in_waves(view: _Timed) -> bool:
    return any(wave > 1 for wave in view.wave_of.values())


# The drain over time: nodes as bars, the headroom of the slowest budgets, and the bounds of the time.


_ASSUMED = "- "


def over_the_drain(view: DrainView) -> Html:
    """Empty where no node is drained."""
    # Bounds of the time and changes that would shorten it; the assumptions are folded.
    said = estimate_lines(view)
    assumed = [line.removeprefix(_ASSUMED) for line in said if line.startswith(_ASSUMED)]
    told = said[: -len(assumed) - 1] if assumed else said
    inside = el("ul", *(el("li", each) for each in assumed)) if assumed else ""
    return lines(
        [gantt(view), over_time(view), put(*(el("p", line) for line in told), folded("What the times assume", inside))]
    )


# The axis that the charts share.


def axis(marks: list[float], end: float) -> Html:
    """Labels of the marks, above the bars."""
    said = (el("text", short(mark), x=at(mark, end), y="85%", text_anchor="middle") for mark in marks if mark)
    return el("svg", put(*said), role="img", aria_label=f"{duration(end)} in all")


def grid(marks: list[float], end: float) -> Iterator[Html]:
    return (el("line", x1=at(mark, end), x2=at(mark, end), y1="0", y2="100%") for mark in marks)


def at(moment: float, end: float) -> str:
    return f"{100 * moment / end:.2f}%"


# Gantt chart of the p50 run: for each node from its cordon to the end of its last pod, and until it is done. Its tail
# ends when the node is done in the p95 run.


NO_GROUP = "without a group"
"""Shown instead of the name of a node group."""

MOST_BARS = 200
"""With more bars the chart is not readable: the nodes of one group and wave are then one bar."""


class _Bars(NamedTuple):
    """Nodes on one bar, in seconds from the start: begun, last node empty, last node done, and done in the p95 run."""

    name: str
    start_s: float
    empty_s: float
    done_s: float
    slow_s: float


def gantt(view: DrainView) -> Html:
    """One row for each drained node, in order and by wave; empty where the times are not estimated."""
    targets = [target for target in view.targets if target.order and target.node.name in view.spans]
    if not targets:
        return Html("")
    end = max(max(view.spans[t.node.name].done_s, view.slow_s.get(t.node.name, 0.0)) for t in targets) or 1.0
    marks = ticks(end)
    waves = [(wave, list(members)) for wave, members in groupby(targets, key=lambda target: target.wave)]
    called = "Generation" if view.plan.in_generations else "Wave"
    rows, bars, shown = [el("span"), axis(marks, end), el("span")], 0, 0
    for wave, members in waves:
        found = [_Bars(*view.spans[each.node.name], view.slow_s.get(each.node.name, 0.0)) for each in members]
        if len(targets) > MOST_BARS:
            found = _together(found, members)
        if bars and bars + len(found) > MOST_BARS:
            break
        rows += [el("div", f"{called} {wave}", class_="wave")] if len(waves) > 1 else []
        rows += [part for row in found for part in _drawn(row, marks, end)]
        bars, shown = bars + len(found), shown + len(members)
    key = el("p", colour("bar"), "pods are evicted", colour("rest"), "empty, until it is done",
             colour("slow"), "until then in a slow run (p95)", class_="key")  # fmt: skip
    return el("div", el("div", lines(rows), class_="gantt"), more(len(targets) - shown, "nodes"), key, class_="card")


def _together(bars: list[_Bars], members: Sequence[DrainTarget]) -> list[_Bars]:
    """One bar for each node group; the group that is begun first is at the top."""
    of_group: dict[str, list[_Bars]] = {}
    for bar, target in zip(bars, members, strict=True):
        of_group.setdefault(target.node.group or NO_GROUP, []).append(bar)
    rows = []
    for group, of in of_group.items():
        _, starts, empties, dones, slows = zip(*of, strict=True)
        name = f"{group}: {counted(len(of), 'node')}"
        rows.append(_Bars(name, min(starts), max(empties), max(dones), max(slows)))
    return sorted(rows, key=lambda row: row.start_s)


def _drawn(row: _Bars, marks: list[float], end: float) -> list[Html]:
    said = f"{row.name}: {duration(row.start_s)} to {duration(row.empty_s)}, done after {duration(row.done_s)}"
    said += f", at p95 after {duration(row.slow_s)}" if row.slow_s > row.done_s else ""
    bars = el("svg", el("title", said), *grid(marks, end), rect("bar", row.start_s, row.empty_s, end),
              rect("rest", row.empty_s, row.done_s, end), rect("slow", row.done_s, max(row.done_s, row.slow_s), end),
              role="img")  # fmt: skip
    return [el("span", row.name, class_="name"), bars, el("span", duration(row.done_s), class_="t")]


def rect(kind: str, start: float, stop: float, end: float) -> Html:
    return el("rect", class_=kind, x=at(start, end), width=at(stop - start, end), y="15%", height="70%", rx=2)


def colour(kind: str) -> Html:
    return el("svg", el("rect", class_=kind, width="100%", height="100%", rx=2), aria_hidden="true")


# Headroom over time: a step line for each of the slowest budgets, on the axis of the timeline.


_WIDE = 1000
"""Columns on which the line is drawn (the browser scales them to the page), and its limits in percent of the height."""
_TOP, _BOTTOM = 15, 85

_HEADROOM_KEY = (
    "How many disruptions the slowest budgets allow during the run that takes the p50: high is the most, low is none."
)


def over_time(view: DrainView) -> Html:
    """One row for each budget that has a line, most rounds first; empty where none has."""
    shown = sorted((h for h in view.budgets if h.over_time), key=lambda h: (-h.rounds, h.budget.key))
    if not shown:
        return Html("")
    done = max((span.done_s for span in view.spans.values()), default=0.0)
    end = max(done, *(h.over_time[-1][0] for h in shown)) or 1.0
    marks = ticks(end)
    rows = [el("span"), axis(marks, end), el("span")]
    for found in shown:
        said = _allowed(found, end)
        line = el("polyline", points=_points(found, end), vector_effect="non-scaling-stroke")
        plot = el("svg", line, viewBox=f"0 0 {_WIDE} 100", preserveAspectRatio="none", width="100%", height="100%")
        most = el("title", f"{found.budget.key}: {said}, at most {_most(found)}")
        picture = el("svg", most, *grid(marks, end), plot, role="img")
        rows += [el("span", found.budget.key, class_="name"), picture, el("span", said, class_="t")]
    return el("div", el("div", lines(rows), class_="gantt steps"), el("p", _HEADROOM_KEY, class_="key"), class_="card")


def _allowed(found: Headroom, end: float) -> str:
    """The line in words: ``none for 4m47s``, ``1 or more``."""
    line = [*found.over_time, (end, 0)]
    none = sum(after - since for (since, allowed), (after, _) in pairwise(line) if allowed <= 0)
    return f"none for {duration(none)}" if none else f"{min(allowed for _, allowed in found.over_time)} or more"


def _points(found: Headroom, end: float) -> str:
    """Points of the step line: horizontal until the next change, then vertical."""
    most = max(_most(found), 1)
    corners: list[str] = []
    y = 0.0
    for moment, allowed in found.over_time:
        x = _WIDE * moment / end
        if corners:
            corners.append(f"{x:.1f},{y:g}")
        y = _BOTTOM - round((_BOTTOM - _TOP) * allowed / most, 1)
        corners.append(f"{x:.1f},{y:g}")
    return " ".join([*corners, f"{_WIDE},{y:g}"])


def _most(found: Headroom) -> int:
    return max(allowed for _, allowed in found.over_time)
