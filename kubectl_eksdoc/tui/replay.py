"""Replay of a recorded run on the screens of runs, with control over its time.

Belongs here: differences to an active run: keys that move in time, and values that are not known.
Never here: files, and building a recording from their contents (`drain.run.replay`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from time import monotonic
from typing import ClassVar

from kubectl_eksdoc.drain.command.screen_ports import RunKind, RunSummaryView, RunUpdate
from kubectl_eksdoc.drain.report import run_page as page
from kubectl_eksdoc.drain.run.events import WENT_WRONG
from kubectl_eksdoc.drain.run.history import PlannedNode, PodState
from kubectl_eksdoc.drain.run.loop import RunWish
from kubectl_eksdoc.drain.run.replay import Replay, ReplaySource, RunReplay
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Tone, counted

from .base_app import FramedApp
from .help import HelpScreen
from .keymap import Hint, KeyBinding, Keymap, ScreenPage, keys_of
from .run.pages import LivePage
from .run.screen import RUN_KEYS, RunScreen
from .run.state import RunState, ScreenStage
from .run.tables import RunHead, bar, log_line
from .words import FittingText, dropped

# The summary of a recorded run: its end as recorded, and its longest parts.


def outcome_of(recording: RunReplay) -> RunSummaryView:
    return RunSummaryView(page.ended(recording), tuple(page.figures(recording)), bad=not recording.whole)


# Options of a replay.


@frozen
class ShownRun:
    """A run to replay: `path` is its recording."""

    recording: RunReplay
    path: str
    ascii: bool = False
    plain: bool = False
    light: bool = False


# A recorded run as an active run, and its state: it advances at an adjustable speed.


_LONGEST_LOOK_S = 1.0
"""Maximum step of time: after a suspended terminal, the replay does not jump ahead."""

_UNKNOWN = {
    ReplaySource.JOURNAL: "Not known: what pods waited for, and when each was gone. A journal has neither.",
    ReplaySource.EVENTS: "Not known: what pods waited for, unless they were refused.",
}


class ReplayedRun:
    """A `screen_ports.ActiveRun`. It ignores requests. Mutable."""

    kind = RunKind.DRAIN
    view = None

    def __init__(self, recording: RunReplay, clock: Callable[[], float]) -> None:
        """`clock`: seconds since any moment."""
        self.replay = Replay(recording)
        self._recording = recording
        self._clock = clock
        self._looked_s = clock()
        self._outcome = outcome_of(recording)

    @property
    def run(self) -> str:
        return self._recording.run or "?"

    @property
    def aims(self) -> tuple[PlannedNode, ...]:
        return self._recording.aims

    @property
    def began_at(self) -> datetime:
        return self._recording.began_at

    @property
    def speed(self) -> float:
        return self.replay.speed

    def look(self) -> RunUpdate:
        """Advance the time, and return the update."""
        now_s = self._clock()
        self.replay.pass_by(min(max(now_s - self._looked_s, 0.0), _LONGEST_LOOK_S))
        self._looked_s = now_s
        return self.now()

    def now(self) -> RunUpdate:
        """The update at the current position, regardless of how it was reached."""
        news = self.replay.take()
        outcome = self._outcome if self.replay.at_end else None
        return RunUpdate(news.moments, self._recording.standing_at(self.replay.at_s), outcome, news.anew)

    def wish(self, wish: RunWish) -> None:
        """Ignored: the run is over."""

    def leave_alone(self, node: str) -> None:
        """Ignored: the run is over."""


class ReplayState(RunState):
    """The state of the run at the position of `replay`. Mutable."""

    def __init__(self, live: ReplayedRun) -> None:
        super().__init__(live)
        self.replay = live.replay

    @property
    def recording(self) -> RunReplay:
        return self.replay.recording

    @property
    def stage(self) -> ScreenStage:
        if self.outcome is not None or self.chronicle.stopped:
            return super().stage
        return ScreenStage.HELD if self.chronicle.held else ScreenStage.RUNNING

    @property
    def at_s(self) -> float:
        return self.replay.at_s

    @property
    def unknown(self) -> str:
        return "" if self.recording.standings else _UNKNOWN[self.recording.source]

    @property
    def knows_pods(self) -> bool:
        return False

    @property
    def knows_leaving(self) -> bool:
        return self.recording.source is ReplaySource.EVENTS

    @property
    def pods_gone(self) -> str:
        """``7 pods gone so far``; a journal only knows that for nodes that are empty."""
        planned = self.recording.planned
        gone = f"{counted(self.chronicle.gone, 'pod')} gone so far"
        if planned is not None:
            return f"{gone}, {planned.pods} planned"
        if self.recording.source is ReplaySource.EVENTS:
            return gone
        pods = [pod for node in self.chronicle.nodes.values() for pod in node.pods.values()]
        accepted = sum(pod.state in (PodState.LEAVING, PodState.GONE) for pod in pods)
        asked = f"{counted(len(pods), 'pod')} asked to go so far"
        return f"{asked}, {accepted} accepted, {self.chronicle.gone} surely gone"

    @property
    def nodes_done(self) -> str:
        """``2 of 5 nodes drained``."""
        return f"{self.chronicle.drained} of {counted(len(self.chronicle.nodes), 'node')} drained"

    def details(self, at: int) -> Sequence[tuple[str, str]]:
        return self.recording.details(at)


# The keys of a replay: they only move in time.


JUMP_S = 10.0

_AS_LIVE = ("run-follow", "run-level", "run-filter", "run-live", "run-log", "run-help", "run-command", "run-html")

_OWN = keys_of("replay")
REPLAY_KEYS = (*_OWN[:-1], *(key for key in RUN_KEYS if key.id in _AS_LIVE), _OWN[-1])

LIVE_KEYS = tuple(key for key in RUN_KEYS if key not in REPLAY_KEYS and key.action not in ("pause", "hold", "back"))
"""These keys say why they have no effect here."""

FIRST = frozenset(("ten-back", "ten-on", "begin", "end"))
"""Key names with priority: otherwise tables would scroll with them."""

_OVER = {
    "plan": "a replay has no plan: only what the run did was written down",
    "ticket": "a replay has no markdown: drain run -o markdown makes it, and drain status tells what is left",
    "save": "a replay has no markdown: drain run -o markdown makes it, and drain status tells what is left",
}
_NOTHING = "this shows a run again: nothing can be begun, stopped or given back from here"


def why_not(key: KeyBinding, page: ScreenPage) -> str:
    """One clause; "" if the key has its effect."""
    if key not in REPLAY_KEYS:
        return _OVER.get(key.action, _NOTHING)
    return key.elsewhere(page)


def replay_foot(state: ReplayState, page: ScreenPage) -> tuple[Hint, ...]:
    """``space stand still  < > speed``: the most useful first."""
    play = "play again" if state.replay.at_end else "play" if state.replay.paused else "stand still"
    parts = [("space", play), ("< >", "speed"), ("[ ]", "went wrong"), (", .", "moment")]
    log = [("v", "all, or what went wrong"), ("/", "look for"), ("enter", "whole"), ("5", "nodes")]
    more = [("?", "help"), ("q", "leave"), ("left right", "10 s"), ("0 $", "ends")]
    return tuple(Hint(*each) for each in (*parts, *(log if page is ScreenPage.LOG else [("6", "log")]), *more))


# The head of a replay: the position in time, progress at that time, and the last failure.


_BAR = 16
_FROM = {ReplaySource.JOURNAL: "by its journal", ReplaySource.EVENTS: "by its events"}


def head(state: ReplayState) -> RunHead:
    said, tone = _notice(state)
    return RunHead(_identity(state), _line(state), FittingText(said, tone=tone), (FittingText(_beside(state)),))


def _identity(state: ReplayState) -> tuple[FittingText, ...]:
    """``eksdoc  REPLAY 5x  1m55s of 4m47s  run 7f3a, begun 2026-11-20 09:00:00Z by ann@host, by its journal``."""
    replay, recording = state.replay, state.recording
    how = "ENDED" if replay.at_end else "STANDS STILL" if replay.paused else "RUNS"
    where = f"{duration(replay.at_s)} of {duration(recording.length_s)}"
    by = f" by {recording.by}" if recording.by else ""
    begun = f"begun {recording.began_at:%Y-%m-%d %H:%M:%S}Z{by}"
    run = f"run {state.live.run}"
    return (
        FittingText("eksdoc", ((2, ""),), Tone.TITLE),
        FittingText(f"REPLAY {how} {replay.speed:g}x", tone=Tone.TITLE),
        FittingText(where, tone=Tone.TITLE),
        FittingText(f"{run}, {begun}, {_FROM[recording.source]}", ((4, f"{run}, {begun}"), (3, run), (1, ""))),
    )


def _line(state: ReplayState) -> tuple[FittingText, ...]:
    """``▇▇▇▇───  2 of 5 nodes drained · 7 pods gone so far, 37 planned · 3 refusals``: the bar shows the time."""
    recording = state.recording
    done = bar(round(state.replay.at_s), max(round(recording.length_s), 1), _BAR)
    nodes, gone, refusals = state.nodes_done, state.pods_gone, state.chronicle.refusals
    return (
        dropped(done[:_BAR], 4),
        FittingText(nodes, ((1, nodes.removesuffix(" drained")),)),
        FittingText(gone, ((2, gone.partition(", ")[2] or gone),)),
        FittingText(counted(refusals, "refusal") if refusals else ""),
    )


def _notice(state: ReplayState) -> tuple[str, Tone | None]:
    """The end of the run, else why no requests are sent, else the last failure."""
    chronicle = state.chronicle
    if state.outcome is not None:
        sign, tone = state.outcome.sign
        return f"{sign} {state.outcome.said}", tone
    if chronicle.stopped or chronicle.held:
        held = (state.standing.held if state.standing is not None else "") or chronicle.held
        why = f"stopped: {chronicle.stopped}" if chronicle.stopped else f"held: {held}"
        return f"! {why}", Tone.WARN
    wrong = next((moment for moment in reversed(chronicle.moments) if moment.what in WENT_WRONG), None)
    if state.standing is not None and state.standing.waits:
        return f"! {state.standing.waits[0].pod} waits: {state.standing.waits[0].why}", Tone.WARN
    if wrong is None:
        return "nothing went wrong so far", None
    return f"! last: {' '.join(log_line(wrong, state.live.began_at))}", Tone.WARN


def _beside(state: ReplayState) -> str:
    """The planned duration, and whether the file is complete."""
    recording, parts = state.recording, []
    planned, dropped = recording.planned, len(recording.dropped)
    if planned is not None and planned.p50_s is not None:
        p95 = f" (p95 {duration(planned.p95_s)})" if planned.p95_s is not None else ""
        parts.append(f"planned about {duration(planned.p50_s)}{p95}")
    if dropped:
        parts.append(f"! {counted(dropped, 'thing')} in the file could not be taken into account: its end says which")
    return " · ".join(parts)


# The screen of a replay: the screen of a run, with keys that move in time.


_LOOK_S = 0.25


class ReplayScreen(RunScreen):
    """Mutable: the position in time."""

    KEYS: ClassVar[tuple[KeyBinding, ...]] = (*REPLAY_KEYS, *LIVE_KEYS)
    FIRST: ClassVar[frozenset[str]] = FIRST

    def __init__(self, live: ReplayedRun, path: str) -> None:
        self._replayed = ReplayState(live)
        super().__init__(self._replayed, "", None, {})
        self._live = live
        self._path = path

    def on_mount(self) -> None:
        """Textual also calls `on_mount` of the base class."""
        self.set_interval(_LOOK_S, self._look)

    def _look(self) -> None:
        """At the end or while paused, nothing changes."""
        if self._replayed.take(self._live.look()) or self._replayed.replay.moves:
            self.show()

    def _moved_in_time(self) -> None:
        self._replayed.take(self._live.now())
        self.show()

    def head(self) -> RunHead:
        return head(self._replayed)

    def foot(self) -> tuple[Hint, ...]:
        return replay_foot(self._replayed, self.page)

    def why_not(self, key: KeyBinding) -> str:
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

    def do_html(self) -> None:
        from kubectl_eksdoc.drain.report.run_page import page

        recording = self._replayed.recording
        self._save("html", recording.run or "replay", page(recording, self.look))

    def do_help(self) -> None:
        """Without the keys that have no effect here."""
        self.app.push_screen(HelpScreen(self.page, Keymap(REPLAY_KEYS)))

    def do_back(self) -> None:
        """Leave the log, then a node, then the application: no run is active."""
        if self.page is ScreenPage.LOG:
            super().do_back()
        elif not self.query_one(LivePage).closes_node():
            self.app.exit(0)


# The application of ``kubectl eksdoc --replay``: one screen, without a cluster.


class ReplayApp(FramedApp):
    """`options` defines what is shown."""

    def __init__(self, again: ShownRun, clock: Callable[[], float] = monotonic) -> None:
        """`clock`: seconds since any moment."""
        super().__init__(ascii=again.ascii, plain=again.plain, light=again.light)
        self._path = again.path
        self._live = ReplayedRun(again.recording, clock)

    def on_mount(self) -> None:
        self.leave_when_left()
        self.push_screen(ReplayScreen(self._live, self._path))


def show_again(again: ShownRun) -> int:
    """Run until the user leaves; returns the exit code."""
    return ReplayApp(again).run() or 0
