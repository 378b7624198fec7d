"""The time axis that the page's pictures share: its marks, the lines under them, and where a moment lies."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.render.drain.scale import short
from kubectl_eksdoc.render.html import Html, el, put
from kubectl_eksdoc.render.text import duration


def axis(marks: list[float], end: float) -> Html:
    """The marks in words, above what they belong to."""
    said = (el("text", short(mark), x=at(mark, end), y="85%", text_anchor="middle") for mark in marks if mark)
    return el("svg", put(*said), role="img", aria_label=f"{duration(end)} in all")


def grid(marks: list[float], end: float) -> Iterator[Html]:
    return (el("line", x1=at(mark, end), x2=at(mark, end), y1="0", y2="100%") for mark in marks)


def at(moment: float, end: float) -> str:
    return f"{100 * moment / end:.2f}%"
