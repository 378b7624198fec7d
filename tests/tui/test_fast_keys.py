"""Keys that arrive faster than the screen is drawn: each has the same effect as if the user had waited."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from textual.events import Key

from kubectl_eksdoc.tui.base_app import MAX_QUEUED_KEYS, TerminalDriver
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.pages import PageOf
from kubectl_eksdoc.tui.rights import RightsScreen
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.examples import one_in
from tests.tui.live_clusters import LiveCluster
from tests.tui.pilots import WIDE, Drives, drive, notes_of, planned, press
from tests.tui.run.scripted import ScriptedDesk
from tests.tui.shared import with_own
from tests.tui.test_paint import Terminal, by_textual
from tests.tui.typing_pilot import event_of


def burst(pilot: Drives, keys: str) -> None:
    for key in keys:
        name = {" ": "space", "/": "slash"}.get(key, key)
        pilot.app.post_message(Key(name, key))


@pytest.mark.parametrize("keys", one_in(3, ["jmo", "mg", "mojm", "jjmgmn", "zmi", "mzz"]))
def test_a_burst_marks_what_slow_typing_marks(keys: str) -> None:
    seen: list[tuple[frozenset[str], str | None]] = []

    async def slowly(pilot: Drives, screen: PlanScreen) -> None:
        for key in keys:
            burst(pilot, key)
            await pilot.pause()
        await planned(pilot)
        seen.append((screen.model.choice.plan_input.marked, screen._cursor_node))

    async def at_once(pilot: Drives, screen: PlanScreen) -> None:
        burst(pilot, keys)
        await pilot.pause(0.1)
        await planned(pilot)
        seen.append((screen.model.choice.plan_input.marked, screen._cursor_node))

    drive(slowly)
    drive(at_once)
    assert seen[0] == seen[1]


@pytest.mark.long
def test_the_key_behind_m_never_does_what_it_does_alone_while_nothing_is_read() -> None:
    cluster = LiveCluster()
    cluster.may_answer.clear()

    async def too_early(pilot: Drives, screen: PlanScreen) -> None:
        burst(pilot, "mor")
        await pilot.pause(0.1)
        assert pilot.app.screen is screen
        told = notes_of(pilot)
        assert told == ["m o: nothing is read yet", "r: nothing is read yet"]
        burst(pilot, "m")
        await pilot.pause(0.1)
        cluster.may_answer.set()
        await planned(pilot)
        burst(pilot, "o")
        await pilot.pause(0.1)
        assert pilot.app.screen is screen and len(screen.model.choice.plan_input.marked) == 9

    opening = replace(cluster.opening(), run_controller=ScriptedDesk())
    drive(too_early, opening, ready=False)


def test_what_is_deleted_is_what_was_typed_before_it() -> None:
    async def typing(pilot: Drives, screen: PlanScreen) -> None:
        burst(pilot, "/spxx")
        for _ in "xx":
            pilot.app.post_message(Key("backspace", "\x7f"))
        burst(pilot, "ot")
        await pilot.pause(0.1)
        assert screen.model.filter == "spot"

    drive(typing)


def test_the_screen_is_painted_while_keys_are_still_waiting() -> None:
    waiting: list[int] = []

    async def at_once(pilot: Drives, screen: PlanScreen) -> None:
        app = pilot.app
        screen.screen_layout_refresh_signal.subscribe(screen, lambda _: waiting.append(app.message_queue_size))
        for _ in range(20):  # a fast machine may be through with one burst before it paints
            burst(pilot, "21" * 150)
            while app.message_queue_size:
                await asyncio.sleep(0.01)
            if sum(keys > 0 for keys in waiting) >= 2:
                break
        screen.screen_layout_refresh_signal.unsubscribe(screen)

    drive(at_once)
    assert sum(keys > 0 for keys in waiting) >= 2


def test_keys_before_the_last_are_not_painted_one_by_one_and_the_last_is() -> None:
    app = Terminal(WIDE)

    async def at_once(pilot: Drives) -> None:
        await planned(pilot)
        for _ in range(2):
            frames = app.frames
            burst(pilot, "31" * 20)
            await pilot.pause(0.1)
            assert frames < app.frames < frames + 40
            assert app.cells == by_textual(app.screen)

    with_own(app, WIDE, at_once)


class Slow:
    """An app that handles one key after the other, with a queue of waiting keys. Mutable."""

    def __init__(self) -> None:
        self.waiting: list[str] = []

    @property
    def message_queue_size(self) -> int:
        return len(self.waiting)

    async def _post_message(self, key: Key) -> bool:
        self.waiting.append(key.key)
        return True


def a_driver(app: Slow) -> TerminalDriver:
    driver: Any = TerminalDriver.__new__(TerminalDriver)
    driver._app, driver._loop, driver._pending_messages = app, asyncio.get_running_loop(), []
    driver.exit_event = threading.Event()
    return driver


def keys(count: int) -> list[Key]:
    return [Key(f"{number}", None) for number in range(count)]


def test_few_keys_wait_in_the_app_and_none_is_lost_or_overtaken() -> None:
    async def hundreds() -> None:
        app, came, most = Slow(), [], 0
        driver, sent = a_driver(app), keys(100)
        handing = asyncio.create_task(asyncio.to_thread(lambda: [*map(driver.send_message, sent)]))
        while len(came) < len(sent) and not (handing.done() and not app.waiting):
            await asyncio.sleep(0)
            most = max(most, app.message_queue_size)
            if app.waiting:
                came.append(app.waiting.pop(0))
        await handing
        assert came == [key.key for key in sent] and most <= MAX_QUEUED_KEYS

    asyncio.run(hundreds())


def test_what_waits_in_the_terminal_holds_up_no_exit() -> None:
    async def leaving() -> None:
        app = Slow()
        driver = a_driver(app)
        handing = asyncio.create_task(asyncio.to_thread(lambda: [*map(driver.send_message, keys(100))]))
        while app.message_queue_size < MAX_QUEUED_KEYS and not handing.done():
            await asyncio.sleep(0)
        driver.exit_event.set()
        await handing

    asyncio.run(leaving())


def test_turning_pages_back_makes_no_page_anew() -> None:
    async def there_and_back(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "2", "1", "2")
        sheets = [page.table.sheet for page in screen.query(PageOf)]
        await press(pilot, "1", "2", "1")
        assert all(page.table.sheet is sheet for page, sheet in zip(screen.query(PageOf), sheets, strict=True))
        await press(pilot, "space")
        assert screen._page_widget(ScreenPage.PLAN).table.sheet is not sheets[0]

    drive(there_and_back)


async def at_once(pilot: Drives, *keys: str) -> None:
    for key in keys:
        pilot.app.post_message(event_of(key))
    await pilot.pause(0.2)


def test_the_key_behind_the_one_that_opens_a_screen_is_for_that_screen() -> None:
    """A former bug: q left the screens with a traceback, and 2 turned the page below."""

    async def rights(pilot: Drives, screen: PlanScreen) -> None:
        await at_once(pilot, "exclamation_mark", "q")
        assert pilot.app.screen is screen and pilot.app.is_running
        await at_once(pilot, "exclamation_mark", "2")
        assert isinstance(pilot.app.screen, RightsScreen) and screen.page is ScreenPage.PLAN
        await at_once(pilot, "q")

    drive(rights)


def test_a_key_that_is_bound_to_nothing_does_nothing_on_the_screen_that_the_next_one_opens() -> None:
    """A former bug: the arrow keys turned a knob of the dialog that opened after them."""

    async def knobs(pilot: Drives, screen: PlanScreen) -> None:
        before = screen.model.choice
        await at_once(pilot, "4", "tab", "left", "left", "o")
        assert screen.model.choice == before
        await press(pilot, "escape")

    drive(knobs)


def test_a_page_down_behind_the_key_that_shows_the_table_goes_as_far_as_alone() -> None:
    async def down(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "g", "ctrl+f")
        alone = screen._cursor_node
        await press(pilot, "g")
        assert screen._cursor_node != alone
        await at_once(pilot, "3", "1", "ctrl+f")
        assert screen._cursor_node == alone

    drive(down)
