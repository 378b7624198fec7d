"""The form of all knobs: every turn equals a flag, can be undone, and is planned at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.cli.parser import Parser, expand_bare_flags
from kubectl_eksdoc.drain.command import plan as drain
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.report.plan import given_options, option_args
from kubectl_eksdoc.tui import edits
from kubectl_eksdoc.tui import knobs as form
from kubectl_eksdoc.tui.knobs import KNOBS
from kubectl_eksdoc.tui.knobs_screen import KnobsScreen
from kubectl_eksdoc.tui.model import EditHistory, Model, PlanInput
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables import pods as knobs
from kubectl_eksdoc.tui.tables.pods import text_of_cell
from tests.tui.pilots import Drives, drive, lines, notes_of, press

TARGETS = 8


def parsed(words: list[str]) -> DrainPolicy:
    parser = Parser(prog="drain")
    drain.add_policy(parser)
    return drain.policy_from(parser.parse_args(expand_bare_flags(words, parser.flags_without_value())))


@given(st.lists(st.tuples(st.sampled_from(KNOBS), st.sampled_from((-1, 1))), max_size=30))
def test_whatever_was_turned_the_command_line_says_the_same(turns: list[tuple[form.Knob, int]]) -> None:
    policy = DrainPolicy()
    for knob, by in turns:
        policy = knob.turn(policy, by, TARGETS)
    assert parsed(option_args(given_options(Targeting(), policy))) == policy


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.id)
def test_a_knob_has_an_end_on_both_sides_and_comes_back(knob: form.Knob) -> None:
    policy = DrainPolicy()
    for _ in range(20):
        policy = knob.turn(policy, -1, TARGETS)
    least, seen = policy, []
    for _ in range(20):
        seen.append(knob.value_text(policy))
        policy = knob.turn(policy, 1, TARGETS)
    assert knob.value_text(DrainPolicy()) in seen and len(set(seen)) >= 2
    for _ in range(20):
        policy = knob.turn(policy, -1, TARGETS)
    assert policy == least


def test_none_deletes_forces_or_goes_past_a_budget() -> None:
    flags = " ".join(knob.flag for knob in KNOBS)
    for never in ("force", "delete-emptydir", "delete-past", "evict-protected", "accept"):
        assert never not in flags


def test_a_knob_at_its_end_says_that_nothing_changes() -> None:
    model = Model(choice=EditHistory(PlanInput(frozenset("ab"))))
    assert edits.turn_knob(model, "surge_singles", -1) == "nothing changes: restart singles: no"
    turned = edits.turn_knob(model, "surge_singles", 1)
    assert isinstance(turned, EditHistory) and turned.past[-1].description == "restart singles: yes"


def test_what_is_not_as_it_comes_is_marked_by_a_sign() -> None:
    sheet = knobs.knobs_sheet(DrainPolicy(surge_singles=True))
    values = {key: text_of_cell(sheet.cells(key)[1]) for key in sheet.keys}
    assert values.pop("surge_singles") == "< yes > !" and all(value.endswith(">") for value in values.values())


@pytest.mark.long
def test_in_a_small_terminal_nothing_of_it_is_cut() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "o")
        for knob in KNOBS:
            rows = [line.strip("┃ ") for line in lines(pilot.app)]
            assert f"{knob.flag}: {knob.effect}" in " ".join(rows)
            assert not any("…" in row for row in rows if not row.startswith("Plan"))
            await press(pilot, "j")

    drive(look, size=(60, 16))


def test_in_the_form_keys_that_turn_a_knob_do_and_the_others_say_why_not() -> None:
    async def ask(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "o", "left_curly_bracket")
        assert screen.model.choice.plan_input.policy.nodes_at_once == "7"
        await press(pilot, "C", "z")
        assert "--max-unavailable 7" in pilot.app.clipboard and not screen.model.choice.plan_input.policy.nodes_at_once
        for key, shown in (("r", "r"), ("m", "m"), ("question_mark", "?")):
            await press(pilot, key)
            assert isinstance(pilot.app.screen, KnobsScreen)
            told = notes_of(pilot)
            assert f"{shown}: not from this form, esc closes it" in told

    drive(ask)
