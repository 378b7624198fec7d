"""What every page looks like over the built-in cluster, sign by sign: on wide and narrow terminals, and in ASCII; some
in colour as well, as pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.tui.screen import PlanScreen
from tests.examples import one_in
from tests.render.test_golden import check_golden
from tests.tui.pictures import DOCS, PICTURES, check_picture
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


WIDE_PICTURES = ("budgets", "waves", "blockers", "what-if", "pods-blocked", "knobs")
PICTURED = {
    **{f"{page}-120x36": PICTURES / f"{page}.svg" for page in WIDE_PICTURES},
    "nodes-120x36": DOCS / "screens.svg",
    "nodes-80x24": PICTURES / "nodes-80x24.svg",
    "nodes-ascii": PICTURES / "nodes-ascii.svg",
}


async def check_page(page: str, name: str, pilot: Pilot[int]) -> None:
    await press(pilot, *PAGES[page])
    pilot.app.clear_notifications()
    await pilot.pause()
    check_golden(GOLDEN / f"{page}-{name}.txt", "\n".join(lines(pilot.app)) + "\n")
    if f"{page}-{name}" in PICTURED:
        check_picture(PICTURED[f"{page}-{name}"], pilot.app)


NARROW_IN_LONG = {"nothing-marked", "filtered", "blockers", "pods-blocked", "pods-of-budget"}
CASES = [
    *((page, WIDE, "120x36") for page in PAGES),
    *(
        pytest.param(page, NARROW, "80x24", marks=[pytest.mark.long] if page in NARROW_IN_LONG else [])
        for page in PAGES
    ),
]


@pytest.mark.parametrize(("page", "size", "name"), one_in(3, CASES))
def test_every_page_looks_like_this(page: str, size: tuple[int, int], name: str) -> None:
    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        await check_page(page, name, pilot)

    drive(look, size=size)


@pytest.mark.parametrize("page", one_in(5, ["nodes", "waves", "budgets", "pods", "knobs"]))
@pytest.mark.long
def test_and_like_this_in_ascii(page: str) -> None:
    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        await check_page(page, "ascii", pilot)

    drive(look, ascii=True)
