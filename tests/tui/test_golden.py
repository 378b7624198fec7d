"""What every page looks like over the built-in cluster, sign by sign: on wide and narrow terminals, and in ASCII."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.tui.screen import PlanScreen
from tests.render.test_golden import check_golden
from tests.tui.pilots import NARROW, WIDE, drive, lines, press

GOLDEN = Path(__file__).parent / "golden"

PAGES = {
    "nodes": (),
    "nothing-marked": ("m", "n"),
    "filtered": ("slash", *"spot", "enter"),
    "budgets": ("2", "j", "j", "j", "j"),
    "waves": ("3", "j", "j"),
    "blockers": ("4", "j", "j", "j"),
    "what-if": ("equals_sign", "escape", "j", "space", "J", "equals_sign"),
    "pods": ("j", "enter"),
    "pods-blocked": ("G", *("k",) * 8, "enter"),
    "pods-of-budget": ("2", "enter"),
    "knobs": ("o", "l", "j", "h"),
    "help": ("question_mark",),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("size", "name"), [(WIDE, "120x36"), (NARROW, "80x24")], ids=["wide", "narrow"])
def test_every_page_looks_like_this(page: str, size: tuple[int, int], name: str) -> None:
    seen: list[str] = []

    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        await press(pilot, *PAGES[page])
        pilot.app.clear_notifications()
        await pilot.pause()
        seen.extend(lines(pilot.app))

    drive(look, size=size)
    check_golden(GOLDEN / f"{page}-{name}.txt", "\n".join(seen) + "\n")


@pytest.mark.parametrize("page", ["nodes", "waves", "budgets", "pods", "knobs"])
def test_and_like_this_in_ascii(page: str) -> None:
    seen: list[str] = []

    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        await press(pilot, *PAGES[page])
        seen.extend(lines(pilot.app))

    drive(look, ascii=True)
    check_golden(GOLDEN / f"{page}-ascii.txt", "\n".join(seen) + "\n")
