"""The time axis that the page's pictures share: round marks, the lines under them, and where a moment lies."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.render.html import Html, el, put
from kubectl_eksdoc.render.times import duration

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_MOST_TICKS = 5


def ticks(end: float) -> list[float]:
    """The seconds that are marked, few and round."""
    step = next((step for step in _STEPS_S if end / step <= _MOST_TICKS), _STEPS_S[-1])
    return [float(tick) for tick in range(0, int(end) + 1, step)]


def axis(marks: list[float], end: float) -> Html:
    """The marks in words, above what they belong to."""
    said = (el("text", _round(mark), x=at(mark, end), y="85%", text_anchor="middle") for mark in marks if mark)
    return el("svg", put(*said), role="img", aria_label=f"{duration(end)} in all")


def grid(marks: list[float], end: float) -> Iterator[Html]:
    return (el("line", x1=at(mark, end), x2=at(mark, end), y1="0", y2="100%") for mark in marks)


def at(moment: float, end: float) -> str:
    return f"{100 * moment / end:.2f}%"


def _round(moment: float) -> str:
    """``5m``, ``1m30s``, ``2h``: short, so that the marks have room on a phone."""
    said = duration(moment)
    for rest in ("m00s", "h00m"):
        said = said.removesuffix(rest) + rest[0] if said.endswith(rest) else said
    return said
