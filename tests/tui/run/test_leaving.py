"""No key leaves the screen of an active run, wherever it is pressed; after the run, the keys leave it."""

from __future__ import annotations

import asyncio

import pytest

from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.tui.run.pages import KEY_ISOLATION_S, LogPage
from tests.tui.pilots import main_screen
from tests.tui.run.scripted import ScriptedLive
from tests.tui.run.stage import Show, play_run
from tests.tui.typing_pilot import event_of

LEAVING = ("q", "escape", "ctrl+c", "ctrl+q")


@pytest.mark.long
def test_no_key_leaves_a_run_that_is_under_way() -> None:
    live = ScriptedLive()

    async def leave(show: Show) -> None:
        live.to(20)
        await show.looks()
        for key in LEAVING:
            await show.press(key)
            assert show.stack == ["PlanScreen", "RunScreen", "StopScreen"], key
            await show.press("enter", "enter")
            assert show.top == "StopScreen" and "The run continues. What next?" in show.text, key
            await show.press("escape")
            assert show.stack == ["PlanScreen", "RunScreen"], key
            await show.press("6", key)  # of the log it leads back first, or asks
            assert show.top == ("RunScreen" if key in ("q", "escape") else "StopScreen"), key
            if show.top == "StopScreen":
                await show.press("escape")
            await show.press("5")
            assert show.top == "RunScreen" and live.wishes == [] and show.app.is_running, key

    assert play_run(leave, live).return_value is None


@pytest.mark.long
def test_the_menu_says_how_the_run_stands() -> None:
    live = ScriptedLive()
    live.to(20)

    async def held(show: Show) -> None:
        live.stands(hold_reason="2 nodes are NotReady")
        live.happens(DrainEventKind.HELD, why="2 nodes are NotReady")
        await show.looks()
        await show.press("a")
        assert "The run is held. What next?" in show.text and "Held: 2 nodes are NotReady" in show.text
        await show.chooses("s", "a")
        assert "It is stopping already. What next?" in show.text

    play_run(held, live)


@pytest.mark.long
def test_asked_again_and_again_there_is_one_menu() -> None:
    async def insist(show: Show) -> None:
        for key in ("ctrl+c", "ctrl+q"):
            for _ in range(4):
                await show.press(key)
            assert show.stack == ["PlanScreen", "RunScreen", "StopScreen"], key
            await show.press("escape", "question_mark", key, key)
            assert show.stack.count("RunScreen") == 1 and show.stack.count("StopScreen") <= 1, key
            assert show.app.is_running
            while show.top != "RunScreen":
                await show.press("escape")

    play_run(insist)


@pytest.mark.long
def test_nor_is_the_app_left_from_the_plan_while_it_runs() -> None:
    live = ScriptedLive()

    async def leave(show: Show) -> None:
        for key in ("q", "ctrl+c", "ctrl+q"):
            await show.press("1")
            assert show.stack == ["PlanScreen"], key
            await show.press(key)
            assert show.stack == ["PlanScreen", "RunScreen", "StopScreen"], key
            await show.press("q")
            assert show.stack == ["PlanScreen", "RunScreen"] and show.app.is_running and live.wishes == [], key

    assert play_run(leave, live).return_value is None


@pytest.mark.long
def test_when_it_is_over_q_leads_to_the_plan_and_then_out() -> None:
    live = ScriptedLive()

    async def leave(show: Show) -> None:
        live.ends()
        await show.looks()
        await show.press("6", "q")
        assert show.stack == ["PlanScreen", "RunScreen"]
        await show.press("q")
        assert show.stack == ["PlanScreen"]
        await show.press("5")
        assert show.stack == ["PlanScreen", "RunScreen"], "it can be seen again"
        await show.press("escape", "q")

    assert play_run(leave, live).return_value == 0


@pytest.mark.parametrize("text", ["as", "qs", "assh", "RR", "nyes", "aX"])
def test_a_text_that_is_typed_blindly_opens_the_menu_and_chooses_nothing(text: str) -> None:
    live = ScriptedLive()

    async def blind(show: Show) -> None:
        live.to(20)
        await show.looks()
        show.types_at_once(text)
        await show.pilot.pause(1.5 * KEY_ISOLATION_S)
        assert show.top == "StopScreen" and (live.wishes, live.alone) == ([], [])
        assert "nothing was done: other keys" in show.told[-1]

    play_run(blind, live)


def test_nor_does_a_text_that_is_typed_while_the_menu_is_seen() -> None:
    live = ScriptedLive()

    async def blind(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("a")
        show.types_at_once("ssh", later_s=60.0)
        await show.pilot.pause(1.5 * KEY_ISOLATION_S)
        assert show.top == "StopScreen" and live.wishes == []

    play_run(blind, live)


def test_no_key_is_lost_that_comes_while_the_one_before_closes_the_screen() -> None:
    """The key may be anywhere on its way through the screen's widgets when the screen closes."""
    live = ScriptedLive()

    async def leave(show: Show) -> None:
        live.ends()
        await show.looks()
        for turns in range(12):
            show.app.post_message(event_of("q"))
            for _ in range(turns):
                await asyncio.sleep(0)
            show.app.post_message(event_of("2"))
            await show.pilot.pause()
            assert show.stack == ["PlanScreen"] and main_screen(show.app).page.value == "2", turns
            await show.press("1", "5")

    play_run(leave, live)


def test_what_is_typed_at_once_after_a_page_was_turned_is_looked_for_and_stops_nothing() -> None:
    live = ScriptedLive()

    async def looking(show: Show) -> None:
        live.to(20)
        await show.looks()
        for key in ("6", "slash", *"span", "space", *"aR"):
            while show.app.message_queue_size > 2:  # as few keys are queued as from a terminal
                await asyncio.sleep(0)
            show.app.post_message(event_of(key))
        await show.pilot.pause(0.2)
        log = show.app.screen.query_one(LogPage)
        assert show.top == "RunScreen" and log.search_text == "span aR" and live.wishes == []

    play_run(looking, live)
