"""The pictures in the documentation match the current screens."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from textual.app import App

from tests.report.golden import check_golden
from tests.tui.moving_pictures import Film
from tests.tui.pictures import DOCS, check_picture
from tests.tui.pilots import Drives, planned
from tests.tui.run.scripted import NAME
from tests.tui.run.stage import Show, play
from tests.tui.scenes import SCENES


@pytest.mark.parametrize(("scene", "name"), [("nodes", "screens.svg"), ("run", "run.svg")])
def test_the_documentation_shows_this(scene: str, name: str) -> None:
    async def see(app: App[int], pilot: Drives) -> None:
        app.clear_notifications()
        await pilot.pause()
        check_picture(DOCS / name, app)

    SCENES[scene](see)


# README's picture moves: nodes are marked, waves are looked at, and the plan is run, on the real screens. Its time is


MOST_KIB = 400


async def filmed(show: Show, film: Film) -> None:
    async def shoot(seconds: float) -> None:
        await planned(show.pilot)
        show.app.clear_notifications()
        await show.pilot.pause()
        film.shoot(show.app, seconds)

    for keys, seconds in ((("m", "n"), 2.0), (("m",), 1.5), (("g",), 3.0), (("3",), 3.0), (("4",), 3.0)):
        await show.press(*keys)
        await shoot(seconds)
    await show.press("r")
    await show.sees(f"{NAME} 5")
    await shoot(2.5)
    await show.types(f"{NAME} 5")
    await shoot(1.0)
    await show.press("enter")
    live = show.desk.begun[-1]
    for at_s in range(5, 135, 10):
        live.to(at_s)
        await show.looks()
        await shoot(0.7)
    live.ends()
    await show.looks()
    await shoot(5.0)


@pytest.mark.long
def test_the_picture_that_moves_is_what_the_screens_show() -> None:
    film = Film()
    play(lambda show: filmed(show, film))
    drawn = film.svg("kubectl eksdoc --demo: nodes are marked, waves are looked at, the plan is run")
    check_golden(DOCS / "moving.svg", drawn)
    tree = ET.fromstring(drawn)
    assert len(drawn.encode()) < MOST_KIB << 10 and "http" not in drawn.replace(tree.tag[1:].split("}")[0], "")
    named = set(re.findall(r'class="(s\d+-\d+)', drawn))
    assert named == set(re.findall(r"^\.(s\d+-\d+)", drawn, re.MULTILINE))
