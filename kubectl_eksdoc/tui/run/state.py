"""State of a run on the screens: events so far, progress, and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from time import monotonic

from kubectl_eksdoc.drain.command.screen_ports import ActiveRun, RunKind, RunSummaryView, RunUpdate
from kubectl_eksdoc.drain.run.history import RunHistory
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.drain.run.progress import RunProgress, WaitingPod
from kubectl_eksdoc.drain.run.replay import RECORD_INTERVAL_S, ReplaySource, RunReplay
from kubectl_eksdoc.report.text import pluralize

# The screens only observe a run; it belongs to the process.


SILENT_AFTER_S = 5.0


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
        self.history = RunHistory(live.planned_nodes)
        self.progress: RunProgress | None = None
        self.outcome: RunSummaryView | None = None
        self.request = RunRequest.RESUME
        self._progress_samples: list[RunProgress] = []  # about as often as it is recorded, for the report
        self._last_update_s = clock()

    def apply(self, update: RunUpdate) -> bool:
        """Apply an update; returns whether anything is new."""
        is_new = bool(update.events) or update.restarted
        is_new = is_new or update.progress is not self.progress or update.outcome is not self.outcome
        old_progress = self.progress
        if is_new:
            self._last_update_s = self._clock()
        if update.restarted:
            self.history = RunHistory(self.live.planned_nodes)
        self.history.add(update.events)
        has_resumed = (
            old_progress is not None
            and old_progress.paused
            and update.progress is not None
            and not update.progress.paused
        )
        if has_resumed and self.request is RunRequest.PAUSE:
            self.request = RunRequest.RESUME  # another client has resumed it
        self.progress, self.outcome = update.progress, update.outcome
        new_progress = update.progress
        if new_progress is not None and (
            not self._progress_samples or new_progress.at_s - self._progress_samples[-1].at_s >= RECORD_INTERVAL_S
        ):
            self._progress_samples.append(new_progress)
        return is_new

    @property
    def recording(self) -> RunReplay:
        """The finished run as a recording."""
        assert self.outcome is not None, "it is over"
        view = self.outcome.report
        return RunReplay(
            self.live.run,
            ReplaySource.EVENTS,
            self.live.started_at,
            max([self.at_s, *(each.at_s for each in self.history.events[-1:])]),
            tuple(self.live.planned_nodes),
            tuple(self.history.events),
            started_by=f"{view.who}@{view.host}" if view is not None else "",
            outcome=self.outcome.summary,
            is_complete=not self.outcome.has_failed,
            details_text=self.outcome.details,
            progress_records=tuple(self._progress_samples),
        )

    def may_request(self, request: RunRequest) -> bool:
        """Whether a request is allowed: a run that is stopping cannot be held or resumed; it can only be left."""
        return request is RunRequest.LEAVE or self.request not in (RunRequest.STOP, RunRequest.LEAVE)

    @property
    def is_over(self) -> bool:
        return self.outcome is not None

    @property
    def is_drain(self) -> bool:
        return self.live.kind is not RunKind.ROLLBACK

    @property
    def stage(self) -> ScreenStage:
        if self.outcome is not None:
            if not self.outcome.has_failed:
                return ScreenStage.DONE
            return (
                ScreenStage.STOPPED if self.history.stop_reason or self.outcome.report is None else ScreenStage.FAILED
            )
        if self.request in (RunRequest.STOP, RunRequest.LEAVE) or self.history.stop_reason:
            return ScreenStage.STOPPING
        if self.progress is not None and self.progress.paused:
            return ScreenStage.PAUSED
        if self.request is RunRequest.PAUSE:
            return ScreenStage.PAUSING
        if self.history.hold_reason:
            return ScreenStage.HELD
        if self.request is RunRequest.FINISH_WAVE:
            return ScreenStage.FINISHING
        return ScreenStage.RUNNING if self.progress is not None else ScreenStage.BEGINNING

    @property
    def is_paused(self) -> bool:
        """Whether it is paused, or about to be."""
        return self.stage in (ScreenStage.PAUSED, ScreenStage.PAUSING)

    @property
    def silent_s(self) -> float:
        """Seconds since the last update of a run, which reports its progress every second."""
        return 0.0 if self.is_over or self.progress is None else self._clock() - self._last_update_s

    @property
    def is_silent(self) -> bool:
        """Whether the server may not respond: the displayed state may be outdated."""
        return self.silent_s >= SILENT_AFTER_S

    @property
    def at_s(self) -> float:
        """Seconds since the start, as far as is known."""
        view = self.outcome.report if self.outcome is not None else None
        if view is not None:
            return view.drain.ended_s
        return self.progress.at_s if self.progress is not None else 0.0

    @property
    def duration_s(self) -> float:
        """Duration so far; of a finished run until its last node was done, as in its result and estimate."""
        view = self.outcome.report if self.outcome is not None else None
        return self.at_s if view is None else view.drain.drain_result.drain_s

    @property
    def unknown_text(self) -> str:
        """What is not known of the run, in sentences: "" for a run of this process, more for a recorded one."""
        return ""

    @property
    def knows_pods(self) -> bool:
        """Whether the pods to evict were known in advance."""
        return True

    @property
    def knows_terminating(self) -> bool:
        """Whether a pod with an accepted eviction that is not known to be gone is known to exist."""
        return True

    @property
    def pods_gone_text(self) -> str:
        """``51 of 116 pods gone``; for a plan without evictions, a text."""
        pods = self.history.pods
        return f"{self.history.gone} of {pluralize(pods, 'pod')} gone" if pods else "no pod to evict"

    def details(self, index: int) -> Sequence[tuple[str, str]]:
        """Further details of the event at this index, by name."""
        return ()

    def waits_on_node(self, node: str) -> tuple[WaitingPod, ...]:
        """What the pods of a node wait for; empty once the run is over."""
        if self.progress is None or self.is_over:
            return ()
        return tuple(each for each in self.progress.waiting_pods if each.node == node)
