"""The screens in colour, as pictures: of fixed size, at a fixed time, drawn by the Textual that constraints.txt pins.

Text goldens beside (`test_golden`) say which signs stand where; these say in which colours, and what a border is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from kubectl_eksdoc.tui.screen import PlanScreen
from tests.render.test_golden import check_golden
from tests.tui.pilots import NARROW, WIDE, a_demo, drive, press
from tests.tui.run.stage import Show, play, play_run
from tests.tui.run.test_golden import NAME, SCENES, a_run, still
from tests.tui.test_golden import PAGES

PICTURES = Path(__file__).parent / "golden" / "pictures"
DOCS = Path(__file__).parents[2] / "docs"
"""Two of them are shown to readers, too."""

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""They would be fetched from elsewhere: a picture of ours fetches nothing."""

OF_PLANS: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {
    "nodes-80x24": ("nodes", NARROW, {}),
    "nodes-ascii": ("nodes", WIDE, {}),
    "nodes-light": ("nodes", WIDE, {"light": True}),
    "nodes-no-color": ("nodes", WIDE, {"plain": True}),
    "budgets": ("budgets", WIDE, {}),
    "waves": ("waves", WIDE, {}),
    "blockers": ("blockers", WIDE, {}),
    "what-if": ("what-if", WIDE, {}),
    "pods-blocked": ("pods-blocked", WIDE, {}),
    "knobs": ("knobs", WIDE, {}),
}
OF_RUNS: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {
    "run-80x24": ("run", NARROW, {}),
    "run-ascii": ("run", NARROW, {"ascii": True}),
    "run-paused": ("run-paused", WIDE, {}),
    "run-stopped": ("run-stopped", WIDE, {}),
    "run-done": ("run-done", WIDE, {}),
    "run-menu": ("run-menu", NARROW, {}),
}


def check_picture(path: Path, app: App[int]) -> None:
    drawn = _FONTS.sub("", app.export_screenshot(title="kubectl eksdoc --demo"))
    check_golden(path, drawn.rstrip() + "\n")


@pytest.mark.parametrize("name", OF_PLANS)
def test_a_plan_in_colour(name: str) -> None:
    page, size, look = OF_PLANS[name]
    ascii = name == "nodes-ascii"

    async def see(pilot: Pilot[int], screen: PlanScreen) -> None:
        await press(pilot, *PAGES[page])
        pilot.app.clear_notifications()
        await pilot.pause()
        check_picture(PICTURES / f"{name}.svg", pilot.app)

    drive(see, a_demo(**look) if look else None, size, ascii=ascii)


@pytest.mark.parametrize("name", OF_RUNS)
def test_a_run_in_colour(name: str) -> None:
    scene, size, look = OF_RUNS[name]
    live = a_run()

    async def see(show: Show) -> None:
        await SCENES[scene][0](show, live)
        await still(show)
        check_picture(PICTURES / f"{name}.svg", show.app)

    play_run(see, live, size=size, **look)


def test_what_must_be_typed_in_colour() -> None:
    async def see(show: Show) -> None:
        await show.press("r")
        await show.sees(f"{NAME} 5")
        await still(show)
        check_picture(PICTURES / "run-confirm.svg", show.app)

    play(see)


def test_the_picture_of_the_readme_is_made_from_the_demo() -> None:
    async def see(pilot: Pilot[int], screen: PlanScreen) -> None:
        check_picture(DOCS / "screens.svg", pilot.app)

    drive(see)


def test_the_picture_of_a_run_in_the_docs() -> None:
    live = a_run()

    async def see(show: Show) -> None:
        await SCENES["run"][0](show, live)
        await still(show)
        check_picture(DOCS / "run.svg", show.app)

    play_run(see, live)


def test_no_picture_is_left_over_and_none_fetches_anything() -> None:
    assert {path.stem for path in PICTURES.iterdir()} == {*OF_PLANS, *OF_RUNS, "run-confirm"}
    for path in PICTURES.iterdir():
        assert "url(http" not in path.read_text(encoding="utf-8") and "@import" not in path.read_text(encoding="utf-8")


def test_a_picture_without_colours_has_greys_alone() -> None:
    drawn = (PICTURES / "nodes-no-color.svg").read_text(encoding="utf-8")
    frame = {"#ff5f57", "#febc2e", "#28c840", "#c5c8c6"}  # the window that Textual draws around every picture
    coloured = {each for each in re.findall(r"#[0-9a-f]{6}\b", drawn) if len({each[1:3], each[3:5], each[5:7]}) > 1}
    assert coloured <= frame
