"""The screens in other colours than they come in, as pictures, and all pictures that are kept.

Those in the usual colours are drawn where their text is (`test_golden`, here and of runs): text says which signs stand
where, a picture in which colours, and what a border is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui import test_golden as of_plans
from tests.tui.pictures import PICTURES, check_picture
from tests.tui.pilots import a_demo, drive
from tests.tui.run import test_golden as of_runs

OTHER_COLOURS: dict[str, dict[str, Any]] = {"nodes-light": {"light": True}, "nodes-no-color": {"plain": True}}


@pytest.mark.parametrize("name", [pytest.param("nodes-light", marks=pytest.mark.long), "nodes-no-color"])
def test_a_plan_in_other_colours(name: str) -> None:
    async def see(pilot: Pilot[int], screen: PlanScreen) -> None:
        pilot.app.clear_notifications()
        await pilot.pause()
        check_picture(PICTURES / f"{name}.svg", pilot.app)

    drive(see, a_demo(**OTHER_COLOURS[name]))


def test_no_picture_is_left_over_and_none_fetches_anything() -> None:
    drawn = {*of_plans.PICTURED.values(), *of_runs.PICTURED.values()}
    assert set(PICTURES.iterdir()) == {
        *(path for path in drawn if path.parent == PICTURES),
        *(PICTURES / f"{name}.svg" for name in OTHER_COLOURS),
    }
    for path in PICTURES.iterdir():
        assert "url(http" not in path.read_text(encoding="utf-8") and "@import" not in path.read_text(encoding="utf-8")


def test_a_picture_without_colours_has_greys_alone() -> None:
    drawn = (PICTURES / "nodes-no-color.svg").read_text(encoding="utf-8")
    frame = {"#ff5f57", "#febc2e", "#28c840", "#c5c8c6"}  # the window that Textual draws around every picture
    coloured = {each for each in re.findall(r"#[0-9a-f]{6}\b", drawn) if len({each[1:3], each[3:5], each[5:7]}) > 1}
    assert coloured <= frame
