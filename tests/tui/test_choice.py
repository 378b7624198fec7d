"""What is chosen, step by step: every edit can be taken back, and done again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.tui.model import MOST_STEPS, EditHistory, PlanInput

NODES = ("a", "b", "c")

Edit = Callable[[EditHistory], EditHistory]

EDITS: tuple[Edit, ...] = (
    *(lambda choice, node=node: choice.toggled(node) for node in NODES),  # type: ignore[misc]
    lambda choice: choice.marked_are((), "none"),
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
        choice = choice.undone()
    assert choice.ask == PlanInput() and not choice.past and choice.undone() == choice
    for _ in range(steps):
        choice = choice.redone()
    assert choice == last and choice.redone() == choice


def test_an_edit_that_changes_nothing_is_no_step() -> None:
    choice = EditHistory().toggled("a")
    assert choice.marked_are({"a"}, "again") is choice
    assert [step.words for step in choice.past] == ["a is marked"]


def test_after_an_edit_what_was_undone_cannot_be_redone() -> None:
    choice = EditHistory().toggled("a").undone().toggled("b")
    assert not choice.future and choice.ask.marked == {"b"}


def test_so_many_steps_are_kept_and_no_more() -> None:
    choice = EditHistory()
    for _ in range(MOST_STEPS + 7):
        choice = choice.toggled("a")
    assert len(choice.past) == MOST_STEPS


def test_a_node_that_is_marked_no_more_is_pinned_no_more() -> None:
    """`--pin` names nodes of the plan, and the same holds for what `C` copies and `r` runs."""
    pinned = EditHistory(PlanInput(frozenset(("a", "b")), DrainPolicy(pins=(("a", 2), ("b", 1)))))
    without = pinned.toggled("a")
    assert without.ask.policy.pins == (("b", 1),)
    assert without.undone() == replace(pinned, future=without.undone().future)
    assert pinned.marked_are((), "none").ask.policy.pins == ()
