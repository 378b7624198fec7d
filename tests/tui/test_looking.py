"""Keys that change how the nodes are looked at, and no plan: order, faults, width, head."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.tui.keys import Page
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.pilots import a_demo, drive, lines, press

Demo = Pilot[int]


def rows(screen: PlanScreen) -> list[str]:
    return list(screen._of(Page.PLAN).table.sheet.keys)


@pytest.mark.parametrize(
    ("keys", "title", "first"),
    [
        ("N", "NODE▼", "spot-2"),
        ("A", "AGE▲", None),
        ("AA", "AGE▼", None),
        ("S", "STATUS▲", "blue-6"),
        ("O", "GROUP▲", "blue-1"),
    ],
)
def test_nodes_are_sorted_by_shifted_letters(keys: str, title: str, first: str | None) -> None:
    async def sort(pilot: Demo, screen: PlanScreen) -> None:
        before = rows(screen)
        await press(pilot, *keys)
        assert any(title in line for line in lines(pilot.app)), "\n".join(lines(pilot.app))
        assert sorted(rows(screen)) == sorted(before)
        assert first is None or rows(screen)[0] == first
        assert screen._of(Page.PLAN).node == "blue-1", "the cursor stays on its node"

    drive(sort)


def test_the_sign_of_the_order_is_ascii_where_nothing_else_may_be() -> None:
    async def sort(pilot: Demo, screen: PlanScreen) -> None:
        assert any("NODE^" in line for line in lines(pilot.app))
        await press(pilot, "N")
        assert any("NODEv" in line for line in lines(pilot.app))

    drive(sort, a_demo(ascii=True))
