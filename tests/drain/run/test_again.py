"""A run whose process is started again: nobody's word is passed over, and no machine's is taken for one."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given

from kubectl_eksdoc.drain.run.account import GoOn, RunOver, again
from kubectl_eksdoc.drain.run.journal import replay
from kubectl_eksdoc.model.journal import (
    DONE,
    ROLLED_BACK,
    TOLD_TO_END,
    Entries,
    Entry,
    JournalNote,
    Note,
    RunPhase,
    RunStarted,
    RunSummary,
)
from tests.journals import JOURNALS

AT = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
BEGUN = RunStarted(0, AT, "r1", "p", "1", "ann", "here", "ann@here/1/r1/x")


def after(*notes: tuple[JournalNote, str, str], wanted: str = "", by: str = "") -> GoOn | RunOver:
    """Each note with its subject and why."""
    entries: list[Entry] = [BEGUN]
    entries += [Note(number, AT, what, subject, why) for number, (what, subject, why) in enumerate(notes, 1)]
    found = Entries(tuple(entries))
    run = RunSummary("r1", AT, RunPhase.RUNNING.value, "ann@here", AT, "", wanted, by)
    return again(run, found, replay(found))


def test_what_was_killed_goes_on() -> None:
    assert after() == GoOn()
    assert after((JournalNote.ADOPTED, "pod-2", "")) == GoOn()


def test_told_to_end_it_goes_on_whether_it_came_to_its_end_or_not() -> None:
    told = (JournalNote.ABORTED, "", TOLD_TO_END)
    assert after(told) == after(told, (JournalNote.ENDED, "", TOLD_TO_END)) == GoOn()


@pytest.mark.parametrize("why", ["not enough room", "the user stopped it", "ben@x stopped it", "not emptied: old-1"])
def test_what_somebody_or_a_guard_ended_does_not_go_on(why: str) -> None:
    assert after((JournalNote.ENDED, "", why)) == RunOver(why)


def test_done_is_done_and_rolled_back_is_over() -> None:
    assert after((JournalNote.ENDED, "", DONE)) == RunOver(DONE, whole=True)
    assert after((JournalNote.ENDED, "", ROLLED_BACK)) == RunOver(ROLLED_BACK)


def test_resumed_by_somebody_it_is_theirs_and_goes_on() -> None:
    assert after((JournalNote.ENDED, "", "the user stopped it"), (JournalNote.RESUMED, "", "")) == GoOn()


@pytest.mark.parametrize("wanted", ["paused", "aborted"])
def test_what_was_asked_for_while_nobody_led_it_holds(wanted: str) -> None:
    assert after(wanted=wanted, by="ben@x") == GoOn(wanted, "ben@x")
    assert after((JournalNote.ENDED, "", TOLD_TO_END), wanted=wanted, by="ben@x") == GoOn(wanted, "ben@x")


def test_who_asked_it_to_go_on_is_heard() -> None:
    assert (
        after((JournalNote.PAUSED, "ben@x", ""), (JournalNote.RESUMED, "ben@x", ""), wanted="running", by="ben@x")
        == GoOn()
    )


def test_what_was_heard_before_it_was_killed_holds() -> None:
    assert after((JournalNote.PAUSED, "ben@x", "")) == GoOn("paused", "ben@x")
    assert after((JournalNote.ABORTED, "ben@x", "")) == GoOn("aborted", "ben@x")
    assert after((JournalNote.PAUSED, "", "")) == GoOn("paused", "")


def has_an_answer(entries: list[Entry]) -> None:
    found = Entries(tuple(entries))
    run = RunSummary("r1", None, "", "", None)
    assert isinstance(again(run, found, replay(found)), (GoOn, RunOver))


@given(JOURNALS)
def test_any_journal_has_an_answer(entries: list[Entry]) -> None:
    has_an_answer(entries)
