"""The pages in a real Chromium: on wide and narrow screens, light, dark and on paper, and for users who cannot see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Tab
from tests.browser.conftest import PAGES

pytestmark = pytest.mark.long

WIDE, NARROW, PAPER = 1280, 390, 794

_OPEN = "document.querySelectorAll('details').forEach(each => { each.open = true })"
_HIDDEN = """
[...document.querySelectorAll('details')].flatMap(each => [...each.children].slice(1))
  .filter(each => !each.checkVisibility() || each.getBoundingClientRect().height === 0).length
"""
_AXE = """
axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations.map(each =>
  ({rule: each.id, impact: each.impact, on: each.nodes.map(node => node.html.slice(0, 200))}))))
"""


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, pages: dict[str, Path]) -> Path:
    return pages[request.param]


LOOKS = pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True)], ids=["wide light", "narrow dark"])
"""Where something stands depends on the width alone, and whether it can be told apart on the colours."""


@LOOKS
def test_it_asks_nobody_for_anything_and_fits_the_screen(tab: Tab, page: Path, width: int, dark: bool) -> None:
    tab.look(width, dark)
    tab.open(page)
    assert tab.requests == [page.as_uri()]
    assert tab.run("document.documentElement.scrollWidth") <= width
    tab.run(_OPEN)
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.errors == []


@LOOKS
def test_axe_finds_nothing_serious(tab: Tab, page: Path, axe: str, width: int, dark: bool) -> None:
    tab.look(width, dark)
    tab.open(page)
    tab.run(_OPEN)
    tab.run(f"{axe}; 0")
    found: list[dict[str, Any]] = json.loads(tab.run(_AXE))
    assert [each for each in found if each["impact"] in ("serious", "critical")] == []


def test_dark_is_dark(tab: Tab, pages: dict[str, Path]) -> None:
    backs = []
    for dark in (False, True):
        tab.look(WIDE, dark)
        tab.open(pages["check"])
        backs.append(tab.run("getComputedStyle(document.body).backgroundColor"))
    light, black = (sum(map(int, each.removeprefix("rgb(").rstrip(")").split(","))) for each in backs)
    assert light > 600 > 150 > black


def test_on_paper_everything_is_unfolded(tab: Tab, page: Path) -> None:
    tab.look(WIDE)
    tab.open(page)
    assert tab.run(_HIDDEN) > 0, "on the screen it is folded"
    tab.look(PAPER, media="print")
    assert tab.run(_HIDDEN) == 0
    assert tab.run("document.documentElement.scrollWidth") <= PAPER
    assert tab.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert tab.pdf().startswith(b"%PDF-")


def test_the_answer_and_all_lights_are_on_the_first_screen(tab: Tab, pages: dict[str, Path]) -> None:
    tab.look(WIDE, height=720)
    tab.open(pages["check"])
    bottoms = "[...document.querySelectorAll('.verdict, .lights li')].map(each => each.getBoundingClientRect().bottom)"
    found = tab.run(bottoms)
    assert len(found) == 14 and max(found) <= 720


def test_a_step_is_ticked_by_its_words_and_shows_it_on_paper(tab: Tab, pages: dict[str, Path]) -> None:
    tab.look(WIDE)
    tab.open(pages["check"])
    box = "document.querySelector('#step-9 input')"
    assert not tab.run(f"{box}.checked")
    tab.run("document.querySelector('#step-9 label span').click()")
    assert tab.run(f"{box}.checked")
    tab.look(PAPER, media="print")
    assert tab.run(f"getComputedStyle({box}, '::before').content") == '"✓"'
    assert tab.run("getComputedStyle(document.querySelector('#step-8 input'), '::before').content") == "none"
