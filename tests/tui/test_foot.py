"""The footer line: it lists only keys that have an effect, the most important first, and a click acts as a key
press."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_eksdoc.tui.keymap import FootBar, Hint, ScreenPage, fit_hints
from kubectl_eksdoc.tui.panel import hang_lines
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables.pods import cell_width
from tests.tui.pilots import Drives, drive, lines, page_text, planned, press

HINTS = (Hint("space", "mark"), Hint("r", "run…"), Hint("?", "help"), Hint("1 2", "pages"), Hint("z", "undo"))


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (80, ["space", "r", "?", "1 2", "z"]),
        (40, ["space", "r", "?", "1 2", "…"]),
        (26, ["space", "?", "…"]),
        (9, ["?", "…"]),
        (1, ["?", "…"]),
    ],
)
def test_what_does_not_fit_is_left_out_from_the_end_and_that_is_said(room: int, kept: list[str]) -> None:
    assert [hint.key for hint in fit_hints(HINTS, room, "…")] == kept


def test_page_2_shows_the_fixes_of_a_blocked_budget_and_y_copies_the_first() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "2", "j", "j")
        text = page_text(pilot)
        assert "shop/sale: never allows" in text and "kubectl scale deployment sale -n shop --replicas=4" in text
        assert "y copy the fix" in text.splitlines()[-1]
        await press(pilot, "y")
        assert pilot.app.clipboard == "kubectl scale deployment sale -n shop --replicas=4"
        await press(pilot, "j", "j", "y")  # serial: it blocks nothing
        assert "copy the fix" not in lines(pilot.app)[-1]

    drive(look)


async def click(pilot: Drives, words: str, along: int = 0) -> None:
    await pilot.click(FootBar, offset=(lines(pilot.app)[-1].index(words) + along, 0))
    await pilot.pause()
    await planned(pilot)


def test_a_click_on_a_key_is_a_press() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await click(pilot, "1 2 3 4", 2)
        assert screen.page is ScreenPage.HEADROOM
        await press(pilot, "1")
        await click(pilot, "space mark", 7)
        assert "blue-1" not in screen.model.choice.plan_input.marked
        await click(pilot, "m mark…")
        await click(pilot, "n none")
        assert not screen.model.choice.plan_input.marked
        await click(pilot, "z undo", 3)
        assert screen.model.choice.plan_input.marked

    drive(look)


# Text in panels and dialogs: wrapped under its words, not under its label.


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s       stop and wait until it has gone", ["s       stop and wait until", "        it has gone"]),
        ("✗ kafka waits: its budget has no room", ["✗ kafka waits: its budget", "  has no room"]),
        ("    kubectl eksdoc drain status run-1234", ["    kubectl eksdoc drain", "    status run-1234"]),
        ("", [""]),
    ],
)
def test_what_is_wrapped_stands_under_the_words(line: str, expected: list[str]) -> None:
    assert hang_lines(line, 28) == expected


def test_a_label_that_leaves_no_room_is_words_like_others() -> None:
    assert hang_lines("a very long label  and text", 20) == ["a very long label ", "and text"]


@given(st.text(alphabet="ab 가✗"), st.integers(4, 40))
@example("aaaaaaaa가  a가가가가가", 22)
def test_no_line_is_wider_than_there_is_room_and_no_sign_is_lost(line: str, room: int) -> None:
    parts = hang_lines(line, room)
    assert all(cell_width(part) <= room for part in parts)
    assert "".join(parts).replace(" ", "") == line.replace(" ", "")
