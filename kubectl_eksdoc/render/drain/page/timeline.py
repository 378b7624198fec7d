"""How the drain goes in time: its nodes as bars, the headroom of its slowest budgets, and what bounds it.

A part of the plan's own page, and of the page of every command that has made a plan.
"""

from __future__ import annotations

from kubectl_eksdoc.render.drain.page.gantt import gantt
from kubectl_eksdoc.render.drain.page.headroom import over_time
from kubectl_eksdoc.render.drain.verdict import estimate_lines
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, folded, lines, put

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
