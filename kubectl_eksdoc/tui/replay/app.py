"""The application of ``kubectl eksdoc --replay``: one screen, and no cluster."""

from __future__ import annotations

from kubectl_eksdoc.tui.framed import Framed
from kubectl_eksdoc.tui.opening import Again
from kubectl_eksdoc.tui.replay.live import ReplayedRun
from kubectl_eksdoc.tui.replay.screen import ReplayScreen


class ReplayApp(Framed):
    """`again` says what is shown."""

    def __init__(self, again: Again) -> None:
        super().__init__(ascii=again.ascii, plain=again.plain, light=again.light)
        self.again = again

    def on_mount(self) -> None:
        self.tidy_when_told_to_stop()
        self.push_screen(ReplayScreen(ReplayedRun(self.again.recording), self.again.path))
