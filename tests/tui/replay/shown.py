"""A recorded run on its screens under a pilot: two journals of the demo, served with faults, and a clock of the test's.

Both are of one run: ann began it, somebody paused it and ended it, and ben went on with it until its nodes were left
alone, since a fault refused evictions. `journal.jsonl` is what her machine kept, `events.jsonl` what ``-o json`` said.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache, partial
from pathlib import Path
from typing import Any

from kubectl_eksdoc.drain.run.replay import RunReplay, from_events, from_journal
from kubectl_eksdoc.host.journals import read_recording
from kubectl_eksdoc.model.journal import JournalEntries
from kubectl_eksdoc.tui.replay import ReplayApp, ReplayedRun, ReplayOptions, ReplayScreen
from tests.tui.pilots import NARROW, WIDE, Drives
from tests.tui.shared import SharedApp, with_own, with_shared

HERE = Path(__file__).parent
JOURNAL, EVENTS = HERE / "journal.jsonl", HERE / "events.jsonl"


class Clock:
    """Mutable: it stands still unless it is told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Shown:
    """Mutable: the screen, what keys do to it, and its time."""

    def __init__(self, pilot: Drives, clock: Clock) -> None:
        self.pilot = pilot
        self._clock = clock

    @property
    def screen(self) -> ReplayScreen:
        return next(each for each in self.pilot.app.screen_stack if isinstance(each, ReplayScreen))

    @property
    def at_s(self) -> float:
        return self.screen.state.at_s

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def wait(self, seconds: float) -> None:
        """So long in our time."""
        self._clock.now_s += seconds
        self.screen._poll()
        await self.pilot.pause()

    @property
    def lines(self) -> list[str]:
        strips = self.pilot.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def told(self) -> list[str]:
        """For a moment."""
        return [notification.message for notification in self.pilot.app._notifications]


@cache
def recording_of(path: Path) -> RunReplay:
    recorded = read_recording(str(path))
    found = from_journal(recorded) if isinstance(recorded, JournalEntries) else from_events(recorded)
    assert found is not None
    return found


Driven = Callable[[Shown], Coroutine[Any, Any, None]]


def show(
    driven: Driven, what: Path | RunReplay = JOURNAL, size: tuple[int, int] = WIDE, ascii: bool = False
) -> ReplayApp:
    """`driven` with a screen of its own, in an app that other tests had before."""
    recording = recording_of(what) if isinstance(what, Path) else what
    if size not in (WIDE, NARROW):
        clock = Clock()
        app = ReplayApp(ReplayOptions(recording, "run.jsonl", ascii=ascii), clock)
        return with_own(app, size, lambda pilot: driven(Shown(pilot, clock)))

    async def work(pilot: Drives) -> None:
        clock = Clock()
        await pilot.app.switch_screen(ReplayScreen(ReplayedRun(recording, clock), "run.jsonl"))
        await pilot.pause()
        await driven(Shown(pilot, clock))

    return with_shared(("replay", size, ascii), partial(_shared, size, ascii), work)


def _shared(size: tuple[int, int], ascii: bool) -> SharedApp[ReplayApp]:
    app = ReplayApp(ReplayOptions(recording_of(JOURNAL), "run.jsonl", ascii=ascii), Clock())

    async def reset(pilot: Drives) -> None:
        while not isinstance(app.screen, ReplayScreen):
            app.pop_screen()
        app.clear_notifications()
        await pilot.pause()

    return SharedApp(app, size, reset, reset)
