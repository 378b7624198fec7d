"""Show a recorded run on its screens under a pilot: two journals of the demo, served with faults, and a test's clock.

Both are of one run: ann started it, another user paused and stopped it, and ben resumed it until its nodes were left
alone, because a fault refused evictions. `journal.jsonl` is the file of ann's machine, `events.jsonl` the output of
``-o json``.
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
    """A clock that stands still unless a test moves it. Mutable."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Shown:
    """The screen, methods that press its keys, and its clock. Mutable."""

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
        """Move the screen's clock by that many seconds."""
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
        """The notifications."""
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
    """Call `driven` with a new screen, in an app that is shared with earlier tests."""
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
