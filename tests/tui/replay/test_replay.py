"""The screens of a recorded run under keys: keys move its time, unknown values are marked, and no key changes the
run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from kubectl_eksdoc.drain.run.events import PROBLEM_EVENTS, DrainEventKind
from kubectl_eksdoc.drain.run.history import RunHistory
from kubectl_eksdoc.drain.run.replay import from_journal
from kubectl_eksdoc.model.journal import JournalEntries, JournalEntry
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.run.screen import RUN_KEYS
from tests.drain.run.test_replay import seen
from tests.journals import JOURNALS
from tests.tui.pilots import NARROW
from tests.tui.replay.shown import EVENTS, JOURNAL, Shown, recording_of, show


@pytest.mark.long
def test_it_goes_on_by_itself_at_its_speed_until_it_ends() -> None:
    async def look(shown: Shown) -> None:
        assert shown.at_s == 0 and "REPLAY RUNS 2x" in shown.lines[0]
        await shown.wait(1)
        assert shown.at_s == 2
        await shown.press("greater_than_sign", "greater_than_sign")
        await shown.wait(1)
        assert shown.at_s == 22 and "20x" in shown.lines[0]
        await shown.press("space")
        await shown.wait(1)
        assert shown.at_s == 22 and "REPLAY STANDS STILL 20x  22s of 2m40s" in shown.lines[0]
        await shown.press("space", "greater_than_sign")
        for _ in range(3):
            await shown.wait(1)
        assert "REPLAY ENDED" in shown.lines[0] and shown.lines[2].startswith(" ✗ not emptied: blue-1")
        assert "Summary" in shown.text and "1 of 5 nodes drained in 2m40s" in shown.text
        await shown.press("space")
        assert shown.at_s == 0 and "REPLAY RUNS" in shown.lines[0] and "Summary" not in shown.text

    show(look)


def test_speeds_have_ends_and_a_clock_that_jumps_is_not_believed() -> None:
    async def look(shown: Shown) -> None:
        await shown.press(*["less_than_sign"] * 3)
        assert "<: it goes no slower" in shown.told and "0.5x" in shown.lines[0]
        await shown.wait(3600)
        assert shown.at_s == 0.5, "the terminal was suspended"

    show(look)


@pytest.mark.long
def test_jumps() -> None:
    wrong = sorted({m.at_s for m in recording_of(JOURNAL).events if m.what in PROBLEM_EVENTS})

    async def jump(shown: Shown) -> None:
        await shown.press("right", "right", "left")
        assert shown.at_s == 10
        await shown.press("end")
        assert "ENDED" in shown.lines[0]
        await shown.press("home", "left")
        assert shown.at_s == 0
        for at_s in wrong:
            await shown.press("right_square_bracket")
            assert shown.at_s == at_s and "STANDS STILL" in shown.lines[0]
        await shown.press("right_square_bracket")
        assert "]: nothing went wrong after this" in shown.told
        await shown.press("left_square_bracket")
        assert shown.at_s == wrong[-2]
        await shown.press("0", "left_square_bracket", "comma")
        assert {"[: nothing went wrong before this", ",: nothing happened before this"} <= set(shown.told)
        await shown.press("full_stop")
        assert shown.screen.state.history.events[-1].what is DrainEventKind.CORDONED
        await shown.press("dollar_sign")
        assert "ENDED" in shown.lines[0]

    show(jump)


@pytest.mark.long
def test_the_way_back_shows_what_was_known_then() -> None:
    recording = recording_of(EVENTS)

    async def jump(shown: Shown) -> None:
        for keys in (["end"], ["home", "right"], ["right_square_bracket"] * 3, ["end", "left"], ["left"] * 3):
            await shown.press(*keys)
            straight = RunHistory(recording.planned_nodes)
            straight.add(moment for moment in recording.events if moment.at_s <= shown.at_s)
            assert seen(shown.screen.state.history) == seen(straight)

    show(jump, EVENTS)


@pytest.mark.long
def test_what_is_not_written_down_is_said() -> None:
    async def by_journal(shown: Shown) -> None:
        await shown.press("right", "space")
        assert "0 of 5 nodes drained · 14 pods asked to go so far, 11 accepted, 0 surely gone" in shown.lines[1]
        assert "Not known: what they allowed" in shown.text and "Not known: what pods waited for" in shown.text
        assert "0/7+" in shown.text and "No PodDisruptionBudget" not in shown.text

    async def by_events(shown: Shown) -> None:
        await shown.press("right", "space")
        assert "pods gone so far · " in shown.lines[1] and "surely" not in shown.text
        assert "7/7+" not in shown.lines[1] and "Not known: what they allowed" in shown.text

    show(by_journal)
    show(by_events, EVENTS)


@pytest.mark.long
def test_lines_that_could_not_be_read_are_told() -> None:
    recording = replace(recording_of(JOURNAL), dropped=tuple(f"line {at}: it was cut off" for at in range(30)))

    async def look(shown: Shown) -> None:
        assert "! 30 things in the file could not be taken into account" in shown.lines[3]
        await shown.press("end", "6", "tab", "G", *["pagedown"] * 4)
        assert "line 19: it was cut off" in shown.text and "and 10 more" in shown.text

    show(look, recording)


def test_it_is_saved_as_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def save(shown: Shown) -> None:
        await shown.press("H")
        (file,) = tmp_path.iterdir()
        assert file.suffix == ".html" and f"saved: {file.name}" in shown.told

    show(save)


def test_nothing_can_be_done_to_it() -> None:
    async def press(shown: Shown) -> None:
        told: list[str] = []
        for key in ("a", "R", "n", "o", "m", "1", "4", "ctrl+s"):
            shown.pilot.app.clear_notifications()
            await shown.press(key)
            assert len(shown.told) == 1, key
            told += shown.told
        assert "a: this shows a run again: nothing can be begun, stopped or given back from here" in told
        assert told[-2].startswith("4: a replay has no plan")
        await shown.press("v", "C")
        assert shown.told[-2] == "v: on [6] only (all, or only what went wrong)"
        assert shown.pilot.app.clipboard == "kubectl eksdoc drain status --replay run.jsonl"

    show(press)


@pytest.mark.long
def test_no_key_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some keys save a file

    async def press(shown: Shown) -> None:
        for key in (*RUN_KEYS, *shown.screen.KEYS):
            for each in key.keys.split(","):
                if each not in ("escape", "q"):
                    await shown.press(each)
                    if shown.pilot.app.screen is not shown.screen:
                        await shown.press("escape")
                    if shown.screen.focused is not None and shown.screen.focused.id is None:
                        await shown.press("escape")
                    assert all(len(line) <= NARROW[0] for line in shown.lines)

    show(press, size=NARROW)


@pytest.mark.long
def test_q_goes_back_and_then_leaves() -> None:
    async def leave(shown: Shown) -> None:
        await shown.press("6", "q")
        assert shown.screen.page is ScreenPage.RUN
        await shown.pilot.press("q")

    assert show(leave).return_value == 0


@pytest.mark.long
@settings(max_examples=25)
@given(JOURNALS)
def test_whatever_is_in_a_journal_is_shown(entries: list[JournalEntry]) -> None:
    recording = from_journal(JournalEntries(tuple(entries)))
    if recording is None:
        return

    async def look(shown: Shown) -> None:
        await shown.press("right_square_bracket", "full_stop", "end", "6", "g", "enter", "escape", "5", "enter", "0")

    show(look, recording)
