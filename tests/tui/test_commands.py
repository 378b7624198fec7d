"""Commands typed after the colon: which command is meant, and its effect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.tui import keymap
from kubectl_eksdoc.tui.keymap import PLAN_KEYS, PROMPT_COMMANDS, ScreenPage, TypedCommand
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.pilots import Drives, drive, press


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("no", "nodes"),
        (" NO ", "nodes"),
        ("pdb", "pdb"),
        ("what", "what-if"),
        ("q", "quit"),
        ("?", "help"),
    ],
)
def test_a_page_is_found_by_its_name_and_by_how_it_begins(typed: str, meant: str) -> None:
    found = keymap.parse_command(typed)
    assert isinstance(found, TypedCommand) and found.command.names[0] == meant


def test_what_stands_behind_it_may_be_cut_short_too() -> None:
    found = keymap.parse_command("theme li")
    assert isinstance(found, TypedCommand) and found.value == "light"
    assert keymap.parse_command("theme") == keymap.parse_command("theme x") == "write :theme dark or light"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "nothing was typed"),
        ("nodse", "there is no :nodse: did you mean :nodes?"),
        ("zzz", "there is no :zzz: there are nodes, pdb"),
        ("w", ":w could be waves or what-if or wide"),
        ("nodes now", ":nodes takes nothing behind it"),
    ],
)
def test_what_is_not_meant_by_one_of_them_is_said(typed: str, said: str) -> None:
    assert str(keymap.parse_command(typed)).startswith(said)


def test_no_name_is_of_two_commands_and_every_key_is_one() -> None:
    names = [name for each in PROMPT_COMMANDS for name in each.names]
    assert len(names) == len(set(names))
    assert {each.key for each in PROMPT_COMMANDS} - {""} <= {key.id for key in PLAN_KEYS}


@given(st.text(max_size=10))
def test_whatever_is_typed_there_is_an_answer(typed: str) -> None:
    found = keymap.parse_command(typed)
    assert isinstance(found, TypedCommand) or found
    assert set(keymap.command_candidates(typed)) <= {each.names[0] for each in PROMPT_COMMANDS}


def test_a_page_is_opened_by_its_name() -> None:
    async def type_it(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "colon", *"block", "enter")
        assert screen.page is ScreenPage.BLOCKERS
        await press(pilot, "colon", *"no", "enter")
        assert screen.page is ScreenPage.PLAN and screen._page_widget(ScreenPage.PLAN).table.has_focus

    drive(type_it)
