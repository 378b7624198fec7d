"""The usual run as bars over time: for each node from its cordon to its last pod's end, and until it is done."""

from __future__ import annotations

from itertools import groupby

from kubectl_eksdoc.core.plan.drain.outcome import Target
from kubectl_eksdoc.core.sim.drain import Span
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, lines, put
from kubectl_eksdoc.render.times import duration

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_MOST_TICKS = 5


def gantt(view: DrainView) -> Html:
    """One row for each drained node, in order and by wave; nothing where the times are not estimated."""
    targets = [target for target in view.targets if target.order and target.node.name in view.spans]
    if not targets:
        return Html("")
    end = max(view.spans[target.node.name].done_s for target in targets) or 1.0
    ticks = _ticks(end)
    waves = len({target.wave for target in targets}) > 1
    rows = [el("span"), _axis(ticks, end), el("span")]
    for wave, members in groupby(targets, key=lambda target: target.wave):
        rows += [el("div", f"Wave {wave}", class_="wave")] if waves else []
        for target in members:
            rows += _row(target, view.spans[target.node.name], ticks, end)
    key = el("p", _key("bar"), "pods are evicted", _key("rest"), "empty, until it is done", class_="key")
    return el("div", el("div", lines(rows), class_="gantt"), key, class_="card")


def _row(target: Target, span: Span, ticks: list[float], end: float) -> list[Html]:
    said = f"{span.node}: {duration(span.start_s)} to {duration(span.empty_s)}, done after {duration(span.done_s)}"
    grid = (el("line", x1=_at(tick, end), x2=_at(tick, end), y1="0", y2="100%") for tick in ticks)
    bars = el("svg", el("title", said), *grid, _bar("bar", span.start_s, span.empty_s, end),
              _bar("rest", span.empty_s, span.done_s, end), role="img")  # fmt: skip
    return [el("span", target.node.name, class_="name"), bars, el("span", duration(span.done_s), class_="t")]


def _bar(kind: str, start: float, stop: float, end: float) -> Html:
    return el("rect", class_=kind, x=_at(start, end), width=_at(stop - start, end), y="15%", height="70%", rx=2)


def _axis(ticks: list[float], end: float) -> Html:
    marks = (el("text", _round(tick), x=_at(tick, end), y="85%", text_anchor="middle") for tick in ticks if tick)
    return el("svg", put(*marks), role="img", aria_label=f"{duration(end)} in all")


def _ticks(end: float) -> list[float]:
    step = next((step for step in _STEPS_S if end / step <= _MOST_TICKS), _STEPS_S[-1])
    return [float(tick) for tick in range(0, int(end) + 1, step)]


def _round(moment: float) -> str:
    """``5m``, ``1m30s``, ``2h``: short, so that the marks have room on a phone."""
    said = duration(moment)
    for rest in ("m00s", "h00m"):
        said = said.removesuffix(rest) + rest[0] if said.endswith(rest) else said
    return said


def _at(moment: float, end: float) -> str:
    return f"{100 * moment / end:.2f}%"


def _key(kind: str) -> Html:
    return el("svg", el("rect", class_=kind, width="100%", height="100%", rx=2), aria_hidden="true")
