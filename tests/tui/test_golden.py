"""Golden files of pages in ASCII, character by character; `test_every_screen` has their usual form."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.tui.screen import PlanScreen
from tests.examples import one_in
from tests.report.golden import check_golden
from tests.tui.pilots import Drives, drive, page_text, press
from tests.tui.scenes import PLANS

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("page", one_in(5, ["nodes", "waves", "budgets", "pods", "knobs"]))
@pytest.mark.long
def test_like_this_in_ascii(page: str) -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, *PLANS[page])
        pilot.app.clear_notifications()
        await pilot.pause()
        check_golden(GOLDEN / f"{page}-ascii.txt", page_text(pilot) + "\n")

    drive(look, ascii=True)
