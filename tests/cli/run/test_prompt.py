"""What is wrong with a command line is reported before a cluster is read for it."""

from __future__ import annotations

import pytest

from tests.cli.running import FakeSource, run_cli


@pytest.mark.parametrize("words", [("run", "--nodegroup", "blue"), ("resume", "r1"), ("rollback", "r1")])
def test_yes_without_the_number_is_refused_before_the_plan_is_made(words: tuple[str, ...]) -> None:
    source = FakeSource(error=AssertionError("it is read"))
    ran = run_cli("drain", *words, "--yes", source=source)
    assert (ran.code, ran.out, source.asked) == (2, "", [])
    assert "--yes needs the expectation: how many nodes it is about" in ran.err
    assert "Add --expect-nodes N, with the number of nodes of the plan that you have read." in ran.err


@pytest.mark.parametrize("more", [(), ("--expect-nodes", "5"), ("--in-cluster", "--apply", "--image", "r/i:1")])
def test_without_a_terminal_and_without_yes_it_ends_before_the_plan_is_made(more: tuple[str, ...]) -> None:
    source = FakeSource(error=AssertionError("it is read"))
    ran = run_cli("drain", "run", "--nodegroup", "blue", *more, source=source)
    assert (ran.code, ran.out, source.asked) == (2, "", [])
    assert "this must be confirmed by typing, and stdin is no terminal" in ran.err
    assert "In a script: --yes --expect-nodes N, with the number of nodes of the plan that you have read." in ran.err


@pytest.mark.parametrize("more", [("--dry-run",), ("--in-cluster", "--image", "r/i:1")])
def test_what_changes_nothing_needs_no_terminal(more: tuple[str, ...]) -> None:
    assert "no terminal" not in run_cli("drain", "run", "old-0", *more).err
