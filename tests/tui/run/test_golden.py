"""What the pages of a run look like, sign by sign: of a drain of the built-in cluster that goes by a script;
some in colour as well, as pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.examples import one_in
from tests.rehearsed import rehearsed_demo
from tests.render.test_golden import check_golden
from tests.tui.pictures import DOCS, PICTURES, check_picture
from tests.tui.pilots import NARROW, WIDE
from tests.tui.run.scripted import NAME, ScriptedLive
from tests.tui.run.stage import Show, play, play_run

GOLDEN = Path(__file__).parents[1] / "golden"

IN_THE_MIDDLE_S = 62.06
"""The second of three waves is emptied, and a pod waits for its budget."""

SIZES = {"120x36": (WIDE, False), "80x24": (NARROW, False), "ascii": (NARROW, True)}

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
    live.stands(paused=True, held="ann@laptop paused it", left_s=None)
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


SCENES: dict[str, tuple[Scene, tuple[str, ...]]] = {
    "run": (running, ("120x36", "80x24", "ascii")),
    "run-paused": (paused, ("120x36", "80x24")),
    "run-log": (log, ("80x24",)),
    "run-menu": (menu, ("80x24", "ascii")),
    "run-stopped": (stopped, ("120x36",)),
    "run-result": (result, ("120x36", "80x24")),
    "run-done": (done, ("120x36", "80x24")),
}


PICTURED = {
    "run-120x36": DOCS / "run.svg",
    "run-80x24": PICTURES / "run-80x24.svg",
    "run-ascii": PICTURES / "run-ascii.svg",
    "run-menu-80x24": PICTURES / "run-menu.svg",
    **{f"{page}-120x36": PICTURES / f"{page}.svg" for page in ("run-paused", "run-stopped", "run-done", "run-confirm")},
}


async def check_page(page: str, name: str, show: Show) -> None:
    seen = await still(show)
    assert name != "ascii" or seen.isascii()
    check_golden(GOLDEN / f"{page}-{name}.txt", seen + "\n")
    if f"{page}-{name}" in PICTURED:
        check_picture(PICTURED[f"{page}-{name}"], show.app)


QUICK = {("run", "120x36"), ("run-menu", "80x24")}
"""One of each size; the long tests have the others."""
CASES = [
    pytest.param(page, name, marks=[] if (page, name) in QUICK else [pytest.mark.long])
    for page, (_, names) in SCENES.items()
    for name in names
]


@pytest.mark.parametrize(("page", "name"), one_in(2, CASES))
def test_every_page_of_a_run_looks_like_this(page: str, name: str) -> None:
    size, ascii = SIZES[name]
    live = a_run()

    async def look(show: Show) -> None:
        await SCENES[page][0](show, live)
        await check_page(page, name, show)

    play_run(look, live, size=size, ascii=ascii)


@pytest.mark.parametrize("name", one_in(3, ["120x36", "80x24", "ascii"]))
@pytest.mark.long
def test_and_so_does_what_must_be_typed(name: str) -> None:
    size, ascii = SIZES[name]

    async def look(show: Show) -> None:
        await show.press("r")
        await show.sees(f"{NAME} 5")
        await check_page("run-confirm", name, show)

    play(look, size=size, ascii=ascii)


async def still(show: Show) -> str:
    """What is seen when nothing is told for a moment any more, and no cursor blinks."""
    show.app.clear_notifications()
    await show.pilot.pause()
    return "\n".join(line.rstrip() for line in show.text.splitlines())
