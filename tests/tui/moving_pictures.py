"""An animated SVG of screens: it shows one still after the other by CSS alone, so that it also works in an <img>.

A part that several stills share is stored once: each row, for as long as it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from rich.style import Style
from textual.app import App
from textual.strip import Strip

WIDE, HIGH, EDGE = 8.4, 18, 10
"""Of a sign, of a row, and around all of them, in pixels."""
INK, GROUND = "#e6eaf0", "#101418"

Row = tuple[tuple[str, Style | None], ...]


class Film:
    """The stills so far, each with its duration. Mutable."""

    def __init__(self) -> None:
        self._stills: list[tuple[list[Row], float]] = []

    def shoot(self, app: App[int], seconds: float) -> None:
        self._stills.append(([_row(strip) for strip in app.screen._compositor.render_strips()], seconds))

    def svg(self, title: str) -> str:
        rows = list(zip(*(rows for rows, _ in self._stills), strict=True))
        ends = [sum(seconds for _, seconds in self._stills[: at + 1]) for at in range(len(self._stills))]
        drawn, spans = [], {}
        for y, stills in enumerate(rows):
            at = 0
            for row, same in groupby(stills):
                until = at + len(list(same))
                name = f"s{at}-{until}"
                spans[name] = (at, until)
                last = " z" if until == len(stills) else ""
                drawn += [f'<g class="{name}{last}">{"".join(_drawn(row, y))}</g>']
                at = until
        columns = max(sum(len(text) for text, _ in row) for row in rows[0])
        width, height = columns * WIDE + 2 * EDGE, len(rows) * HIGH + 2 * EDGE
        style = "\n".join([_STYLE, *(_shown(name, *span, ends) for name, span in sorted(spans.items()))])
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        ground = f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>'
        return "\n".join(
            [head, f"<title>{escape(title)}</title>", f"<style>{style}</style>", ground, *drawn, "</svg>\n"]
        )


_STYLE = f"""text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; fill: {INK}; white-space: pre; }}
.b {{ font-weight: bold; }}
@media (prefers-reduced-motion: reduce) {{ g {{ animation: none !important; visibility: hidden; }}
g.z {{ visibility: visible; }} }}"""


def _shown(name: str, first: int, until: int, ends: Sequence[float]) -> str:
    """The CSS that shows an element from one still until another; an element that is always visible needs none."""
    if (first, until) == (0, len(ends)):
        return f".{name} {{ visibility: visible; }}"
    marks = [] if first == 0 else ["0%{visibility:hidden}"]
    marks.append(f"{100 * (ends[first - 1] if first else 0) / ends[-1]:.3f}%{{visibility:visible}}")
    marks += [f"{100 * ends[until - 1] / ends[-1]:.3f}%{{visibility:hidden}}"] if until < len(ends) else []
    return f".{name}{{animation:{name} {ends[-1]:g}s step-end infinite}} @keyframes {name}{{{''.join(marks)}}}"


def _row(strip: Strip) -> Row:
    return tuple((segment.text, segment.style) for segment in strip.simplify())


def _drawn(row: Row, y: int) -> Iterator[str]:
    at = 0
    top = EDGE + y * HIGH
    for text, style in row:
        x = EDGE + at * WIDE
        ink, under = _colours(style)
        if under != GROUND:
            yield f'<rect x="{x:g}" y="{top:g}" width="{len(text) * WIDE:g}" height="{HIGH}" fill="{under}"/>'
        if text.strip():
            bold = ' class="b"' if style is not None and style.bold else ""
            fill = f' style="fill:{ink}"' if ink != INK else ""
            lead = len(text) - len(text.lstrip())
            kept = text.strip()
            place = f'x="{x + lead * WIDE:g}" y="{top + 14:g}" textLength="{len(kept) * WIDE:g}"'
            yield f"<text {place}{bold}{fill}>{escape(kept, quote=False)}</text>"
        at += len(text)


def _colours(style: Style | None) -> tuple[str, str]:
    ink = style.color.get_truecolor().hex if style is not None and style.color is not None else INK
    under = style.bgcolor.get_truecolor().hex if style is not None and style.bgcolor is not None else GROUND
    return (under, ink) if style is not None and style.reverse else (ink, under)
