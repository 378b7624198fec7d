"""A run that is shown again: the screen of a run, with keys that move in its time."""

from __future__ import annotations

import shlex
from typing import ClassVar

from kubectl_eksdoc.tui.help import HelpScreen
from kubectl_eksdoc.tui.keymap import Keymap
from kubectl_eksdoc.tui.keys import Key, Page
from kubectl_eksdoc.tui.replay import words
from kubectl_eksdoc.tui.replay.keys import FIRST, JUMP_S, LIVE_KEYS, REPLAY_KEYS, replay_foot, why_not
from kubectl_eksdoc.tui.replay.live import ReplayedRun, ReplayState
from kubectl_eksdoc.tui.run.pages import LivePage
from kubectl_eksdoc.tui.run.screen import RunScreen
from kubectl_eksdoc.tui.run.words import Head

_LOOK_S = 0.25


class ReplayScreen(RunScreen):
    """Mutable: where in its time it is."""

    KEYS: ClassVar[tuple[Key, ...]] = (*REPLAY_KEYS, *LIVE_KEYS)
    FIRST: ClassVar[frozenset[str]] = FIRST

    def __init__(self, live: ReplayedRun, path: str) -> None:
        self._replayed = ReplayState(live)
        super().__init__(self._replayed, "", NoNextStep(), {})
        self._live = live
        self._path = path

    def on_mount(self) -> None:
        """Textual calls that of the class above as well."""
        self.set_interval(_LOOK_S, self._look)

    def _look(self) -> None:
        """What is at its end or stands still is as it was."""
        if self._replayed.take(self._live.look()) or self._replayed.replay.moves:
            self.show()

    def _moved_in_time(self) -> None:
        self._replayed.take(self._live.now())
        self.show()

    def head(self) -> Head:
        return words.head(self._replayed)

    def foot(self) -> str:
        return replay_foot(self._replayed, self.page)

    def why_not(self, key: Key) -> str:
        return why_not(key, self.page)

    def do_play(self) -> None:
        self._replayed.replay.play_or_pause()
        self._moved_in_time()

    def do_speed(self, steps: int) -> None:
        if self._replayed.replay.faster(steps):
            self._moved_in_time()
        else:
            self._tell(">: it goes no faster" if steps > 0 else "<: it goes no slower")

    def do_jump(self, direction: int) -> None:
        replay = self._replayed.replay
        replay.go_to(replay.at_s + direction * JUMP_S)
        self._moved_in_time()

    def do_wrong(self, direction: int) -> None:
        if self._replayed.replay.to_wrong(direction):
            self._moved_in_time()
        else:
            self._tell("]: nothing went wrong after this" if direction > 0 else "[: nothing went wrong before this")

    def do_moment(self, direction: int) -> None:
        if self._replayed.replay.step(direction):
            self._moved_in_time()
        else:
            self._tell(".: nothing happened after this" if direction > 0 else ",: nothing happened before this")

    def do_begin(self) -> None:
        self._replayed.replay.go_to(0.0)
        self._moved_in_time()

    def do_end(self) -> None:
        self._replayed.replay.go_to(self._replayed.recording.length_s)
        self._moved_in_time()

    def do_command(self) -> None:
        command = shlex.join(["kubectl", "eksdoc", "drain", "status", "--replay", self._path])
        self.app.copy_to_clipboard(command)
        self._tell(f"copied: {command}", 10)

    def do_help(self) -> None:
        """Without the keys that only say why they do nothing."""
        self.app.push_screen(HelpScreen(self.page, Keymap(REPLAY_KEYS)))

    def do_back(self) -> None:
        """Out of the log, a node, and then the screens: nothing is under way."""
        if self.page is Page.LOG:
            super().do_back()
        elif not self.query_one(LivePage).closes_node():
            self.app.exit(0)


class NoNextStep:
    """Nothing can be done with what is over long since."""

    def give_back(self, run: str) -> None:
        return

    def list_runs(self) -> None:
        return

    def go_on(self, run: str) -> None:
        return

    def give_back_when_over(self) -> None:
        return
