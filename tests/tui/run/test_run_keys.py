"""Every key on the screen of a run: keys that send a request to the run, and keys that only change the view."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.command.screen_ports import RunKind, RunSummaryView
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import RunSummary
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.run.pages import LogPage
from kubectl_eksdoc.tui.run.screen import RUN_KEYS, RunScreen
from kubectl_eksdoc.tui.run.state import ScreenStage
from tests.examples import one_in
from tests.rehearsed import BLUE, rehearsed_demo
from tests.tui.pilots import NARROW, NOW, read_demo
from tests.tui.run.scripted import NAME, RUN, ScriptedDesk, ScriptedLive
from tests.tui.run.stage import Show, play, play_run

pytestmark = pytest.mark.long


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """The current folder of the process, where files are saved."""
    before = os.getcwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def screen(show: Show) -> RunScreen:
    return next(each for each in show.app.screen_stack if isinstance(each, RunScreen))


# Requests to the run


def test_pausing_and_going_on() -> None:
    live = ScriptedLive()

    async def pause(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("space")
        assert live.wishes == [RunRequest.PAUSE] and "PAUSING" in show.text and "space go on" in show.text
        await show.press("p")
        assert live.wishes == [RunRequest.PAUSE] and "p: it is paused already" in show.told, "p never makes it go on"
        await show.press("space")
        assert live.wishes == [RunRequest.PAUSE, RunRequest.RESUME] and "RUNNING" in show.text
        live.stands(paused=True)
        await show.looks()
        assert "PAUSED" in show.text, "somebody else did"
        await show.press("a")
        assert "Paused: what next?" in show.text and "space   go on" in show.text
        await show.press("space")
        assert live.wishes[-1] is RunRequest.RESUME and show.top == "RunScreen"

    play_run(pause, live)


@pytest.mark.parametrize(
    ("key", "wish"),
    one_in(
        4, [("space", RunRequest.PAUSE), ("w", RunRequest.FINISH_WAVE), ("s", RunRequest.STOP), ("X", RunRequest.LEAVE)]
    ),
)
def test_the_menu_does_what_it_says(key: str, wish: RunRequest) -> None:
    live = ScriptedLive(rehearsed_demo(2))

    async def choose(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("a", "enter", "x", "y", "S")
        assert show.top == "StopScreen" and live.wishes == [], "only its own keys do something"
        await show.chooses(key)
        assert live.wishes == [wish] and show.stack == ["PlanScreen", "RunScreen"]

    play_run(choose, live)


def test_what_stops_is_not_paused_and_does_not_begin_to_finish_its_wave() -> None:
    live = ScriptedLive(rehearsed_demo(2))

    async def change(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.chooses("a", "s")
        for keys in (("space",), ("p",), ("a", "space"), ("a", "w")):
            await show.chooses(*keys)
            assert live.wishes == [RunRequest.STOP] and show.state.stage is ScreenStage.STOPPING
        await show.chooses("a", "X")
        assert live.wishes == [RunRequest.STOP, RunRequest.LEAVE]
        await show.press("a")
        assert "a: it leaves at once already" in show.told and show.top == "RunScreen"
        await show.chooses("R", "s")
        assert live.wishes == [RunRequest.STOP, RunRequest.LEAVE], "what leaves at once does not wait again"

    play_run(change, live)


def test_stopping_to_give_back_asks_when_it_is_over_wherever_one_is() -> None:
    live = ScriptedLive()

    async def back(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.chooses("R", "R")
        assert live.wishes == [RunRequest.STOP] and show.top == "RunScreen"
        await show.press("1")
        live.stops()
        await show.looks()
        await show.until(lambda: show.top == "ConfirmScreen")
        await show.sees("Give these nodes back?")
        await show.press("enter")
        assert show.desk.asked == [(RunKind.ROLLBACK, RUN)] and len(show.desk.begun) == 1
        await show.press("escape")
        await show.looks()
        assert show.stack == ["PlanScreen"], "it is asked once"

    play_run(back, live)


def test_a_node_is_left_alone_when_that_was_said() -> None:
    live = ScriptedLive(rehearsed_demo(2))

    async def alone(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("j", "n")
        node = next(iter(list(show.state.history.nodes)[1:]))
        assert f"Leave {node} alone?" in show.text
        await show.press("enter", "s", "X", "R", "space")
        assert show.top == "StopScreen" and (live.alone, live.wishes) == ([], [])
        await show.press("escape")
        assert live.alone == []
        await show.chooses("n", "y")
        assert live.alone == [node] and show.top == "RunScreen"
        live.happens(DrainEventKind.LEFT_ALONE, node, why="the user wanted it left alone")
        await show.looks()
        assert "✗ left alone" in show.text
        await show.press("n")
        assert f"n: {node} is done with already" in show.told

    play_run(alone, live)


# Keys that only change the view


def test_the_log_is_filtered_followed_and_left_again() -> None:
    live = ScriptedLive(rehearsed_demo(2))

    async def look(show: Show) -> None:
        live.to(45)
        live.happens(DrainEventKind.REFUSED, "shop/web-1", "blue-1", "[red]웹[/] has no room")
        await show.looks()
        await show.press("6")
        log = screen(show).query_one(LogPage)
        rows = len(log.table.sheet.keys)
        assert "[red]웹[/] has no room" in show.text and "following" in show.text
        await show.press("v")
        assert "only what went wrong" in show.text and 0 < len(log.table.sheet.keys) < rows
        await show.press("v", "slash", *"blue", "enter")
        assert "/blue" in show.text and 0 < len(log.table.sheet.keys) <= rows
        await show.press("escape")
        assert log.search_text == "" and screen(show).page is ScreenPage.LOG and len(log.table.sheet.keys) == rows
        await show.press("g")
        assert "f follows" in show.text
        live.to(60)
        await show.looks()
        assert log.table.key == "0", "who reads is not led away"
        await show.press("f")
        assert log.table.key == log.table.sheet.keys[-1]
        await show.press("5")
        assert screen(show).page is ScreenPage.RUN
        await show.press("f", "slash")
        assert "f: on [6] only (follow what is new)" in show.told
        await show.press("6", "escape")
        assert screen(show).page is ScreenPage.RUN and live.wishes == []

    play_run(look, live)


def test_a_filter_that_is_open_is_closed_first() -> None:
    async def close(show: Show) -> None:
        await show.press("6", "slash", "x", "q")
        assert screen(show).query_one(LogPage).search_text == "xq", "q is a letter there"
        await show.press("escape")
        assert screen(show).query_one(LogPage).search_text == "" and show.top == "RunScreen"
        await show.press("slash", "ctrl+q")
        assert show.top == "StopScreen"

    play_run(close)


def test_what_came_of_it_is_copied_and_saved_once(here: Path) -> None:
    live = ScriptedLive()

    async def keep(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("m", "ctrl+s")
        assert {"m: it is not over yet", "ctrl+s: it is not over yet"} <= set(show.told) and not list(here.iterdir())
        live.ends()
        await show.looks()
        await show.press("m")
        assert show.app.clipboard.startswith("## Drain of `demo-shop`") and RUN in show.app.clipboard
        await show.press("ctrl+s")
        (file,) = here.iterdir()
        assert file.name == f"drain-{RUN}.md" and file.read_text(encoding="utf-8") == show.app.clipboard
        file.write_text("of somebody else", encoding="utf-8")
        await show.press("ctrl+s")
        assert file.read_text(encoding="utf-8") == "of somebody else"
        assert f"{file.name} is there already" in show.told

    play_run(keep, live)


def test_what_cannot_be_saved_is_said(here: Path) -> None:
    live = ScriptedLive(run="no/such")

    async def keep(show: Show) -> None:
        live.ends()
        await show.looks()
        await show.press("ctrl+s")
        assert any("cannot be written: No such file" in text for text in show.told)

    play_run(keep, live)


# The run ends while another screen is visible


def test_it_ends_while_the_plan_is_seen() -> None:
    live = ScriptedLive()

    async def look(show: Show) -> None:
        await show.press("1")
        live.ends()
        await show.looks()
        assert any(text.startswith(f"✓ 5: run {RUN}: Drained: 5 of 5 nodes") for text in show.told)
        await show.press("5")
        assert "DONE" in show.text

    play_run(look, live)


def test_it_ends_while_help_is_seen() -> None:
    live = ScriptedLive()

    async def look(show: Show) -> None:
        await show.press("question_mark")
        live.ends(RunSummaryView("the lock was lost", ("Go on: drain resume",), has_failed=True))
        await show.looks()
        await show.press("escape")
        assert "✗" in show.text and "the lock was lost" in show.text and "STOPPED" in show.text
        await show.press("m")
        told = show.app.clipboard
        assert told.startswith(f"# Run {RUN} on {NAME}") and "the lock was lost" in told and "- Go on:" in told
        assert "drain status" in told and all(f"- {aimed.node}: " in told for aimed in live.planned_nodes)

    play_run(look, live)


# Starting another run


def test_one_run_at_a_time() -> None:
    live = ScriptedLive()

    async def again(show: Show) -> None:
        await show.press("1", "r")
        assert show.stack == ["PlanScreen"] and "r: a run is under way: 5 shows it" in show.told
        live.ends()
        await show.looks()
        await show.press("r")
        await show.until(lambda: show.top == "ConfirmScreen")

    play_run(again, live, read=read_demo, targeting=BLUE)


def test_the_plan_stays_as_it_was_while_it_runs_and_the_head_says_so() -> None:
    """A plan of the remaining pods would report the run's own evictions as faults."""
    live = ScriptedLive()
    read: list[int] = []

    def counted(progress: Progress) -> Cluster:
        read.append(1)
        return read_demo(progress)

    async def look(show: Show) -> None:
        live.to(20)
        await show.looks()
        before = len(read)
        await show.press("1")
        assert "RUNNING (5 shows the run)" in show.text.splitlines()[0]
        await show.press("ctrl+r")
        assert len(read) == before and any("a run is under way" in told for told in show.told)
        live.stands(paused=True)
        await show.looks()
        assert "PAUSED (5 shows the run)" in show.text.splitlines()[0]
        live.ends()
        await show.looks()
        await show.until(lambda: len(read) == before + 1)
        assert "shows the run" not in show.text.splitlines()[0]

    play_run(look, live, read=counted)


def test_other_runs_are_listed_when_the_own_one_is_over_and_can_be_watched() -> None:
    live, summary = ScriptedLive(), RunSummary("20261119-080000-1234", NOW, "RUNNING", "ben@desk/1", NOW)

    async def others(show: Show) -> None:
        await show.press("1", "L")
        assert "L: a run is under way: 5 shows it" in show.told
        await show.press("5", "L")
        assert "L: this run is under way" in show.told
        live.ends()
        await show.looks()
        await show.press("L")
        await show.sees("Runs of this cluster")
        assert not show.told, "nothing lies over what is asked"
        await show.sees("ben@desk")
        await show.press("C")
        assert show.app.clipboard == f"kubectl eksdoc drain status {summary.run} --watch --demo"
        await show.press("escape")
        assert show.top == "RunScreen"

    play_run(others, live, ScriptedDesk(runs=[summary]), size=NARROW)


def test_where_nothing_can_be_changed_r_says_why() -> None:
    why = "a [red]snapshot[/] is read only: there is no cluster to drain"

    async def ask(show: Show) -> None:
        assert "READ-ONLY" in show.text.splitlines()[0]
        await show.press("r", "5", "L")
        assert show.stack == ["PlanScreen"] and f"r: {why}" in show.told
        assert {"5 6", "L"} <= {text.split(":")[0] for text in show.told}

    play(ask, read_only_reason=why)


# Any size, any key


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("kind", [RunKind.DRAIN, RunKind.ROLLBACK])
def test_no_key_fails(over: bool, kind: RunKind, here: Path) -> None:
    live = ScriptedLive(kind=kind)

    async def press_all(show: Show) -> None:
        if over:
            live.ends(RunSummaryView("2 of 2 nodes are as they were before") if kind is RunKind.ROLLBACK else None)
            await show.looks()
        for page in ("5", "6"):
            for key in RUN_KEYS:
                for each in key.keys.split(","):
                    await show.press(page, each)
                    if show.top != "RunScreen":
                        await show.press("escape")
                    if show.top == "PlanScreen":
                        await show.press("5")
                    assert show.top == "RunScreen", (page, each, show.stack)

    play_run(press_all, live, ScriptedDesk())


def test_the_command_that_shows_it_is_copied() -> None:
    live = ScriptedLive()

    async def copy(show: Show) -> None:
        await show.press("C")
        assert show.app.clipboard == f"kubectl eksdoc drain status {RUN} --demo"
        live.ends()
        await show.looks()
        await show.press("C")
        assert show.app.clipboard == f"kubectl eksdoc drain status {RUN} --context demo"

    play_run(copy, live)


def test_it_ends_while_the_menu_is_seen() -> None:
    live = ScriptedLive()

    async def look(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("a")
        live.ends()
        await show.looks()
        await show.sees("The run is over meanwhile.")
        await show.press("s")
        assert live.wishes == [] and show.top == "RunScreen" and "DONE" in show.text
        await show.press("a")
        assert "a: it is over" in show.told

    play_run(look, live)
