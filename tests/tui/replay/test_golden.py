"""What a replay looks like in ASCII, sign by sign; as it usually is it is in `test_every_screen`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.render.golden import check_golden
from tests.tui.replay.shown import EVENTS, JOURNAL, Shown, show

GOLDEN = Path(__file__).parent / "golden"

PAGES = {
    "journal": (JOURNAL, ("right", "right_square_bracket", "j")),
    "events": (EVENTS, ("right", "right_square_bracket", "j")),
    "end": (EVENTS, ("end",)),
    "log": (JOURNAL, ("end", "6", "v")),
    "entry": (JOURNAL, ("end", "6", "v", "g", "enter")),
}


@pytest.mark.long
def test_like_this_in_ascii() -> None:
    async def look(shown: Shown) -> None:
        await shown.press("right", "right_square_bracket")
        check_golden(GOLDEN / "journal-ascii.txt", shown.text + "\n")

    show(look, ascii=True)
