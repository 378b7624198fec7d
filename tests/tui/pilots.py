"""Run the screens under a Textual pilot over the built-in cluster; tests read the visible text line by line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime, timezone
from functools import partial
from typing import Any

from textual.pilot import Pilot

from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP, DemoReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.tui import base_app as framed
from kubectl_eksdoc.tui.app import EksdocApp
from kubectl_eksdoc.tui.keymap import ScreenPage, ScreenPlace
from kubectl_eksdoc.tui.line_table import LineTable
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.opening import Opening, Progress
from kubectl_eksdoc.tui.pages import PageOf
from kubectl_eksdoc.tui.panel import AskLine
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables.pods import EMPTY_SHEET
from tests.tui.shared import SharedApp, Work, with_own, with_shared

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)

WIDE, NARROW = (120, 36), (80, 24)
Drives = Pilot[int]


def read_demo(progress: Progress) -> Cluster:
    return DemoReader().read(kinds.ALL)


def a_demo(
    read: Callable[[Progress], Cluster] = read_demo,
    targeting: Targeting = Targeting(nodegroups=(DEFAULT_NODEGROUP,)),
    **more: Any,
) -> Opening:
    return Opening(read, lambda: targeting, lambda cluster: ("--demo",), lambda: NOW, **more)


Driven = Callable[[Drives, PlanScreen], Coroutine[Any, Any, None]]


def drive(
    driven: Driven,
    opening: Opening | None = None,
    size: tuple[int, int] = WIDE,
    ready: bool = True,
    ascii: bool = False,
) -> EksdocApp:
    """Call `driven` with the pilot and the screen once the marked nodes are planned, or at once (not `ready`).

    The default `opening` is the demo. The app is usually shared with earlier tests.
    """
    if opening is None and ready and size in (WIDE, NARROW):
        shared = partial(_shared, size, ascii)
        return with_shared(("plan", size, ascii), shared, lambda pilot: driven(pilot, main_screen(pilot.app)))

    async def work(pilot: Drives) -> None:
        if ready:
            await planned(pilot)
        await driven(pilot, main_screen(pilot.app))

    return with_opening(opening or a_demo(ascii=ascii), size, work)


def with_opening(opening: Opening, size: tuple[int, int], work: Work) -> EksdocApp:
    """Run `work` on a fresh screen that has read nothing, as after a change of the context."""
    if size not in (WIDE, NARROW) or opening.plain or opening.light:
        return with_own(EksdocApp(opening), size, work)

    async def begin(pilot: Pilot[Any]) -> None:
        await planned(pilot)

    async def reset(pilot: Pilot[Any]) -> None:
        app = pilot.app
        app._close_reader()
        forget_run(app)
        while not isinstance(app.screen, PlanScreen):
            app.pop_screen()
        await _tidy(pilot, size)

    async def anew(pilot: Pilot[Any]) -> None:
        app = pilot.app
        app._close_reader()
        app.opening, app._shows_last_view = opening, False
        await app.switch_screen(PlanScreen(opening, app.start_read, lambda: app.followed_run))
        app.call_after_refresh(app.start_read)
        await pilot.pause()
        await work(pilot)

    key = ("opening", size, opening.ascii)
    return with_shared(key, lambda: SharedApp(EksdocApp(a_demo(ascii=opening.ascii)), size, begin, reset), anew)


def forget_run(app: EksdocApp) -> None:
    if app._followed_run is not None and app._followed_run._timer is not None:
        app._followed_run._timer.stop()
    app._followed_run = None


async def _tidy(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    app = pilot.app
    if app.size != size:
        await pilot.resize_terminal(*size)
    app.theme = framed.DARK
    app.clear_notifications()
    app._clipboard = ""


def _shared(size: tuple[int, int], ascii: bool) -> SharedApp[EksdocApp]:
    first: list[Model] = []

    async def begin(pilot: Drives) -> None:
        await planned(pilot)
        first.append(main_screen(pilot.app).model)

    async def reset(pilot: Drives) -> None:
        await as_first(pilot, size, first[0])

    return SharedApp(EksdocApp(a_demo(ascii=ascii)), size, begin, reset)


async def as_first(pilot: Pilot[Any], size: tuple[int, int], model: Model) -> None:
    """Reset the app to its first state: that size, the nodes page, that model, every cursor on the first row."""
    app = pilot.app
    screen = main_screen(app)
    while app.screen is not screen:
        app.pop_screen()
    await _tidy(pilot, size)
    screen._is_marking, screen._range_from = False, None
    for line in screen.query(AskLine):
        line.display = False
    for table in screen.query(LineTable):
        table._scrolled_columns = table._cursor_row = 0
        table.show(EMPTY_SHEET)
    for page in screen.query(PageOf):
        page._shown_inputs = ()
    screen.model = model
    screen._show_place(ScreenPlace(ScreenPage.PLAN))
    screen.back_stack.clear()
    screen.forward_stack.clear()
    await pilot.pause()


def main_screen(app: Any) -> PlanScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, PlanScreen))


async def planned(pilot: Pilot[Any]) -> None:
    """Wait until the cluster is read or reading failed, and no plan is being computed."""
    for _ in range(2400):
        model = main_screen(pilot.app).model
        if (model.facts is not None or model.error) and (not model.is_stale or model.error):
            return
        await asyncio.sleep(0.005)
        await pilot.pause()
    raise AssertionError("there is still no plan")


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await planned(pilot)


def lines(app: EksdocApp) -> list[str]:
    """The visible text, without colours."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def page_text(pilot: Drives) -> str:
    return "\n".join(lines(pilot.app))


def notes_of(pilot: Drives) -> list[str]:
    """The notifications, the latest last."""
    return [each.message for each in pilot.app._notifications]
