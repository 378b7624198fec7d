"""How the drain goes in time: its nodes as bars, the headroom of its slowest budgets, and what bounds it.

A part of the plan's own page, and of the page of every command that has made a plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.outcome import Target
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.render.drain.scale import short, ticks
from kubectl_eksdoc.render.drain.verdict import estimate_lines
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, folded, lines, more, put
from kubectl_eksdoc.render.text import counted, duration

_ASSUMED = "- "


def timeline(view: DrainView) -> Html:
    """Nothing where nothing is drained."""
    return lines([gantt(view), over_time(view), _estimate(view)])


def _estimate(view: DrainView) -> Html:
    """What bounds the time and what would shorten it; folded, what it rests on."""
    said = estimate_lines(view)
    assumed = [line.removeprefix(_ASSUMED) for line in said if line.startswith(_ASSUMED)]
    told = said[: -len(assumed) - 1] if assumed else said
    inside = el("ul", *(el("li", each) for each in assumed)) if assumed else ""
    return put(*(el("p", line) for line in told), folded("What the times assume", inside))


# The axis that the pictures share.


def axis(marks: list[float], end: float) -> Html:
    """The marks in words, above what they belong to."""
    said = (el("text", short(mark), x=at(mark, end), y="85%", text_anchor="middle") for mark in marks if mark)
    return el("svg", put(*said), role="img", aria_label=f"{duration(end)} in all")


def grid(marks: list[float], end: float) -> Iterator[Html]:
    return (el("line", x1=at(mark, end), x2=at(mark, end), y1="0", y2="100%") for mark in marks)


def at(moment: float, end: float) -> str:
    return f"{100 * moment / end:.2f}%"


# The run that takes the p50 as bars over time: for each node from its cordon to its last pod's end, and until it is
# done; its tail ends when it is done in the run that takes the p95.


NO_GROUP = "without a group"
"""Where the name of a group of nodes stands."""

MOST_BARS = 200
"""Beyond these no picture tells anything: the nodes of one group that go in the same wave are one bar, then."""


class _Row(NamedTuple):
    """What goes together: seconds from the start, until the last of it is empty, and done; usually, and in the p95."""

    name: str
    start_s: float
    empty_s: float
    done_s: float
    slow_s: float


def gantt(view: DrainView) -> Html:
    """One row for each drained node, in order and by wave; nothing where the times are not estimated."""
    targets = [target for target in view.targets if target.order and target.node.name in view.spans]
    if not targets:
        return Html("")
    end = max(max(view.spans[t.node.name].done_s, view.slow_s.get(t.node.name, 0.0)) for t in targets) or 1.0
    marks = ticks(end)
    waves = [(wave, list(members)) for wave, members in groupby(targets, key=lambda target: target.wave)]
    called = "Generation" if view.plan.in_generations else "Wave"
    made = _each if len(targets) <= MOST_BARS else _together
    rows, bars, shown = [el("span"), axis(marks, end), el("span")], 0, 0
    for wave, members in waves:
        found = made(view, members)
        if bars and bars + len(found) > MOST_BARS:
            break
        rows += [el("div", f"{called} {wave}", class_="wave")] if len(waves) > 1 else []
        rows += [part for row in found for part in _drawn(row, marks, end)]
        bars, shown = bars + len(found), shown + len(members)
    key = el("p", _key("bar"), "pods are evicted", _key("rest"), "empty, until it is done",
             _key("slow"), "until then in a slow run (p95)", class_="key")  # fmt: skip
    return el("div", el("div", lines(rows), class_="gantt"), more(len(targets) - shown, "nodes"), key, class_="card")


def _each(view: DrainView, members: Sequence[Target]) -> list[_Row]:
    spans = (view.spans[target.node.name] for target in members)
    return [_Row(span.node, span.start_s, span.empty_s, span.done_s, view.slow_s.get(span.node, 0.0)) for span in spans]


def _together(view: DrainView, members: Sequence[Target]) -> list[_Row]:
    """A row for each group of nodes, that which is begun first at the top."""
    of_group: dict[str, list[Span]] = {}
    for target in members:
        of_group.setdefault(target.node.group or NO_GROUP, []).append(view.spans[target.node.name])
    return [
        _Row(
            f"{group}: {counted(len(spans), 'node')}",
            min(span.start_s for span in spans),
            max(span.empty_s for span in spans),
            max(span.done_s for span in spans),
            max(view.slow_s.get(span.node, 0.0) for span in spans),
        )
        for group, spans in sorted(of_group.items(), key=lambda item: min(span.start_s for span in item[1]))
    ]


def _drawn(row: _Row, marks: list[float], end: float) -> list[Html]:
    said = f"{row.name}: {duration(row.start_s)} to {duration(row.empty_s)}, done after {duration(row.done_s)}"
    said += f", at p95 after {duration(row.slow_s)}" if row.slow_s > row.done_s else ""
    bars = el("svg", el("title", said), *grid(marks, end), _bar("bar", row.start_s, row.empty_s, end),
              _bar("rest", row.empty_s, row.done_s, end), _bar("slow", row.done_s, max(row.done_s, row.slow_s), end),
              role="img")  # fmt: skip
    return [el("span", row.name, class_="name"), bars, el("span", duration(row.done_s), class_="t")]


def _bar(kind: str, start: float, stop: float, end: float) -> Html:
    return el("rect", class_=kind, x=at(start, end), width=at(stop - start, end), y="15%", height="70%", rx=2)


def _key(kind: str) -> Html:
    return el("svg", el("rect", class_=kind, width="100%", height="100%", rx=2), aria_hidden="true")


# Headroom over time: a step line for each of the slowest budgets, on the axis of the timeline.


_WIDE = 1000
"""The picture is as wide as the page lets it; the line is drawn on so many columns, and so high in percent."""
_TOP, _BOTTOM = 15, 85

_HEADROOM_KEY = (
    "How many disruptions the slowest budgets allow during the run that takes the p50: high is the most, low is none."
)


def over_time(view: DrainView) -> Html:
    """One row for each budget that has a line, most rounds first; nothing where none has."""
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
        picture = el(
            "svg",
            el("title", f"{found.budget.key}: {said}, at most {_most(found)}"),
            *grid(marks, end),
            plot,
            role="img",
        )
        rows += [el("span", found.budget.key, class_="name"), picture, el("span", said, class_="t")]
    return el("div", el("div", lines(rows), class_="gantt steps"), el("p", _HEADROOM_KEY, class_="key"), class_="card")


def _allowed(found: Headroom, end: float) -> str:
    """The line in words: ``none for 4m47s``, ``1 or more``."""
    line = [*found.over_time, (end, 0)]
    none = sum(after - since for (since, allowed), (after, _) in pairwise(line) if allowed <= 0)
    return f"none for {duration(none)}" if none else f"{min(allowed for _, allowed in found.over_time)} or more"


def _points(found: Headroom, end: float) -> str:
    """Steps from left to right: along until the next change, then up or down to it."""
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
