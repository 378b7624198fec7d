"""A run starts only after the typed confirmation: no other input starts it, and Enter alone never does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import Input

from kubectl_eksdoc.drain.command.screen_ports import RunKind, RunSummaryView
from kubectl_eksdoc.errors import Drifted, Locked
from kubectl_eksdoc.tui.run.confirm import ConfirmScreen, confirm_lines
from tests.examples import one_in
from tests.tui.pilots import NARROW
from tests.tui.run.scripted import NAME, ScriptedDesk, ScriptedLive
from tests.tui.run.stage import Show, play, play_run

WORDS = f"{NAME} 5"


def field(show: Show) -> Input:
    return show.app.screen.query_one("#typed", Input)


async def asked(show: Show) -> None:
    """Press r and wait for the confirmation prompt."""
    await show.press("r")
    await show.sees(f"Type  {WORDS}  and press enter")


def test_what_must_be_typed_begins_it_once() -> None:
    async def begin(show: Show) -> None:
        await asked(show)
        assert "Will      cordon 5 nodes" in show.text and "Will not  go past any budget" in show.text
        await show.types(WORDS)
        assert show.desk.begun == [], "typing is not yet pressing enter"
        await show.press("enter")
        await show.until(lambda: show.top == "RunScreen")
        await show.press("enter", "enter")
        assert len(show.desk.begun) == 1 and show.stack == ["PlanScreen", "RunScreen"]

    play(begin)


@pytest.mark.parametrize("size", [NARROW, (60, 20)])
def test_that_it_is_production_is_said_where_it_is_confirmed_and_while_it_runs(size: tuple[int, int]) -> None:
    """The confirmation dialog covers the head of the plan."""

    async def begin(show: Show) -> None:
        await asked(show)
        assert f"{NAME}  PRODUCTION" in show.text
        await show.types(WORDS)
        await show.press("enter")
        await show.until(lambda: show.top == "RunScreen")
        await show.sees("PRODUCTION")
        assert NAME in show.text.splitlines()[0]

    play(begin, production_pattern="shop", size=size)


@pytest.mark.long
def test_an_enter_that_repeats_itself_begins_one_run() -> None:
    """On a slow connection several Enter keys arrive at once."""

    async def begin(show: Show) -> None:
        await asked(show)
        await show.types(WORDS)
        typed = field(show)
        for _ in range(4):
            typed.post_message(Input.Submitted(typed, WORDS))
        await show.until(lambda: show.top == "RunScreen")
        assert len(show.desk.begun) == 1

    play(begin)


@pytest.mark.long
def test_nothing_is_begun_where_it_cannot_be_read() -> None:
    async def begin(show: Show) -> None:
        await asked(show)
        await show.types(WORDS)
        await show.pilot.resize_terminal(40, 10)
        await show.press("enter")
        assert show.desk.begun == [] and show.top == "ConfirmScreen"
        await show.pilot.resize_terminal(120, 36)
        await show.press("enter")
        await show.until(lambda: show.top == "RunScreen")

    play(begin)


@pytest.mark.long
def test_enter_with_anything_else_does_nothing() -> None:
    async def mistype(show: Show) -> None:
        await asked(show)
        for typed in ("", "y", "yes", NAME, "5", f"{NAME} 4", f"{NAME.upper()} 5", f"{NAME}5", "prod 5"):
            await show.types(typed)
            assert field(show).value == typed
            show.app.clear_notifications()
            await show.press("enter", "enter")
            assert show.desk.begun == [] and show.top == "ConfirmScreen"
            assert any("nothing was done" in text for text in show.told) is bool(typed)
            field(show).value = ""
        await show.types(WORDS)
        await show.press("enter")
        await show.until(lambda: show.top == "RunScreen")

    play(mistype)


def test_enter_before_it_is_ready_is_not_kept_for_later() -> None:
    async def hurry(show: Show) -> None:
        show.desk.may_answer.clear()
        await show.press("r")
        await show.sees("your permissions are checked")
        await show.types(WORDS)
        await show.press("enter", "enter", "space")
        show.desk.may_answer.set()
        await show.sees(f"Type  {WORDS}")
        assert show.desk.begun == [] and field(show).value == ""

    play(hurry)


@pytest.mark.long
def test_several_words_are_typed_one_after_the_other() -> None:
    desk = ScriptedDesk(also=("data/postgres-0", "data/postgres-1"))

    async def begin(show: Show) -> None:
        await asked(show)
        await show.types(WORDS)
        await show.press("enter", "enter", "enter")
        await show.sees("Type  data/postgres-0  and press enter, to delete it past its budget")
        await show.types("data/postgres-1")
        await show.press("enter")
        assert any("that is not 'data/postgres-0'" in text for text in show.told)
        field(show).value = ""
        await show.types("data/postgres-0")
        await show.press("enter")
        await show.sees("Type  data/postgres-1")
        assert show.desk.begun == []
        await show.types("data/postgres-1")
        await show.press("enter")
        await show.until(lambda: show.top == "RunScreen")

    play(begin, desk)


@pytest.mark.parametrize("where", one_in(3, ["before it is ready", "when it is", "half typed"]))
def test_esc_leaves_it(where: str) -> None:
    async def leave(show: Show) -> None:
        if where == "before it is ready":
            show.desk.may_answer.clear()
            await show.press("r")
        else:
            await asked(show)
        if where == "half typed":
            await show.types(WORDS)
        await show.press("escape")
        show.desk.may_answer.set()
        await show.pilot.pause(0.1)
        assert show.stack == ["PlanScreen"] and show.desk.begun == []
        await asked(show)
        assert show.desk.asked == [(RunKind.DRAIN, "")] * 2, "it is read anew"

    play(leave)


@pytest.mark.long
def test_why_it_cannot_be_begun_is_said_with_what_helps() -> None:
    error = Drifted("the plan [red]is not[/] any more what was shown", "ctrl+r reads it again:\nlook at it again.")

    async def refused(show: Show) -> None:
        await show.press("r")
        await show.sees("✗ the plan [red]is not[/] any more")
        assert "ctrl+r reads it again:" in show.text and "look at it again." in show.text and "esc back" in show.text
        assert not field(show).display
        await show.press("enter", "escape")
        assert show.stack == ["PlanScreen"] and show.desk.begun == []

    play(refused, ScriptedDesk(refuses=error), NARROW)


def test_what_fails_while_it_is_begun_is_said_too() -> None:
    desk = ScriptedDesk(fails=Locked("run 7f3a is under way here", "One at a time: [5] shows it."))

    async def refused(show: Show) -> None:
        await asked(show)
        await show.types(WORDS)
        await show.press("enter")
        await show.sees("✗ run 7f3a is under way here")
        assert "[5] shows it" in show.text and not field(show).display
        await show.press("enter", "enter", "escape")
        assert show.stack == ["PlanScreen"] and show.desk.begun == []

    play(refused, desk)


def test_it_names_what_is_left_out_and_why_where_pods_go_and_what_stops_it() -> None:
    async def look(show: Show) -> None:
        await asked(show)
        screen = show.app.screen
        assert isinstance(screen, ConfirmScreen) and screen.prepared is not None
        told = " ".join(line[0] if isinstance(line, tuple) else line for line in confirm_lines(screen.prepared))
        assert "Skipped   3 nodes: cordon only" in told and "blue-7: bare pod, several PDBs, PDB never allows" in told
        assert "pod-unmanaged" not in told
        assert "Placed    9 on spot-1" in told
        assert "no budget counts 6 pods" in told and "shop/mailer-" in told
        assert "a replacement is Pending for 10m0" in told and "more than 2 other nodes NotReady" in told
        assert "esc back, nothing is done" in show.text
        view = screen.prepared.view
        assert view is not None
        left_open = tuple(replace(target, cordon_only=False) for target in view.plan.targets)
        plan = replace(view.plan, policy=replace(view.plan.policy, cordon_skipped=False), targets=left_open)
        told = " ".join(map(str, confirm_lines(replace(screen.prepared, view=replace(view, plan=plan)))))
        assert "Skipped   3 nodes: not cordoned; evicted pods can be scheduled onto them" in told

    play(look)


@pytest.mark.long
@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
def test_leaving_from_it_begins_nothing(key: str) -> None:
    async def leave(show: Show) -> None:
        await asked(show)
        await show.types(WORDS)
        await show.press(key)

    desk = ScriptedDesk()
    play(leave, desk)
    assert desk.begun == []


@pytest.mark.long
def test_giving_back_says_what_it_will_and_will_not() -> None:
    live = ScriptedLive()

    async def back(show: Show) -> None:
        live.to(30)
        live.stops()
        await show.looks()
        await show.press("R")
        await show.sees(f"Type  {NAME} 2  and press enter")
        assert f"what they were before run {live.run}: blue-1, blue-2" in show.text and "move pods back" in show.text
        await show.press("enter")
        assert len(show.desk.begun) == 1
        await show.types(f"{NAME} 2")
        await show.press("enter")
        await show.until(lambda: len(show.desk.begun) == 2)
        await show.until(lambda: show.top == "RunScreen")
        assert show.stack == ["PlanScreen", "RunScreen"], "the run before is not below it"
        assert show.state.live.kind is RunKind.ROLLBACK
        assert "what is given back" in show.text and "why it waits" not in show.text
        show.desk.begun[-1].ends(RunSummaryView("2 of 2 nodes are as they were before"))
        await show.looks()
        assert "Summary" in show.text and "why it waits" not in show.text

    play_run(back, live, ScriptedDesk(ScriptedLive(kind=RunKind.ROLLBACK)))
