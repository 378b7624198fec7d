"""A terminal that is too small shows a message; keys still work, and a larger size restores the screens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from kubectl_eksdoc.tui.base_app import MIN_SIZE, is_too_small, too_small_lines
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.pilots import NARROW, drive
from tests.tui.pilots import lines as seen

Drives = Pilot[Any]


@given(st.integers(1, 200), st.integers(1, 60), st.lists(st.text("abc ", max_size=9), max_size=4))
def test_the_size_is_said_and_no_more_than_fits(columns: int, rows: int, run: list[str]) -> None:
    told = too_small_lines(columns, rows, run)
    assert len(told) <= rows and any(f"(now {columns}x{rows})" in line for line in told)
    if rows > len(run):
        assert set(run) <= set(told)


@pytest.mark.parametrize(
    ("columns", "rows", "small"), [(60, 16, False), (59, 16, True), (60, 15, True), (40, 10, True)]
)
def test_from_where_on_it_is_too_small(columns: int, rows: int, small: bool) -> None:
    assert is_too_small(columns, rows) is small and MIN_SIZE == (60, 16)


async def resized(pilot: Drives, columns: int, rows: int) -> list[str]:
    await pilot.resize_terminal(columns, rows)
    await pilot.pause()
    await pilot.pause()
    return seen(pilot.app)


def test_keys_work_and_room_brings_it_back() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        before = seen(pilot.app)
        small = await resized(pilot, 40, 10)
        assert [line.strip() for line in small if line] == ["eksdoc needs 60x16 (now 40x10)", "q quit"]
        await pilot.press("2")
        await pilot.press("escape")
        assert screen.focused is screen._page_widget(screen.page).table, "what has the focus keeps it"
        assert await resized(pilot, 80, 24) == before
        await resized(pilot, 40, 10)
        await pilot.press("q")

    assert drive(look, size=NARROW).return_value == 0
