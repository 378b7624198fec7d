"""The choice of nodes, step by step: every edit can be undone and redone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.options import ALL, ZONE
from kubectl_eksdoc.tui import knobs
from kubectl_eksdoc.tui.model import MAX_UNDO_STEPS, EditHistory, PlanInput

NODES = ("a", "b", "c")

Edit = Callable[[EditHistory], EditHistory]

EDITS: tuple[Edit, ...] = (
    *(lambda choice, node=node: choice.with_mark_toggled(node) for node in NODES),  # type: ignore[misc]
    lambda choice: choice.with_marks((), "none"),
    lambda choice: choice.with_policy(DrainPolicy(grace_seconds=30), "grace"),
    lambda choice: choice.with_policy(DrainPolicy(), "as it was"),
)


@given(st.lists(st.sampled_from(EDITS), max_size=30))
def test_undone_as_often_as_edited_it_is_as_at_first_and_redone_as_at_last(edits: list[Edit]) -> None:
    choice = EditHistory()
    for edit in edits:
        choice = edit(choice)
    last, steps = choice, len(choice.past)
    for _ in range(steps):
        choice = choice.undo()
    assert choice.plan_input == PlanInput() and not choice.past and choice.undo() == choice
    for _ in range(steps):
        choice = choice.redo()
    assert choice == last and choice.redo() == choice


def test_an_edit_that_changes_nothing_is_no_step() -> None:
    choice = EditHistory().with_mark_toggled("a")
    assert choice.with_marks({"a"}, "again") is choice
    assert [step.description for step in choice.past] == ["a is marked"]


def test_after_an_edit_what_was_undone_cannot_be_redone() -> None:
    choice = EditHistory().with_mark_toggled("a").undo().with_mark_toggled("b")
    assert not choice.future and choice.plan_input.marked == {"b"}


def test_so_many_steps_are_kept_and_no_more() -> None:
    choice = EditHistory()
    for _ in range(MAX_UNDO_STEPS + 7):
        choice = choice.with_mark_toggled("a")
    assert len(choice.past) == MAX_UNDO_STEPS


def test_a_node_that_is_marked_no_more_is_pinned_no_more() -> None:
    """`--pin` names nodes of the plan; the same holds for the command that `C` copies and for the run that `r`
    starts."""
    pinned = EditHistory(PlanInput(frozenset(("a", "b")), DrainPolicy(pins=(("a", 2), ("b", 1)))))
    without = pinned.with_mark_toggled("a")
    assert without.plan_input.policy.pins == (("b", 1),)
    assert without.undo() == replace(pinned, future=without.undo().future)
    assert pinned.with_marks((), "none").plan_input.policy.pins == ()


# The knobs: each turn equals a flag, and stays within the planner's limits.


@given(targets=st.integers(0, 9), turns=st.lists(st.sampled_from((-1, 1)), max_size=30))
def test_nodes_at_once_are_between_one_and_no_limit(targets: int, turns: list[int]) -> None:
    policy = DrainPolicy(max_unavailable=((ZONE, IntOrPercent(1)),))
    for by in turns:
        before = knobs.parallel_limit(policy)
        policy = knobs.with_parallel(policy, by, targets)
        now = knobs.parallel_limit(policy)
        assert now is None or 1 <= now < targets
        if by < 0 and targets > 1:
            assert now is not None and (before is None or now <= before)
        assert dict(policy.max_unavailable)[ZONE] == IntOrPercent(1), "what else was asked for stays"


def test_one_less_than_no_limit_are_all_but_one() -> None:
    assert knobs.parallel_limit(knobs.with_parallel(DrainPolicy(), -1, 8)) == 7
    back = knobs.with_parallel(DrainPolicy(max_unavailable=((ALL, IntOrPercent(7)),)), 1, 8)
    assert back == DrainPolicy()


@pytest.mark.parametrize(
    ("given_s", "by", "then_s"),
    [(None, 1, 30), (30, -1, None), (300, 1, 300), (None, -1, None), (45, 1, 60), (45, -1, 30), (900, 1, 300)],
)
def test_grace_periods(given_s: int | None, by: int, then_s: int | None) -> None:
    assert knobs.with_grace(DrainPolicy(grace_seconds=given_s), by).grace_seconds == then_s


@given(
    wave=st.integers(1, 6),
    others=st.lists(st.integers(1, 6), max_size=5),
    by=st.sampled_from((-1, 1)),
    pin=st.booleans(),
)
def test_a_node_moves_by_one_wave_and_never_out_of_them(wave: int, others: list[int], by: int, pin: bool) -> None:
    waves = {f"other-{at}": each for at, each in enumerate(others)} | {"node": wave}
    policy = DrainPolicy(pins=(("other-0", 1), *((("node", wave),) if pin else ())))
    moved = dict(knobs.move_node(policy, "node", by, waves).pins)
    assert moved["node"] == min(max(wave + by, 1), max(waves.values()) + 1)
    assert moved["other-0"] == 1
    assert knobs.set_pin(policy, "node", None).pins == (("other-0", 1),)
