"""Golden files of the pages of a run in ASCII, character by character, for a scripted drain of the built-in cluster.
`test_every_screen` has the same pages in their usual form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.rehearsed import rehearsed_demo
from tests.report.golden import check_golden
from tests.tui.pilots import NARROW
from tests.tui.run.scripted import ScriptedLive
from tests.tui.run.stage import Show, play_run

GOLDEN = Path(__file__).parents[1] / "golden" / "run-ascii.txt"

IN_THE_MIDDLE_S = 62.06
"""The second of three waves is emptied, and a pod waits for its budget."""

Scene = Callable[[Show, ScriptedLive], Awaitable[None]]


def a_run() -> ScriptedLive:
    return ScriptedLive(rehearsed_demo(2))


async def running(show: Show, live: ScriptedLive) -> None:
    for at_s in range(0, int(IN_THE_MIDDLE_S), 10):
        live.to(at_s)
        await show.looks()
    live.to(IN_THE_MIDDLE_S)
    await show.looks()
    await show.press("j", "j", "j")


async def paused(show: Show, live: ScriptedLive) -> None:
    await running(show, live)
    await show.press("space")
    live.stands(paused=True, hold_reason="ann@laptop paused it", remaining_s=None)
    await show.looks()


async def log(show: Show, live: ScriptedLive) -> None:
    await running(show, live)
    await show.press("6")


async def menu(show: Show, live: ScriptedLive) -> None:
    await running(show, live)
    await show.press("a")


async def stopped(show: Show, live: ScriptedLive) -> None:
    await running(show, live)
    live.stops()
    await show.looks()


async def result(show: Show, live: ScriptedLive) -> None:
    await running(show, live)
    live.ends()
    await show.looks()


async def done(show: Show, live: ScriptedLive) -> None:
    await result(show, live)
    await show.press("6")


SCENES: dict[str, Scene] = {
    "run": running,
    "run-paused": paused,
    "run-log": log,
    "run-menu": menu,
    "run-stopped": stopped,
    "run-result": result,
    "run-done": done,
}


def test_a_run_looks_like_this_in_ascii() -> None:
    live = a_run()

    async def look(show: Show) -> None:
        await running(show, live)
        show.app.clear_notifications()
        await show.pilot.pause()
        assert show.text.isascii()
        check_golden(GOLDEN, "\n".join(line.rstrip() for line in show.text.splitlines()) + "\n")

    play_run(look, live, size=NARROW, ascii=True)
