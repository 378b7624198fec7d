"""A run on a terminal or in a log: a line for each event, one that says how it stands, and what is wished of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Protocol

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.streams import is_left, say
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.drain.run.moments import RunMoment
from kubectl_eksdoc.drain.run.replay import WRITTEN_S, written
from kubectl_eksdoc.drain.run.standing import Reason, RunProgress
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.flows.run.draining import RunWish, RunWishState
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.objects.journal_lines import standing_line
from kubectl_eksdoc.render.run import events

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
        options: GlobalOptions,
        run: str,
        told: Told,
        wanted: Wanted,
        because: str = "",
    ) -> None:
        """`because`: why it ends where the process is told to, "" where its user does that."""
        self._around = around
        self._because = because
        self._output = options.output
        self._run = run
        self._told = told
        self._wanted = wanted
        self._look = opening.decide(
            options, around.stderr if self._output == "markdown" else around.stdout, around.environ
        )
        self._width = 0  # of what stands on the terminal's last line
        self._line_look = opening.decide(options, around.stderr, around.environ)
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
            self._answer(times)
        if times:
            return RunWishState(RunWish.LEAVE if times > 1 else RunWish.STOP, why=self._unread or self._because)
        what, who = self._wanted()
        return RunWishState(WISHES.get(what, RunWish.GO_ON), who)

    def _say(self, text: str) -> None:
        try:
            self._around.say(text)
        except UsageError as error:  # the disk is full, say: what is under way must settle all the same
            self._unread = self._unread or error.message

    def _answer(self, times: int) -> None:
        self._clear()
        if times > 1:
            self._around.note("leaving at once: what is under way comes to its end by itself")
            return
        half = f" {events.stop_in_full(self._stands)}" if self._stands is not None else ""
        why = f"{self._unread}, so " if self._unread else ""
        self._around.note(f"stopping: {why}nothing more is asked for.{half}")
        self._around.note("waiting until what is under way has settled; Ctrl-C again leaves at once")

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
