"""The run that takes the p50 as bars over time: for each node from its cordon to its last pod's end, and until it is
done; its tail ends when it is done in the run that takes the p95."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.outcome import Target
from kubectl_eksdoc.render.drain.page.axis import at, axis, grid
from kubectl_eksdoc.render.drain.scale import ticks
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, lines, more
from kubectl_eksdoc.render.text import counted, duration

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
