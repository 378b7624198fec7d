"""Keys that come faster than they can be drawn: each does what it would have done had one waited."""

from __future__ import annotations

import pytest
from textual.events import Key
from textual.pilot import Pilot

from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.pilots import drive, planned


def burst(pilot: Pilot[int], keys: str) -> None:
    for key in keys:
        name = {" ": "space", "/": "slash"}.get(key, key)
        pilot.app.post_message(Key(name, key))


@pytest.mark.parametrize("keys", ["jmo", "mg", "mojm", "jjmgmn", "zmi", "mzz"])
def test_a_burst_marks_what_slow_typing_marks(keys: str) -> None:
    seen: list[tuple[frozenset[str], str | None]] = []

    async def slowly(pilot: Pilot[int], screen: PlanScreen) -> None:
        for key in keys:
            burst(pilot, key)
            await pilot.pause()
        await planned(pilot)
        seen.append((screen.model.choice.ask.marked, screen._node))

    async def at_once(pilot: Pilot[int], screen: PlanScreen) -> None:
        burst(pilot, keys)
        await pilot.pause(0.1)
        await planned(pilot)
        seen.append((screen.model.choice.ask.marked, screen._node))

    drive(slowly)
    drive(at_once)
    assert seen[0] == seen[1]


def test_what_is_typed_after_a_slash_is_in_the_filter() -> None:
    async def typing(pilot: Pilot[int], screen: PlanScreen) -> None:
        marked = screen.model.choice.ask.marked
        burst(pilot, "/mspot")
        await pilot.pause(0.1)
        assert screen.model.filter == "mspot" and screen.model.choice.ask.marked == marked

    drive(typing)
