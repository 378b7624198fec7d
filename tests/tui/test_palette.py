"""The colours: no kind of colour blindness makes two states look the same. `test_every_screen` tests readability."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.theme import Theme

from kubectl_eksdoc.tui import base_app as framed
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.pilots import Drives, a_demo, drive, press

THEMES = (framed.DARK_THEME, framed.LIGHT_THEME)
STATUS = ("good", "warn", "bad", "unknown")


# Machado, Oliveira, Fernandes (2009), severity 1.0; for linear RGB.
BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
LEAST = {framed.DARK: 45.0, framed.LIGHT: 34.0}
"""CIE76 between two of the four states, as the palette's docstring says."""

Triple = tuple[float, float, float]


def linear(colour: str) -> Triple:
    """Linear RGB from ``#rrggbb``."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return red, green, blue


def lab(colour: Triple) -> Triple:
    """Convert to CIE L*a*b* under D65."""
    r, g, b = (min(max(each, 0.0), 1.0) for each in colour)
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def seen_as(colour: str, blindness: str) -> Triple:
    r, g, b = linear(colour)
    first, second, third = (row[0] * r + row[1] * g + row[2] * b for row in BLINDNESS[blindness])
    return lab((first, second, third))


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_states_differ_for_everybody(theme: Theme, blindness: str) -> None:
    for first, second in combinations(STATUS, 2):
        one, other = (seen_as(theme.variables[f"st-{name}"], blindness) for name in (first, second))
        apart = sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        assert apart >= LEAST[theme.name], f"{first} and {second} are {apart:.0f} apart"


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_what_is_bad_is_not_taken_for_plain_text(theme: Theme) -> None:
    assert theme.foreground is not None
    bad, text = (lab(linear(colour)) for colour in (theme.variables["st-bad"], theme.foreground))
    assert sum((a - b) ** 2 for a, b in zip(bad, text, strict=True)) ** 0.5 >= 60


@pytest.mark.long
def test_the_theme_is_chosen_when_it_opens_and_by_a_command() -> None:
    async def choose(pilot: Drives, screen: PlanScreen) -> None:
        assert pilot.app.theme == framed.LIGHT and not pilot.app.current_theme.dark
        await press(pilot, "colon", *"theme d", "enter")
        assert pilot.app.theme == framed.DARK
        await press(pilot, "colon", *"theme l", "enter")
        pilot.app.clear_notifications()
        await pilot.pause(0.1)
        await pilot.pause()
        strips = pilot.app.screen._compositor.render_strips()
        styles = [segment.style for strip in strips for segment in strip if segment.text.strip().isalnum()]
        grounds = {style.bgcolor.get_truecolor().hex for style in styles if style is not None and style.bgcolor}
        assert grounds <= {"#ffffff", framed.LIGHT_THEME.variables["st-cursor"].lower()}

    drive(choose, a_demo(light=True))
