"""Headroom over time: a step line for each of the slowest budgets, on the axis of the timeline."""

from __future__ import annotations

from itertools import pairwise

from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.render.drain.page.axis import axis, grid
from kubectl_eksdoc.render.drain.scale import ticks
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, lines
from kubectl_eksdoc.render.text import duration

_WIDE = 1000
"""The picture is as wide as the page lets it; the line is drawn on so many columns, and so high in percent."""
_TOP, _BOTTOM = 15, 85

_KEY = (
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
        said = _told(found, end)
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
    return el("div", el("div", lines(rows), class_="gantt steps"), el("p", _KEY, class_="key"), class_="card")


def _told(found: Headroom, end: float) -> str:
    """The line in words: ``none for 4m47s``, ``1 or more``."""
    line = [*found.over_time, (end, 0)]
    none = sum(after - at for (at, allowed), (after, _) in pairwise(line) if allowed <= 0)
    return f"none for {duration(none)}" if none else f"{min(allowed for _, allowed in found.over_time)} or more"


def _points(found: Headroom, end: float) -> str:
    """Steps from left to right: along until the next change, then up or down to it."""
    most = max(_most(found), 1)
    corners: list[str] = []
    y = 0.0
    for at, allowed in found.over_time:
        x = _WIDE * at / end
        if corners:
            corners.append(f"{x:.1f},{y:g}")
        y = _BOTTOM - round((_BOTTOM - _TOP) * allowed / most, 1)
        corners.append(f"{x:.1f},{y:g}")
    return " ".join([*corners, f"{_WIDE},{y:g}"])


def _most(found: Headroom) -> int:
    return max(allowed for _, allowed in found.over_time)
