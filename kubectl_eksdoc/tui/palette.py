"""Colours: a dark and a light theme, measured for colour blindness.

Distances between the four status colours (CIE76 after Machado 2009): at least 45 for each of deuteranopia, protanopia
and tritanopia on the dark ground, 34 on the light one. A colour never says anything alone: beside it stand sign and
word.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

DARK, LIGHT = "eksdoc-dark", "eksdoc-light"

BY_WORD = {"dark": DARK, "light": LIGHT}
"""As $EKSDOC_THEME and ``:theme`` call them."""


def _theme(name: str, dark: bool, ground: str, text: str, status: Mapping[str, str]) -> Theme:
    return Theme(
        name=name,
        primary=status["good"],
        foreground=text,
        background=ground,
        surface=ground,
        panel=ground,
        dark=dark,
        variables={f"st-{word}": colour for word, colour in status.items()},
    )


DARK_THEME = _theme(
    DARK,
    True,
    "#101418",
    "#E6EAF0",
    {
        "good": "#9BE8FF",
        "warn": "#FFE600",
        "bad": "#E8604C",
        "unknown": "#BE4DFF",
        "faint": "#8A94A6",
        "line": "#4A5566",
        "cursor": "#2A3440",
    },
)

LIGHT_THEME = _theme(
    LIGHT,
    False,
    "#FFFFFF",
    "#14181E",
    {
        "good": "#1F78A6",
        "warn": "#8F6A14",
        "bad": "#5A0A00",
        "unknown": "#7A22F0",
        "faint": "#5B6472",
        "line": "#A9B2BF",
        "cursor": "#DCE6F2",
    },
)
