"""The usual run as bars over time: for each node from its cordon to its last pod's end, and until it is done."""

from __future__ import annotations

from itertools import groupby

from kubectl_eksdoc.core.plan.drain.outcome import Target
from kubectl_eksdoc.core.sim.course import Span
from kubectl_eksdoc.render.drain.page.axis import at, axis, grid
from kubectl_eksdoc.render.drain.scale import ticks
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, lines
from kubectl_eksdoc.render.times import duration


def gantt(view: DrainView) -> Html:
    """One row for each drained node, in order and by wave; nothing where the times are not estimated."""
    targets = [target for target in view.targets if target.order and target.node.name in view.spans]
    if not targets:
        return Html("")
    end = max(view.spans[target.node.name].done_s for target in targets) or 1.0
    marks = ticks(end)
    waves = len({target.wave for target in targets}) > 1
    called = "Generation" if view.plan.in_generations else "Wave"
    rows = [el("span"), axis(marks, end), el("span")]
    for wave, members in groupby(targets, key=lambda target: target.wave):
        rows += [el("div", f"{called} {wave}", class_="wave")] if waves else []
        for target in members:
            rows += _row(target, view.spans[target.node.name], marks, end)
    key = el("p", _key("bar"), "pods are evicted", _key("rest"), "empty, until it is done", class_="key")
    return el("div", el("div", lines(rows), class_="gantt"), key, class_="card")


def _row(target: Target, span: Span, marks: list[float], end: float) -> list[Html]:
    said = f"{span.node}: {duration(span.start_s)} to {duration(span.empty_s)}, done after {duration(span.done_s)}"
    bars = el("svg", el("title", said), *grid(marks, end), _bar("bar", span.start_s, span.empty_s, end),
              _bar("rest", span.empty_s, span.done_s, end), role="img")  # fmt: skip
    return [el("span", target.node.name, class_="name"), bars, el("span", duration(span.done_s), class_="t")]


def _bar(kind: str, start: float, stop: float, end: float) -> Html:
    return el("rect", class_=kind, x=at(start, end), width=at(stop - start, end), y="15%", height="70%", rx=2)


def _key(kind: str) -> Html:
    return el("svg", el("rect", class_=kind, width="100%", height="100%", rx=2), aria_hidden="true")
