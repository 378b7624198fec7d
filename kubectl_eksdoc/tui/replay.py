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
from kubectl_eksdoc.drain.run.events import PROBLEM_EVENTS
from kubectl_eksdoc.drain.run.history import PlannedNode, PodState
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.drain.run.replay import Replay, ReplaySource, RunReplay
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import Tone, pluralize

from .base_app import FramedApp
from .help import HelpScreen
from .keymap import Hint, KeyBinding, Keymap, ScreenPage, load_keys
from .run.pages import LivePage
from .run.screen import RUN_KEYS, RunScreen
from .run.state import RunState, ScreenStage
from .run.tables import RunHead, log_columns, progress_bar
from .words import FittingText, droppable

# The summary of a recorded run: its end as recorded, and its longest parts.


def summary_of(recording: RunReplay) -> RunSummaryView:
    return RunSummaryView(
        page.end_text(recording), tuple(page.figures(recording)), has_failed=not recording.is_complete
    )


# Options of a replay.


@frozen
class ReplayOptions:
    """A run to replay: `path` is its recording."""

    recording: RunReplay
    path: str
    ascii: bool = False
    plain: bool = False
    light: bool = False


# A recorded run as an active run, and its state: it advances at an adjustable speed.


_MAX_STEP_S = 1.0
"""Maximum step of time: after a suspended terminal, the replay does not jump ahead."""

_UNKNOWN_TEXTS = {
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
        self._last_look_s = clock()
        self._outcome = summary_of(recording)

    @property
    def run(self) -> str:
        return self._recording.run or "?"

    @property
    def planned_nodes(self) -> tuple[PlannedNode, ...]:
        return self._recording.planned_nodes

    @property
    def started_at(self) -> datetime:
        return self._recording.started_at

    @property
    def speed(self) -> float:
        return self.replay.speed

    def take_update(self) -> RunUpdate:
        """Advance the time, and return the update."""
        now_s = self._clock()
        self.replay.advance(min(max(now_s - self._last_look_s, 0.0), _MAX_STEP_S))
        self._last_look_s = now_s
        return self.current_update()

    def current_update(self) -> RunUpdate:
        """The update at the current position, regardless of how it was reached."""
        taken = self.replay.next_update()
        outcome = self._outcome if self.replay.at_end else None
        return RunUpdate(taken.events, self._recording.progress_at(self.replay.at_s), outcome, taken.restarted)

    def submit(self, request: RunRequest) -> None:
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
        if self.outcome is not None or self.history.stop_reason:
            return super().stage
        return ScreenStage.HELD if self.history.hold_reason else ScreenStage.RUNNING

    @property
    def at_s(self) -> float:
        return self.replay.at_s

    @property
    def unknown_text(self) -> str:
        return "" if self.recording.progress_records else _UNKNOWN_TEXTS[self.recording.source]

    @property
    def knows_pods(self) -> bool:
        return False

    @property
    def knows_terminating(self) -> bool:
        return self.recording.source is ReplaySource.EVENTS

    @property
    def pods_gone_text(self) -> str:
        """``7 pods gone so far``; a journal only knows that for nodes that are empty."""
        planned = self.recording.plan_figures
        gone_text = f"{pluralize(self.history.gone, 'pod')} gone so far"
        if planned is not None:
            return f"{gone_text}, {planned.pods} planned"
        if self.recording.source is ReplaySource.EVENTS:
            return gone_text
        pods = [pod for node in self.history.nodes.values() for pod in node.pods.values()]
        accepted = sum(pod.state in (PodState.STOPPING, PodState.GONE) for pod in pods)
        requested_text = f"{pluralize(len(pods), 'pod')} asked to go so far"
        return f"{requested_text}, {accepted} accepted, {self.history.gone} surely gone"

    @property
    def nodes_drained_text(self) -> str:
        """``2 of 5 nodes drained``."""
        return f"{self.history.drained} of {pluralize(len(self.history.nodes), 'node')} drained"

    def details(self, index: int) -> Sequence[tuple[str, str]]:
        return self.recording.details(index)


# The keys of a replay: they only move in time.


JUMP_S = 10.0

_SHARED_KEYS = ("run-follow", "run-level", "run-filter", "run-live", "run-log", "run-help", "run-command", "run-html")

_REPLAY_ONLY_KEYS = load_keys("replay")
REPLAY_KEYS = (*_REPLAY_ONLY_KEYS[:-1], *(key for key in RUN_KEYS if key.id in _SHARED_KEYS), _REPLAY_ONLY_KEYS[-1])

LIVE_KEYS = tuple(key for key in RUN_KEYS if key not in REPLAY_KEYS and key.action not in ("pause", "hold", "back"))
"""These keys say why they have no effect here."""

PRIORITY_KEYS = frozenset(("ten-back", "ten-on", "begin", "end"))
"""Key names with priority: otherwise tables would scroll with them."""

_UNAVAILABLE_REASONS = {
    "plan": "a replay has no plan: only what the run did was written down",
    "ticket": "a replay has no markdown: drain run -o markdown makes it, and drain status tells what is left",
    "save": "a replay has no markdown: drain run -o markdown makes it, and drain status tells what is left",
}
_DEFAULT_REASON = "this shows a run again: nothing can be begun, stopped or given back from here"


def unavailable_reason(key: KeyBinding, page: ScreenPage) -> str:
    """One clause; "" if the key has its effect."""
    if key not in REPLAY_KEYS:
        return _UNAVAILABLE_REASONS.get(key.action, _DEFAULT_REASON)
    return key.other_pages_only(page)


def replay_hints(state: ReplayState, page: ScreenPage) -> tuple[Hint, ...]:
    """``space stand still  < > speed``: the most useful first."""
    play_text = "play again" if state.replay.at_end else "play" if state.replay.paused else "stand still"
    key_texts = [("space", play_text), ("< >", "speed"), ("[ ]", "went wrong"), (", .", "moment")]
    page_hints = [("v", "all, or what went wrong"), ("/", "look for"), ("enter", "whole"), ("5", "nodes")]
    end_hints = [("?", "help"), ("q", "leave"), ("left right", "10 s"), ("0 $", "ends")]
    return tuple(
        Hint(*each) for each in (*key_texts, *(page_hints if page is ScreenPage.LOG else [("6", "log")]), *end_hints)
    )


# The head of a replay: the position in time, progress at that time, and the last failure.


_BAR_WIDTH = 16
_SOURCE_TEXTS = {ReplaySource.JOURNAL: "by its journal", ReplaySource.EVENTS: "by its events"}


def replay_head(state: ReplayState) -> RunHead:
    notice_text, tone = _notice_text(state)
    return RunHead(
        _identity_texts(state),
        _progress_texts(state),
        FittingText(notice_text, tone=tone),
        (FittingText(_recording_notes(state)),),
    )


def _identity_texts(state: ReplayState) -> tuple[FittingText, ...]:
    """``eksdoc  REPLAY 5x  1m55s of 4m47s  run 7f3a, begun 2026-11-20 09:00:00Z by ann@host, by its journal``."""
    replay, recording = state.replay, state.recording
    play_state = "ENDED" if replay.at_end else "STANDS STILL" if replay.paused else "RUNS"
    position = f"{format_duration(replay.at_s)} of {format_duration(recording.length_s)}"
    actor_text = f" by {recording.started_by}" if recording.started_by else ""
    started_text = f"begun {recording.started_at:%Y-%m-%d %H:%M:%S}Z{actor_text}"
    run = f"run {state.live.run}"
    return (
        FittingText("eksdoc", ((2, ""),), Tone.TITLE),
        FittingText(f"REPLAY {play_state} {replay.speed:g}x", tone=Tone.TITLE),
        FittingText(position, tone=Tone.TITLE),
        FittingText(
            f"{run}, {started_text}, {_SOURCE_TEXTS[recording.source]}",
            ((4, f"{run}, {started_text}"), (3, run), (1, "")),
        ),
    )


def _progress_texts(state: ReplayState) -> tuple[FittingText, ...]:
    """``▇▇▇▇───  2 of 5 nodes drained · 7 pods gone so far, 37 planned · 3 refusals``: the bar shows the time."""
    recording = state.recording
    bar_text = progress_bar(round(state.replay.at_s), max(round(recording.length_s), 1), _BAR_WIDTH)
    nodes_text, gone_text, refusals = state.nodes_drained_text, state.pods_gone_text, state.history.refusals
    return (
        droppable(bar_text[:_BAR_WIDTH], 4),
        FittingText(nodes_text, ((1, nodes_text.removesuffix(" drained")),)),
        FittingText(gone_text, ((2, gone_text.partition(", ")[2] or gone_text),)),
        FittingText(pluralize(refusals, "refusal") if refusals else ""),
    )


def _notice_text(state: ReplayState) -> tuple[str, Tone | None]:
    """The end of the run, else why no requests are sent, else the last failure."""
    chronicle = state.history
    if state.outcome is not None:
        symbol, tone = state.outcome.symbol
        return f"{symbol} {state.outcome.summary}", tone
    if chronicle.stop_reason or chronicle.hold_reason:
        hold_reason = (state.progress.hold_reason if state.progress is not None else "") or chronicle.hold_reason
        reason = f"stopped: {chronicle.stop_reason}" if chronicle.stop_reason else f"held: {hold_reason}"
        return f"! {reason}", Tone.WARN
    last_failure = next((event for event in reversed(chronicle.events) if event.what in PROBLEM_EVENTS), None)
    if state.progress is not None and state.progress.waiting_pods:
        return f"! {state.progress.waiting_pods[0].pod} waits: {state.progress.waiting_pods[0].reason}", Tone.WARN
    if last_failure is None:
        return "nothing went wrong so far", None
    return f"! last: {' '.join(log_columns(last_failure, state.live.started_at))}", Tone.WARN


def _recording_notes(state: ReplayState) -> str:
    """The planned duration, and whether the file is complete."""
    recording, parts = state.recording, []
    planned, dropped_count = recording.plan_figures, len(recording.dropped)
    if planned is not None and planned.p50_s is not None:
        p95 = f" (p95 {format_duration(planned.p95_s)})" if planned.p95_s is not None else ""
        parts.append(f"planned about {format_duration(planned.p50_s)}{p95}")
    if dropped_count:
        parts.append(
            f"! {pluralize(dropped_count, 'thing')} in the file could not be taken into account: its end says which"
        )
    return " · ".join(parts)


# The screen of a replay: the screen of a run, with keys that move in time.


_POLL_S = 0.25


class ReplayScreen(RunScreen):
    """Mutable: the position in time."""

    KEYS: ClassVar[tuple[KeyBinding, ...]] = (*REPLAY_KEYS, *LIVE_KEYS)
    PRIORITY: ClassVar[frozenset[str]] = PRIORITY_KEYS

    def __init__(self, live: ReplayedRun, path: str) -> None:
        self._replay_state = ReplayState(live)
        super().__init__(self._replay_state, "", None, {})
        self._live = live
        self._path = path

    def on_mount(self) -> None:
        """Textual also calls `on_mount` of the base class."""
        self.set_interval(_POLL_S, self._poll)

    def _poll(self) -> None:
        """At the end or while paused, nothing changes."""
        if self._replay_state.apply(self._live.take_update()) or self._replay_state.replay.is_moving:
            self.show()

    def _show_new_position(self) -> None:
        self._replay_state.apply(self._live.current_update())
        self.show()

    def head(self) -> RunHead:
        return replay_head(self._replay_state)

    def foot(self) -> tuple[Hint, ...]:
        return replay_hints(self._replay_state, self.page)

    def why_not(self, key: KeyBinding) -> str:
        return unavailable_reason(key, self.page)

    def do_play(self) -> None:
        self._replay_state.replay.play_or_pause()
        self._show_new_position()

    def do_speed(self, steps: int) -> None:
        if self._replay_state.replay.change_speed(steps):
            self._show_new_position()
        else:
            self._notify_user(">: it goes no faster" if steps > 0 else "<: it goes no slower")

    def do_jump(self, direction: int) -> None:
        replay = self._replay_state.replay
        replay.go_to(replay.at_s + direction * JUMP_S)
        self._show_new_position()

    def do_wrong(self, direction: int) -> None:
        if self._replay_state.replay.step_to_problem(direction):
            self._show_new_position()
        else:
            self._notify_user(
                "]: nothing went wrong after this" if direction > 0 else "[: nothing went wrong before this"
            )

    def do_moment(self, direction: int) -> None:
        if self._replay_state.replay.step(direction):
            self._show_new_position()
        else:
            self._notify_user(".: nothing happened after this" if direction > 0 else ",: nothing happened before this")

    def do_begin(self) -> None:
        self._replay_state.replay.go_to(0.0)
        self._show_new_position()

    def do_end(self) -> None:
        self._replay_state.replay.go_to(self._replay_state.recording.length_s)
        self._show_new_position()

    def do_command(self) -> None:
        command = shlex.join(["kubectl", "eksdoc", "drain", "status", "--replay", self._path])
        self.app.copy_to_clipboard(command)
        self._notify_user(f"copied: {command}", 10)

    def do_html(self) -> None:
        from kubectl_eksdoc.drain.report.run_page import page

        recording = self._replay_state.recording
        self._save("html", recording.run or "replay", page(recording, self.appearance))

    def do_help(self) -> None:
        """Without the keys that have no effect here."""
        self.app.push_screen(HelpScreen(self.page, Keymap(REPLAY_KEYS)))

    def do_back(self) -> None:
        """Leave the log, then a node, then the application: no run is active."""
        if self.page is ScreenPage.LOG:
            super().do_back()
        elif not self.query_one(LivePage).close_node():
            self.app.exit(0)


# The application of ``kubectl eksdoc --replay``: one screen, without a cluster.


class ReplayApp(FramedApp):
    """`options` defines what is shown."""

    def __init__(self, options: ReplayOptions, clock: Callable[[], float] = monotonic) -> None:
        """`clock`: seconds since any moment."""
        super().__init__(ascii=options.ascii, plain=options.plain, light=options.light)
        self._path = options.path
        self._live = ReplayedRun(options.recording, clock)

    def on_mount(self) -> None:
        self.exit_when_disconnected()
        self.push_screen(ReplayScreen(self._live, self._path))


def show_again(options: ReplayOptions) -> int:
    """Run until the user leaves; returns the exit code."""
    return ReplayApp(options).run() or 0
