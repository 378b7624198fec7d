"""Enter in the log of a run shows an entry in full, and does nothing else."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.run.moments import Happened
from tests.tui.pilots import NARROW, WIDE
from tests.tui.run.scripted import ScriptedLive
from tests.tui.run.stage import Show, play_run

WHY = "Cannot evict pod as it would violate the pod's disruption budget: [bold]web[/] needs \x1b[2J three " * 3


@pytest.mark.parametrize("size", [WIDE, pytest.param(NARROW, marks=pytest.mark.long)])
def test_an_entry_is_shown_whole(size: tuple[int, int]) -> None:
    live = ScriptedLive()
    live.to(5.0)
    live.happens(Happened.REFUSED, "shop/web-1", "blue-1", WHY)

    async def look(show: Show) -> None:
        await show.press("6", "enter")
        assert show.top == "EntryScreen"
        for said in ("! this is something that went wrong", "2026-11-20 09:00:05, 5s after", "shop/web-1", "blue-1"):
            assert said in show.text, show.text
        assert show.text.count("[bold]web[/]") == 3 and "\\x1b[2J" in show.text, "in full, and as it stands there"
        await show.press("enter")
        assert show.top == "RunScreen" and live.wishes == []

    play_run(look, live, size=size)
