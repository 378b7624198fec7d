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

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.cli.streams import is_left, say
from kubectl_eksdoc.embedded.demo.reader import IDENTITY, NOW
from kubectl_eksdoc.errors import EksdocError, UsageError, as_bug
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.objects.journal_lines import standing_line
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import Serving, served

from ..duration.generations import pace_of
from ..report import events
from ..report.plan import DrainView
from ..run.apply import HastenedClock, hastened
from ..run.events import RunMoment
from ..run.history import aimed_by
from ..run.loop import RunWish, RunWishState
from ..run.progress import Reason, RunProgress
from ..run.replay import WRITTEN_S, written
from .screen_ports import RunKind, RunSummaryView, RunUpdate

UNREAD = "its output is no longer read"
"""Why a run stops when its output is closed, as when its terminal is closed: its actions could not be seen."""

Told = Callable[[], int]
"""Number of signals to end that the process has received."""

Wanted = Callable[[], tuple[str, str]]
"""What other clients request of the run: a value of `RunPhase`, and the requester; two empty strings for nothing."""


class RunFace(Protocol):
    """Display of a run, and source of user requests. Open while the run is executed."""

    def listen(self, moments: Sequence[RunMoment]) -> None: ...

    def show(self, standing: RunProgress) -> None: ...

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None: ...

    def wished(self) -> RunWishState: ...


Write = Callable[[str], object]
"""Stores lines; it raises nothing."""

FaceOf = Callable[[Told, Wanted], AbstractContextManager[RunFace]]

WISHES = {RunPhase.PAUSED.value: RunWish.PAUSE, RunPhase.ABORTED.value: RunWish.STOP}


class RunOutput:
    """A `RunDisplay`. Mutable.

    Events are written to stdout as they happen, to stderr if the answer is one page; the progress is written only to a
    terminal, on one line of stderr that is rewritten. A closed output counts as one signal to end.
    """

    def __init__(
        self,
        around: CommandContext,
        run: str,
        told: Told,
        wanted: Wanted,
        because: str = "",
    ) -> None:
        """`stop_reason`: the reason for a stop by signal, "" if the user is the sender."""
        self._around = around
        self._because = because
        self._output = around.options.output
        self._run = run
        self._told = told
        self._wanted = wanted
        self._look = opening.decide(around, around.stderr if self._output == "markdown" else None)
        self._width = 0  # width of the terminal's last line
        self._line_look = opening.decide(around, around.stderr)
        self._terminal = around.stderr.isatty()
        self._stands: RunProgress | None = None
        self._answered = 0  # number of handled signals to end
        self._unread = ""  # why the output is not read

    def __enter__(self) -> RunOutput:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._clear()

    def listen(self, moments: Sequence[RunMoment]) -> None:
        now = self._around.now()
        self._clear()
        for moment in moments:
            if self._output == "json":
                self._say(events.event_line(moment, self._run, now))
            elif self._output == "markdown":
                say(self._around.stderr, events.line(moment, now, self._look) + "\n")
            else:
                self._say(events.line(moment, now, self._look) + "\n")

    def show(self, standing: RunProgress) -> None:
        self._stands = standing
        if not self._terminal:
            return
        text = events.progress(standing, self._line_look)
        say(self._around.stderr, f"\r{text.ljust(self._width)}")
        self._width = len(text)

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None:
        """Print to stderr."""
        self._clear()
        for line in events.why_it_waits(reasons, for_s, self._around.now(), self._line_look):
            say(self._around.stderr, f"{line}\n")

    def wished(self) -> RunWishState:
        if not self._unread and (is_left(self._around.stdout) or is_left(self._around.stderr)):
            self._unread = UNREAD
        times = self._told() + bool(self._unread)
        if times > self._answered:
            self._answered = times
            self._clear()
            if times > 1:
                self._around.note("leaving at once: what is under way comes to its end by itself")
            else:
                half = f" {events.stop_in_full(self._stands)}" if self._stands is not None else ""
                why = f"{self._unread}, so " if self._unread else ""
                self._around.note(f"stopping: {why}nothing more is asked for.{half}")
                self._around.note("waiting until what is under way has settled; Ctrl-C again leaves at once")
        if times:
            return RunWishState(RunWish.LEAVE if times > 1 else RunWish.STOP, why=self._unread or self._because)
        what, who = self._wanted()
        return RunWishState(WISHES.get(what, RunWish.GO_ON), who)

    def _say(self, text: str) -> None:
        try:
            self._around.say(text)
        except UsageError as error:  # for example, the disk is full: requests in flight must settle all the same
            self._unread = self._unread or error.message

    def _clear(self) -> None:
        if self._width:
            say(self._around.stderr, f"\r{' ' * self._width}\r")
            self._width = 0


@dataclass(eq=False)
class RecordingFace:
    """A `RunDisplay` in front of another one: all that it receives is also passed to `write`, as lines for a replay.
    Mutable."""

    shown: RunFace
    run: str
    now: Callable[[], datetime]
    write: Write

    def __post_init__(self) -> None:
        self._written: tuple[float, object] = (-WRITTEN_S, None)

    def listen(self, moments: Sequence[RunMoment]) -> None:
        self.shown.listen(moments)
        self.write("".join(events.event_line(moment, self.run, self.now()) for moment in moments))

    def show(self, standing: RunProgress) -> None:
        self.shown.show(standing)
        at_s, before = self._written
        kept = (standing.budgets, standing.held, standing.paused, [(each.of, each.more) for each in standing.why])
        if kept != before or standing.at_s - at_s >= WRITTEN_S:
            self._written = standing.at_s, kept
            self.write(standing_line(written(standing, self.run, self.now())))

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None:
        self.shown.explain(reasons, for_s)

    def wished(self) -> RunWishState:
        return self.shown.wished()


Carry = Callable[[FaceOf], RunSummaryView]
"""Executes the run to its end. It may raise EksdocError."""


@dataclass(eq=False)
class LiveRun:
    """A `screen_ports.ActiveRun`, and the display of its run. Mutable; the thread ends only with the run, even if the
    screens are closed. `overrule` tells other clients that their request holds no more."""

    run: str
    kind: RunKind
    view: DrainView | None
    began_at: datetime
    carry: Carry
    overrule: Callable[[], object] = lambda: None
    speed: float = 1.0

    def __post_init__(self) -> None:
        self.aims = aimed_by(self.view.plan) if self.view is not None else ()
        self._lock = threading.Lock()
        self._untold: list[RunMoment] = []
        self._standing: RunProgress | None = None
        self._outcome: RunSummaryView | None = None
        self._mine: RunWish | None = None  # the request made here, None if other clients requested something since
        self._why = ""
        self._theirs = ""  # the last request of other clients
        self._echo = False  # other clients were told that it continues, which comes back like a request of theirs
        self._alone: frozenset[str] = frozenset()
        self._wanted: Wanted = lambda: ("", "")
        self._thread = threading.Thread(target=self._work, name=f"run {self.run}", daemon=False)

    def start(self) -> None:
        self._thread.start()

    # For the screens

    def look(self) -> RunUpdate:
        with self._lock:
            untold, self._untold = self._untold, []
            return RunUpdate(untold, self._standing, self._outcome)

    def wish(self, wish: RunWish, why: str = "") -> None:
        """Submit a request. It holds until other clients request something else; a request to stop holds for good.
        `reason`: the event that made the request if no user did, as a clause."""
        with self._lock:
            self._mine, self._why = wish, why
            overruled = wish is RunWish.GO_ON and WISHES.get(self._theirs, RunWish.GO_ON) is not RunWish.GO_ON
            self._echo = self._echo or overruled
        if overruled:  # other clients must not be misled
            threading.Thread(target=self.overrule, name="overrule", daemon=True).start()

    def leave_alone(self, node: str) -> None:
        with self._lock:
            self._alone |= {node}

    # For the end of the process

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait until the run has ended, at most `seconds`."""
        self._thread.join(seconds)

    # For the run

    def listen(self, moments: Sequence[RunMoment]) -> None:
        with self._lock:
            self._untold.extend(moments)

    def show(self, standing: RunProgress) -> None:
        with self._lock:
            self._standing = standing

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None:
        """Does nothing: the screens always show the reasons."""

    def wished(self) -> RunWishState:
        what, who = self._wanted()
        with self._lock:
            if what != self._theirs:
                own = self._echo and what == RunPhase.RUNNING.value
                self._theirs, self._echo = what, False
                if what and not own and self._mine not in (RunWish.STOP, RunWish.LEAVE):
                    self._mine = None
            if self._mine is not None:
                return RunWishState(self._mine, why=self._why, alone=self._alone)
            return RunWishState(WISHES.get(what, RunWish.GO_ON), who, alone=self._alone)

    def _work(self) -> None:
        def faced(told: Told, wanted: Wanted) -> AbstractContextManager[RunFace]:
            self._wanted = wanted
            return nullcontext(self)

        try:
            outcome = self.carry(faced)
        except EksdocError as error:
            outcome = RunSummaryView(error.message, tuple(error.hint.splitlines()), bad=True)
        except Exception as error:  # a bug in this thread is not reported elsewhere
            outcome = RunSummaryView(as_bug(error), bad=True)
        with self._lock:
            self._outcome = outcome


# The demo cluster as a target of runs: it is served on this machine from its first use on.


SPEED = 10.0
"""Virtual seconds per real second: a drain that takes minutes is shown in a fraction of that time."""


class DemoCluster:
    """Mutable. `context`: the context of its runs, which use its clock and keep their journals in a temporary
    folder."""

    def __init__(self, around: CommandContext) -> None:
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._reached: GlobalOptions | None = None
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="eksdoc-demo-"))
        clock = HastenedClock(around.edges.clock, SPEED, NOW)
        edges = replace(around.edges, open_run=hastened(around.edges.open_run, clock, SPEED), clock=clock)
        environ = {**around.environ, "XDG_STATE_HOME": folder}
        self.around = replace(around, run_edges=edges, environ=environ, now=clock.now)

    @property
    def is_served(self) -> bool:
        """Whether it is served, and so changes."""
        return self._reached is not None

    def reach(self) -> GlobalOptions:
        """Return its connection options; the first call starts serving.

        Raises:
            UsageError: its kubeconfig cannot be written.
        """
        with self._lock:
            if self._reached is None:
                how = Serving(SPEED, "", lambda path, address: None, lambda note: None, pace_of)
                path, _ = self._open.enter_context(served(SourceChoice(demo=True), Connection(), None, how))
                connection = Connection(kubeconfig=path)
                self._reached = replace(self.around.options, connection=connection, cluster_name=IDENTITY.cluster)
            return self._reached

    def close(self) -> None:
        self._open.close()
