"""What a replay looks like, sign by sign."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples import one_in
from tests.render.test_golden import check_golden
from tests.tui.pilots import NARROW, WIDE
from tests.tui.replay.shown import EVENTS, JOURNAL, Shown, show

GOLDEN = Path(__file__).parent / "golden"

PAGES = {
    "journal": (JOURNAL, ("right", "right_square_bracket", "j")),
    "events": (EVENTS, ("right", "right_square_bracket", "j")),
    "end": (EVENTS, ("end",)),
    "log": (JOURNAL, ("end", "6", "v")),
    "entry": (JOURNAL, ("end", "6", "v", "g", "enter")),
}


NARROW_IN_LONG = {"events", "end", "log"}
CASES = [
    *((page, WIDE, "120x36") for page in PAGES),
    *(
        pytest.param(page, NARROW, "80x24", marks=[pytest.mark.long] if page in NARROW_IN_LONG else [])
        for page in PAGES
    ),
]


@pytest.mark.parametrize(("page", "size", "name"), one_in(6, CASES))
def test_every_page_looks_like_this(page: str, size: tuple[int, int], name: str) -> None:
    path, keys = PAGES[page]

    async def look(shown: Shown) -> None:
        await shown.press(*keys)
        await shown.pilot.pause()
        check_golden(GOLDEN / f"{page}-{name}.txt", shown.text + "\n")

    show(look, path, size)


@pytest.mark.long
def test_and_like_this_in_ascii() -> None:
    async def look(shown: Shown) -> None:
        await shown.press("right", "right_square_bracket")
        check_golden(GOLDEN / "journal-ascii.txt", shown.text + "\n")

    show(look, ascii=True)
