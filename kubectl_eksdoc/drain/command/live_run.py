"""A run in a thread of this process while screens show it: the screens only read its updates and submit requests.

Also the output of a run on a terminal or in a log: a line for each event, one line with the progress, and the signals
of the user. And the demo cluster as a target of runs.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Protocol

from kubectl_eksdoc.cli import answers
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.cli.streams import is_broken, write_note
from kubectl_eksdoc.embedded.demo.reader import IDENTITY, NOW
from kubectl_eksdoc.errors import EksdocError, UsageError, bug_text
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.objects.journal_lines import standing_line
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import ServeSettings, served

from ..duration.generations import learned_kubelet_times
from ..report import events
from ..report.plan import DrainView
from ..run.apply import AcceleratedClock, accelerated
from ..run.events import DrainEvent
from ..run.history import planned_nodes
from ..run.loop import RunRequest, RunRequestState
from ..run.progress import Reason, RunProgress
from ..run.replay import RECORD_INTERVAL_S, progress_record
from .screen_ports import RunKind, RunSummaryView, RunUpdate

OUTPUT_CLOSED = "its output is no longer read"
"""Why a run stops when its output is closed, as when its terminal is closed: its actions could not be seen."""

StopCount = Callable[[], int]
"""Number of signals to end that the process has received."""

RequestedPhase = Callable[[], tuple[str, str]]
"""What other clients request of the run: a value of `RunPhase`, and the requester; two empty strings for nothing."""


class RunDisplay(Protocol):
    """Display of a run, and source of user requests. Open while the run is executed."""

    def listen(self, events: Sequence[DrainEvent]) -> None: ...

    def show(self, progress: RunProgress) -> None: ...

    def explain(self, reasons: Sequence[Reason], duration_s: float) -> None: ...

    def current_request(self) -> RunRequestState: ...


WriteLines = Callable[[str], object]
"""Stores lines; it raises nothing."""

OpenDisplay = Callable[[StopCount, RequestedPhase], AbstractContextManager[RunDisplay]]

REQUESTS_BY_PHASE = {RunPhase.PAUSED.value: RunRequest.PAUSE, RunPhase.ABORTED.value: RunRequest.STOP}


class RunOutput:
    """A `RunDisplay`. Mutable.

    Events are written to stdout as they happen, to stderr if the answer is one page; the progress is written only to a
    terminal, on one line of stderr that is rewritten. A closed output counts as one signal to end.
    """

    def __init__(
        self,
        context: CommandContext,
        run: str,
        stop_count: StopCount,
        requested_phase: RequestedPhase,
        stop_reason: str = "",
    ) -> None:
        """`stop_reason`: the reason for a stop by signal, "" if the user is the sender."""
        self._context = context
        self._stop_reason = stop_reason
        self._output = context.options.output
        self._run = run
        self._stop_count = stop_count
        self._requested_phase = requested_phase
        self._appearance = answers.appearance_for(context, context.stderr if self._output == "markdown" else None)
        self._width = 0  # width of the terminal's last line
        self._line_appearance = answers.appearance_for(context, context.stderr)
        self._is_terminal = context.stderr.isatty()
        self._progress: RunProgress | None = None
        self._handled_stops = 0  # number of handled signals to end
        self._closed_reason = ""  # why the output is not read

    def __enter__(self) -> RunOutput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._clear_line()

    def listen(self, run_events: Sequence[DrainEvent]) -> None:
        now = self._context.now()
        self._clear_line()
        for event in run_events:
            if self._output == "json":
                self._write(events.event_line(event, self._run, now))
            elif self._output == "markdown":
                write_note(self._context.stderr, events.line(event, now, self._appearance) + "\n")
            else:
                self._write(events.line(event, now, self._appearance) + "\n")

    def show(self, progress: RunProgress) -> None:
        self._progress = progress
        if not self._is_terminal:
            return
        text = events.progress_line(progress, self._line_appearance)
        write_note(self._context.stderr, f"\r{text.ljust(self._width)}")
        self._width = len(text)

    def explain(self, reasons: Sequence[Reason], duration_s: float) -> None:
        """Print to stderr."""
        self._clear_line()
        for line in events.wait_lines(reasons, duration_s, self._context.now(), self._line_appearance):
            write_note(self._context.stderr, f"{line}\n")

    def current_request(self) -> RunRequestState:
        if not self._closed_reason and (is_broken(self._context.stdout) or is_broken(self._context.stderr)):
            self._closed_reason = OUTPUT_CLOSED
        times = self._stop_count() + bool(self._closed_reason)
        if times > self._handled_stops:
            self._handled_stops = times
            self._clear_line()
            if times > 1:
                self._context.note("leaving at once: what is under way comes to its end by itself")
            else:
                half_drained_text = (
                    f" {events.unfinished_with_names(self._progress)}" if self._progress is not None else ""
                )
                closed_text = f"{self._closed_reason}, so " if self._closed_reason else ""
                self._context.note(f"stopping: {closed_text}nothing more is asked for.{half_drained_text}")
                self._context.note("waiting until what is under way has settled; Ctrl-C again leaves at once")
        if times:
            return RunRequestState(
                RunRequest.LEAVE if times > 1 else RunRequest.STOP, reason=self._closed_reason or self._stop_reason
            )
        phase, requester = self._requested_phase()
        return RunRequestState(REQUESTS_BY_PHASE.get(phase, RunRequest.RESUME), requester)

    def _write(self, text: str) -> None:
        try:
            self._context.write_data(text)
        except UsageError as error:  # for example, the disk is full: requests in flight must settle all the same
            self._closed_reason = self._closed_reason or error.message

    def _clear_line(self) -> None:
        if self._width:
            write_note(self._context.stderr, f"\r{' ' * self._width}\r")
            self._width = 0


@dataclass(eq=False)
class RecordingDisplay:
    """A `RunDisplay` in front of another one: all that it receives is also passed to `write`, as lines for a replay.
    Mutable."""

    display: RunDisplay
    run: str
    now: Callable[[], datetime]
    write: WriteLines

    def __post_init__(self) -> None:
        self._last_record: tuple[float, object] = (-RECORD_INTERVAL_S, None)

    def listen(self, run_events: Sequence[DrainEvent]) -> None:
        self.display.listen(run_events)
        self.write("".join(events.event_line(event, self.run, self.now()) for event in run_events))

    def show(self, progress: RunProgress) -> None:
        self.display.show(progress)
        at_s, previous = self._last_record
        recorded = (
            progress.budgets,
            progress.hold_reason,
            progress.paused,
            [(each.subject, each.others) for each in progress.reasons],
        )
        if recorded != previous or progress.at_s - at_s >= RECORD_INTERVAL_S:
            self._last_record = progress.at_s, recorded
            self.write(standing_line(progress_record(progress, self.run, self.now())))

    def explain(self, reasons: Sequence[Reason], duration_s: float) -> None:
        self.display.explain(reasons, duration_s)

    def current_request(self) -> RunRequestState:
        return self.display.current_request()


ExecuteRun = Callable[[OpenDisplay], RunSummaryView]
"""Executes the run to its end. It may raise EksdocError."""


@dataclass(eq=False)
class LiveRun:
    """A `screen_ports.ActiveRun`, and the display of its run. Mutable; the thread ends only with the run, even if the
    screens are closed. `overrule` tells other clients that their request holds no more."""

    run: str
    kind: RunKind
    view: DrainView | None
    started_at: datetime
    execute: ExecuteRun
    overrule: Callable[[], object] = lambda: None
    speed: float = 1.0

    def __post_init__(self) -> None:
        self.planned_nodes = planned_nodes(self.view.plan) if self.view is not None else ()
        self._lock = threading.Lock()
        self._new_events: list[DrainEvent] = []
        self._standing: RunProgress | None = None
        self._outcome: RunSummaryView | None = None
        self._own_request: RunRequest | None = (
            None  # the request made here, None if other clients requested something since
        )
        self._own_reason = ""
        self._others_phase = ""  # the last request of other clients
        self._expects_echo = (
            False  # other clients were told that it continues, which comes back like a request of theirs
        )
        self._nodes_left_alone: frozenset[str] = frozenset()
        self._requested_phase: RequestedPhase = lambda: ("", "")
        self._thread = threading.Thread(target=self._execute, name=f"run {self.run}", daemon=False)

    def start(self) -> None:
        self._thread.start()

    # For the screens

    def take_update(self) -> RunUpdate:
        with self._lock:
            new_events, self._new_events = self._new_events, []
            return RunUpdate(new_events, self._standing, self._outcome)

    def submit(self, request: RunRequest, reason: str = "") -> None:
        """Submit a request. It holds until other clients request something else; a request to stop holds for good.
        `reason`: the event that made the request if no user did, as a clause."""
        with self._lock:
            self._own_request, self._own_reason = request, reason
            overrules_others = (
                request is RunRequest.RESUME
                and REQUESTS_BY_PHASE.get(self._others_phase, RunRequest.RESUME) is not RunRequest.RESUME
            )
            self._expects_echo = self._expects_echo or overrules_others
        if overrules_others:  # another client that looks, or requests the same again, must not be misled
            threading.Thread(target=self.overrule, name="overrule", daemon=True).start()

    def leave_alone(self, node: str) -> None:
        with self._lock:
            self._nodes_left_alone |= {node}

    # For the end of the process

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait until the run has ended, at most `seconds`."""
        self._thread.join(seconds)

    # For the run

    def listen(self, events: Sequence[DrainEvent]) -> None:
        with self._lock:
            self._new_events.extend(events)

    def show(self, progress: RunProgress) -> None:
        with self._lock:
            self._standing = progress

    def explain(self, reasons: Sequence[Reason], duration_s: float) -> None:
        """Does nothing: the screens always show the reasons."""

    def current_request(self) -> RunRequestState:
        phase, requester = self._requested_phase()
        with self._lock:
            if phase != self._others_phase:
                is_echo = self._expects_echo and phase == RunPhase.RUNNING.value
                self._others_phase, self._expects_echo = phase, False
                if phase and not is_echo and self._own_request not in (RunRequest.STOP, RunRequest.LEAVE):
                    self._own_request = None
            if self._own_request is not None:
                return RunRequestState(
                    self._own_request, reason=self._own_reason, nodes_left_alone=self._nodes_left_alone
                )
            return RunRequestState(
                REQUESTS_BY_PHASE.get(phase, RunRequest.RESUME), requester, nodes_left_alone=self._nodes_left_alone
            )

    def _execute(self) -> None:
        def open_display(stop_count: StopCount, requested_phase: RequestedPhase) -> AbstractContextManager[RunDisplay]:
            self._requested_phase = requested_phase
            return nullcontext(self)

        try:
            outcome = self.execute(open_display)
        except EksdocError as error:
            outcome = RunSummaryView(error.message, tuple(error.hint.splitlines()), has_failed=True)
        except Exception as error:  # a bug in this thread is not reported elsewhere
            outcome = RunSummaryView(bug_text(error), has_failed=True)
        with self._lock:
            self._outcome = outcome


# The demo cluster as a target of runs: it is served on this machine from its first use on.


SPEED = 10.0
"""Virtual seconds per real second: a drain that takes minutes is shown in a fraction of that time."""


class DemoCluster:
    """Mutable. `context`: the context of its runs, which use its clock and keep their journals in a temporary
    folder."""

    def __init__(self, context: CommandContext) -> None:
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._options: GlobalOptions | None = None
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="eksdoc-demo-"))
        clock = AcceleratedClock(context.edges.clock, SPEED, NOW)
        edges = replace(context.edges, open_run=accelerated(context.edges.open_run, clock, SPEED), clock=clock)
        environ = {**context.environ, "XDG_STATE_HOME": folder}
        self.context = replace(context, run_edges=edges, environ=environ, now=clock.now)

    @property
    def is_served(self) -> bool:
        """Whether it is served, and so changes."""
        return self._options is not None

    def reach(self) -> GlobalOptions:
        """Return its connection options; the first call starts serving.

        Raises:
            UsageError: its kubeconfig cannot be written.
        """
        with self._lock:
            if self._options is None:
                settings = ServeSettings(
                    SPEED, "", lambda path, address: None, lambda note: None, learned_kubelet_times
                )
                path, _ = self._open.enter_context(served(SourceChoice(demo=True), Connection(), None, settings))
                connection = Connection(kubeconfig=path)
                self._options = replace(self.context.options, connection=connection, cluster_name=IDENTITY.cluster)
            return self._options

    def close(self) -> None:
        self._open.close()
