"""A screen as text that tests can compare: its characters, and for each line the roles of its colours.

A role is the name of a theme colour, so that it is the same in the dark and the light theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from rich.color import Color
from rich.style import Style
from textual.app import App
from textual.screen import ModalScreen

ROLES = {
    "st-good": "g",
    "st-warn": "w",
    "st-bad": "b",
    "st-unknown": "u",
    "st-faint": "f",
    "st-line": "l",
    "st-key": "k",
    "st-cursor": "c",
}
PLAIN, MIXED = ".", "-"
"""The theme's own text, and a colour that is mixed from others: behind a dialog, of a scroll bar."""

Triplet = tuple[float, float, float]


@dataclass(frozen=True)
class LookOf:
    """A character's look: its role and that of its background, in upper case where it is bold, ``~`` where both are
    swapped; and its contrast by WCAG 2.1, None without a colour."""

    role: str
    contrast: float | None


BEHIND = LookOf(MIXED, None)
"""Beside a dialog is a screen, of which nothing is to be read: it is left out."""


@dataclass(frozen=True)
class Seen:
    """`rows`: each character of each line with its look; `is_dialog`: some of them are behind a dialog."""

    rows: tuple[tuple[tuple[str, LookOf], ...], ...]
    is_dialog: bool

    @property
    def text(self) -> str:
        return "".join("".join(sign for sign, _ in row).rstrip() + "\n" for row in self.rows)

    @property
    def roles(self) -> str:
        """``3 12.4w2g``: line 3 (counted from 1) has 12 characters in the default colour, 4 in yellow, 2 in blue."""
        told = []
        for at, row in enumerate(self.rows, 1):
            runs = [(role, len(list(same))) for role, same in groupby(look.role for _, look in row)]
            while runs and runs[-1][0] == PLAIN:
                runs.pop()
            if runs:
                told.append(f"{at} {''.join(f'{count}{role}' for role, count in runs)}\n")
        return "".join(told)


def seen(app: App[int]) -> Seen:
    variables = app.theme_variables
    known = {_rgb(variables[name]): role for name, role in ROLES.items()}
    ink, ground = _rgb(variables["foreground"]), _rgb(variables["background"])
    known |= {ink: PLAIN, ground: ""}
    rows = []
    left, top, right, bottom = box = _box(app)
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        row: list[tuple[str, LookOf]] = []
        for segment in strip:
            look = _look(segment.style or Style(), known, ink, ground)
            for sign in segment.text:
                is_gap = sign == " " and look.role.lower() in _BLANK
                row.append((sign, LookOf(row[-1][1].role if row else PLAIN, None) if is_gap else look))
        behind = range(left) if top <= y < bottom else range(len(row))
        for x in (*behind, *(range(right, len(row)) if top <= y < bottom else ())):
            row[x] = (" ", BEHIND)
        rows.append(tuple(row))
    return Seen(tuple(rows), box != (0, 0, *app.size))


_BLANK = {PLAIN, *ROLES.values(), MIXED}
"""A gap looks like whatever stands before it."""


def _box(app: App[int]) -> tuple[int, int, int, int]:
    screen = app.screen
    widget = screen.children[0] if isinstance(screen, ModalScreen) else screen
    x, y, width, height = widget.region
    return x, y, x + width, y + height


def _look(style: Style, known: dict[Triplet, str], ink: Triplet, ground: Triplet) -> LookOf:
    front, back = _of(style.color, ink), _of(style.bgcolor, ground)
    below = known.get(back, MIXED)
    role = known.get(front, MIXED) + ("" if below == PLAIN or back == ground else below)
    role = role.upper() if style.bold else role
    contrast = None if style.color is None or style.color.is_default else _contrast(front, back)
    return LookOf(f"{role}~" if style.reverse else role or PLAIN, contrast)


def _of(colour: Color | None, usual: Triplet) -> Triplet:
    return usual if colour is None or colour.is_default else tuple(map(float, colour.get_truecolor()))  # type: ignore[return-value]


def _rgb(text: str) -> Triplet:
    return tuple(float(int(text.lstrip("#")[at : at + 2], 16)) for at in (0, 2, 4))  # type: ignore[return-value]


def _contrast(one: Triplet, other: Triplet) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Triplet) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_DRAWN = re.compile(r"[\s─-╿▀-▟▲▼·]")
"""Frames, bars and dots: they are looked at, not read."""


def pale(found: Seen, least: float) -> Iterator[str]:
    """Readable text that has too little contrast; text behind a dialog is not meant to be read."""
    for row in found.rows:
        for (_, contrast), signs in groupby(row, lambda each: (each[1].role, each[1].contrast)):
            text = "".join(sign for sign, _ in signs)
            if contrast is not None and contrast < least and _DRAWN.sub("", text):
                yield f"{contrast:.1f}: {text}"
