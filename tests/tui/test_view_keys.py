"""Keys that change only the view of the nodes and not the plan: order, faults, width, head."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.line_table import LineTable
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables.pods import text_of_cell
from tests.tui.pilots import NARROW, Drives, drive, lines, page_text, press


def rows(screen: PlanScreen) -> list[str]:
    return list(screen._page_widget(ScreenPage.PLAN).table.sheet.keys)


@pytest.mark.parametrize(
    ("keys", "title", "first"),
    [
        ("N", "NODE▼", "spot-2"),
        ("AA", "AGE▼", None),
        ("S", "STATUS▲", "blue-6"),
    ],
)
def test_nodes_are_sorted_by_shifted_letters(keys: str, title: str, first: str | None) -> None:
    async def sort(pilot: Drives, screen: PlanScreen) -> None:
        before = rows(screen)
        await press(pilot, *keys)
        assert title in page_text(pilot), page_text(pilot)
        assert sorted(rows(screen)) == sorted(before)
        assert first is None or rows(screen)[0] == first
        assert screen._page_widget(ScreenPage.PLAN).node == "blue-1", "the cursor stays on its node"

    drive(sort)


def test_an_order_by_a_column_without_room_is_said_below() -> None:
    async def sort(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "O", "O")
        assert "by TYPE▲" in page_text(pilot)

    drive(sort, size=NARROW)


@pytest.mark.long
def test_only_what_is_at_fault_and_all_again() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        every = rows(screen)
        await press(pilot, "ctrl+z")
        view = screen.model.view
        assert view is not None
        left_out = [target.node.name for target in view.targets if not target.order]
        assert set(rows(screen)) >= set(left_out) and len(rows(screen)) < len(every)
        assert f"faults only: {len(rows(screen))} of {len(every)}" in page_text(pilot)
        await press(pilot, "ctrl+z")
        assert rows(screen) == every
        await press(pilot, "m", "n", "ctrl+z")
        assert "Nothing is the matter with any node" in page_text(pilot)
        await press(pilot, "escape")
        assert rows(screen) == every

    drive(look)


@pytest.mark.long
def test_wide_shows_every_column_in_full_and_goes_sideways() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "2", "ctrl+w")
        table = screen._page_widget(screen.page).table
        narrow = lines(pilot.app)
        assert any("wide, h l sideways" in line for line in narrow)
        longest = max((text_of_cell(cell) for cell in table.sheet.cells(table.key or "")), key=len)
        seen = []
        for _ in range(60):
            seen.append(page_text(pilot))
            await pilot.press("l")
        name = text_of_cell(table.sheet.cells(table.key or "")[0])
        assert all(name in text for text in seen), "the first column stays"
        assert longest in "".join(seen) or any(longest[-12:] in text for text in seen)
        for _ in range(60):
            await pilot.press("left")
        assert lines(pilot.app) == narrow
        await press(pilot, "ctrl+w")
        assert "wide" not in page_text(pilot)

    drive(look, size=NARROW)


@pytest.mark.long
def test_the_head_goes_away_and_comes_back_but_not_a_trouble() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        before = lines(pilot.app)
        await press(pilot, "ctrl+e")
        assert "[1] Nodes" in lines(pilot.app)[0]
        assert "without the head" in page_text(pilot)
        screen.model = replace(screen.model, reads=replace(screen.model.reads, failures=1))
        screen.show()
        await pilot.pause()
        assert lines(pilot.app)[0].startswith(" eksdoc"), "how old it is, is seen where nobody answers"
        screen.model = replace(screen.model, reads=replace(screen.model.reads, failures=0))
        await press(pilot, "ctrl+e")
        assert lines(pilot.app) == before

    drive(look)


def test_a_click_moves_the_cursor_to_that_row_and_a_double_click_opens_it() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        nodes, budgets = screen.query_one("#nodes", LineTable), screen.query_one("#budgets", LineTable)
        row = next(at for at, line in enumerate(lines(pilot.app)) if "blue-4 " in line)
        await pilot.click(offset=(9, row))
        assert nodes.key == "blue-4"
        for y in (nodes.region.y, nodes.region.y + 1, nodes.region.bottom - 2):  # frame, titles, nothing
            await pilot.click(offset=(9, y))
            assert nodes.key == "blue-4"
        budgets.to_end()
        await pilot.pause()
        last_but_one = budgets.sheet.keys[-2]
        row = budgets.region.bottom - 3
        await pilot.click(offset=(9, row))
        assert budgets.key == last_but_one and screen.page is ScreenPage.PLAN
        await pilot.click(offset=(9, row), times=2)
        assert screen.page is ScreenPage.HEADROOM and screen._page_widget(screen.page).table.key == last_but_one
        assert not screen.selections

    drive(look)
