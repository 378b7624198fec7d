"""The application of ``kubectl eksdoc --replay``: one screen, and no cluster."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from kubectl_eksdoc.tui.framed import Framed
from kubectl_eksdoc.tui.replay.again import Again
from kubectl_eksdoc.tui.replay.live import ReplayedRun
from kubectl_eksdoc.tui.replay.screen import ReplayScreen


class ReplayApp(Framed):
    """`again` says what is shown."""

    def __init__(self, again: Again, clock: Callable[[], float] = monotonic) -> None:
        """`clock`: seconds from anywhere."""
        super().__init__(ascii=again.ascii, plain=again.plain, light=again.light)
        self._path = again.path
        self._live = ReplayedRun(again.recording, clock)

    def on_mount(self) -> None:
        self.leave_when_left()
        self.push_screen(ReplayScreen(self._live, self._path))
