"""A run that a thread of this process carries out while screens show it: they look and wish, and nothing more.

A run on a terminal or in a log: a line for each event, one that says how it stands, and what is wished of it.
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
"""Why it stops, as when its terminal is closed: what it does could not be seen."""

Told = Callable[[], int]
"""How often the process was told to end."""

Wanted = Callable[[], tuple[str, str]]
"""What others ask of the run, a word of `RunPhase`, and who; two empty texts for nothing."""


class RunFace(Protocol):
    """What a run is shown by, and what is wished of it there. Open while it is carried out."""

    def listen(self, moments: Sequence[RunMoment]) -> None: ...

    def show(self, standing: RunProgress) -> None: ...

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None: ...

    def wished(self) -> RunWishState: ...


Write = Callable[[str], object]
"""Keeps lines; it raises nothing."""

FaceOf = Callable[[Told, Wanted], AbstractContextManager[RunFace]]

WISHES = {RunPhase.PAUSED.value: RunWish.PAUSE, RunPhase.ABORTED.value: RunWish.STOP}


class RunOutput:
    """A `RunFace`. Mutable.

    Events go to stdout as they happen, to stderr where the answer is one page; how it stands is written to a terminal
    only, on one line of stderr that is rewritten. Where nobody reads it any more it is as if it was told to end once.
    """

    def __init__(
        self,
        around: CommandContext,
        run: str,
        told: Told,
        wanted: Wanted,
        because: str = "",
    ) -> None:
        """`because`: why it ends where the process is told to, "" where its user does that."""
        self._around = around
        self._because = because
        self._output = around.options.output
        self._run = run
        self._told = told
        self._wanted = wanted
        self._look = opening.decide(around, around.stderr if self._output == "markdown" else None)
        self._width = 0  # of what stands on the terminal's last line
        self._line_look = opening.decide(around, around.stderr)
        self._terminal = around.stderr.isatty()
        self._stands: RunProgress | None = None
        self._answered = 0  # so many of the user's words to end
        self._unread = ""  # why nobody sees what is told

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
        """On stderr, whoever reads it."""
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
        except UsageError as error:  # the disk is full, say: what is under way must settle all the same
            self._unread = self._unread or error.message

    def _clear(self) -> None:
        if self._width:
            say(self._around.stderr, f"\r{' ' * self._width}\r")
            self._width = 0


@dataclass(eq=False)
class RecordingFace:
    """A `RunFace` in front of another one: what it is told is given to `write` as well, as lines for a replay.
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
"""Carries it out to its end. It may raise EksdocError."""


@dataclass(eq=False)
class LiveRun:
    """A `screen_ports.ActiveRun`, and the face of its run. Mutable; the thread does not end before the run has,
    whatever becomes of the screens. `overrule` tells others that what they asked for holds no more."""

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
        self._mine: RunWish | None = None  # what is wished here, None where others asked for something since
        self._why = ""
        self._theirs = ""  # what they asked for last
        self._echo = False  # they were told that it goes on, which comes back as if they asked for it
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
        """It counts until others ask for something else; what stops it counts for good. `why`: where nobody wishes it,
        what has happened, a clause."""
        with self._lock:
            self._mine, self._why = wish, why
            overruled = wish is RunWish.GO_ON and WISHES.get(self._theirs, RunWish.GO_ON) is not RunWish.GO_ON
            self._echo = self._echo or overruled
        if overruled:  # who looks from elsewhere, or asks for the same once more, must not be misled
            threading.Thread(target=self.overrule, name="overrule", daemon=True).start()

    def leave_alone(self, node: str) -> None:
        with self._lock:
            self._alone |= {node}

    # For whoever ends the process

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Until it is over, and no longer than that."""
        self._thread.join(seconds)

    # For the run

    def listen(self, moments: Sequence[RunMoment]) -> None:
        with self._lock:
            self._untold.extend(moments)

    def show(self, standing: RunProgress) -> None:
        with self._lock:
            self._standing = standing

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None:
        """The screens show it at any time."""

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
        except Exception as error:  # nobody else hears of a bug in this thread
            outcome = RunSummaryView(as_bug(error), bad=True)
        with self._lock:
            self._outcome = outcome


# The built-in cluster, to be drained: it is served on this machine from the first time that somebody wants to.


SPEED = 10.0
"""So many of its seconds pass in one of ours: a drain that takes minutes is seen in a fraction of them."""


class DemoCluster:
    """Mutable. `around`: surroundings in which its runs are carried out: they reckon in its time, and keep their
    journals in a folder that goes with it."""

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
        """From then on it changes."""
        return self._reached is not None

    def reach(self) -> GlobalOptions:
        """How it is reached; from the first call on it is served.

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
