"""State of a run on the screens: events so far, progress, and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING

from kubectl_eksdoc.drain.command.screen_ports import ActiveRun, RunKind, RunSummaryView, RunUpdate
from kubectl_eksdoc.drain.run.history import RunHistory
from kubectl_eksdoc.drain.run.loop import RunWish
from kubectl_eksdoc.drain.run.progress import PodWaits, RunProgress
from kubectl_eksdoc.drain.run.replay import WRITTEN_S, ReplaySource, RunReplay
from kubectl_eksdoc.report.text import counted

if TYPE_CHECKING:
    pass


# The screens only observe a run; it belongs to the process.


SILENT_S = 5.0


class ScreenStage(Enum):
    """The stage in the head of the screen."""

    BEGINNING = "BEGINNING"
    RUNNING = "RUNNING"
    PAUSING = "PAUSING"  # requested, not effective yet
    PAUSED = "PAUSED"
    HELD = "HELD"  # by a guard
    FINISHING = "FINISHING ITS WAVE"
    STOPPING = "STOPPING"
    DONE = "DONE"
    STOPPED = "STOPPED"
    FAILED = "NOT WHOLE"


class RunState:
    """Mutable: `apply` takes updates. `request`: the last request from these screens."""

    def __init__(self, live: ActiveRun, clock: Callable[[], float] = monotonic) -> None:
        self.live = live
        self._clock = clock
        self.chronicle = RunHistory(live.aims)
        self.standing: RunProgress | None = None
        self.outcome: RunSummaryView | None = None
        self.wished = RunWish.GO_ON
        self._stood: list[RunProgress] = []  # about as often as it is recorded, for the report
        self._heard_s = clock()

    def take(self, update: RunUpdate) -> bool:
        """Apply an update; returns whether anything is new."""
        new = bool(update.moments) or update.anew
        new = new or update.standing is not self.standing or update.outcome is not self.outcome
        was = self.standing
        if new:
            self._heard_s = self._clock()
        if update.anew:
            self.chronicle = RunHistory(self.live.aims)
        self.chronicle.take(update.moments)
        again = was is not None and was.paused and update.standing is not None and not update.standing.paused
        if again and self.wished is RunWish.PAUSE:
            self.wished = RunWish.GO_ON  # another client has resumed it
        self.standing, self.outcome = update.standing, update.outcome
        stands = update.standing
        if stands is not None and (not self._stood or stands.at_s - self._stood[-1].at_s >= WRITTEN_S):
            self._stood.append(stands)
        return new

    @property
    def recording(self) -> RunReplay:
        """The finished run as a recording."""
        assert self.outcome is not None, "it is over"
        view = self.outcome.view
        return RunReplay(
            self.live.run,
            ReplaySource.EVENTS,
            self.live.began_at,
            max([self.at_s, *(each.at_s for each in self.chronicle.moments[-1:])]),
            tuple(self.live.aims),
            tuple(self.chronicle.moments),
            by=f"{view.who}@{view.host}" if view is not None else "",
            ended=self.outcome.said,
            whole=not self.outcome.bad,
            said=self.outcome.more,
            standings=tuple(self._stood),
        )

    def may_wish(self, wish: RunWish) -> bool:
        """Whether a request is allowed: a run that is stopping cannot be held or resumed; it can only be left."""
        return wish is RunWish.LEAVE or self.wished not in (RunWish.STOP, RunWish.LEAVE)

    @property
    def over(self) -> bool:
        return self.outcome is not None

    @property
    def drains(self) -> bool:
        return self.live.kind is not RunKind.GIVE_BACK

    @property
    def stage(self) -> ScreenStage:
        if self.outcome is not None:
            if not self.outcome.bad:
                return ScreenStage.DONE
            return ScreenStage.STOPPED if self.chronicle.stopped or self.outcome.view is None else ScreenStage.FAILED
        if self.wished in (RunWish.STOP, RunWish.LEAVE) or self.chronicle.stopped:
            return ScreenStage.STOPPING
        if self.standing is not None and self.standing.paused:
            return ScreenStage.PAUSED
        if self.wished is RunWish.PAUSE:
            return ScreenStage.PAUSING
        if self.chronicle.held:
            return ScreenStage.HELD
        if self.wished is RunWish.FINISH_WAVE:
            return ScreenStage.FINISHING
        return ScreenStage.RUNNING if self.standing is not None else ScreenStage.BEGINNING

    @property
    def is_paused(self) -> bool:
        """Whether it is paused, or about to be."""
        return self.stage in (ScreenStage.PAUSED, ScreenStage.PAUSING)

    @property
    def silent_s(self) -> float:
        """Seconds since the last update of a run, which reports its progress every second."""
        return 0.0 if self.over or self.standing is None else self._clock() - self._heard_s

    @property
    def is_silent(self) -> bool:
        """Whether the server may not respond: the displayed state may be outdated."""
        return self.silent_s >= SILENT_S

    @property
    def at_s(self) -> float:
        """Seconds since the start, as far as is known."""
        view = self.outcome.view if self.outcome is not None else None
        if view is not None:
            return view.record.ended_s
        return self.standing.at_s if self.standing is not None else 0.0

    @property
    def lasted_s(self) -> float:
        """Duration so far; of a finished run until its last node was done, as in its result and estimate."""
        view = self.outcome.view if self.outcome is not None else None
        return self.at_s if view is None else view.record.record.drain_s

    @property
    def unknown(self) -> str:
        """What is not known of the run, in sentences: "" for a run of this process, more for a recorded one."""
        return ""

    @property
    def knows_pods(self) -> bool:
        """Whether the pods to evict were known in advance."""
        return True

    @property
    def knows_leaving(self) -> bool:
        """Whether a pod with an accepted eviction that is not known to be gone is known to exist."""
        return True

    @property
    def pods_gone(self) -> str:
        """``51 of 116 pods gone``; for a plan without evictions, a text."""
        pods = self.chronicle.pods
        return f"{self.chronicle.gone} of {counted(pods, 'pod')} gone" if pods else "no pod to evict"

    def details(self, at: int) -> Sequence[tuple[str, str]]:
        """Further details of the event at this index, by name."""
        return ()

    def waits_of(self, node: str) -> tuple[PodWaits, ...]:
        """What the pods of a node wait for; empty once the run is over."""
        if self.standing is None or self.over:
            return ()
        return tuple(each for each in self.standing.waits if each.node == node)
