"""Run loop of a drain in real time: the engine decides; this loop writes each intent to the journal, performs it, and
passes on updates.

Nothing changes in the cluster before its intent is in the journal, or while it is uncertain whether the lock is held.
Requests without a response when the run ends settle by themselves: a process that resumes the run checks them.

An outage is a time in which it is uncertain whether the lock is held: the API server is unreachable, or this machine
was suspended. No changes are requested meanwhile. If the lock is regained, no other client has drained here, and
everything is listed again before the run continues; if another client held it, the run ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple, Protocol

from kubectl_eksdoc.errors import JournalError, LockInDoubt, LockLost
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import LostResponse
from kubectl_eksdoc.kubernetes.updates import AllBudgets, AllNodes, AllPods, RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Delete, Evict, Hook, Restart, RunCommand
from kubectl_eksdoc.model.journal import DONE, IntentEntry, JournalEntry, NoteKind, RunPhase
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.ports import DrainLock, Journal, RunBackend

from .engine import Engine
from .events import DrainEvent, DrainEventKind
from .history import total_hold_s
from .journal import JournalWriter, is_change
from .limits import RunLimits
from .other_drains import Replanner
from .progress import Reason, RunProgress, reasons, run_progress, starting_pods
from .remaining import RemainingTime
from .result import PendingPod, Record

POLL_S = 1.0
"""Interval at which user requests are read."""

_LIST_UPDATES: frozenset[type] = frozenset((AllNodes, AllPods, AllBudgets))


@frozen
class ApiOutage:
    """Waits while the lock is in doubt. `_longest_s`: maximum time. `_handle_update` receives the updates;
    `_end_reason` returns why the run is to end, "" if it is not, and is called every second."""

    _lock: DrainLock
    _field: RunBackend
    _longest_s: float
    _handle_update: Callable[[RunUpdate], object]
    _end_reason: Callable[[], str]

    def message(self, doubt: LockInDoubt) -> str:
        """Return why nothing is changed now, for users."""
        duration_text = format_duration(round(self._lock.in_doubt_s))
        if not doubt.renewal_error:
            return (
                f"this machine stood still for {duration_text}: it continues if no other client has drained "
                "here meanwhile"
            )
        reason = f"{doubt.renewal_error}, so the lock could not be renewed for {duration_text}"
        return f"{reason}; nothing is changed meanwhile; it continues automatically or can be stopped"

    def wait_out(self, doubt: LockInDoubt) -> None:
        """Wait until the lock is held again and everything was listed again.

        Raises:
            LockLost: it cannot be regained, or the wait was too long.
            Unauthorized, Forbidden: the cluster must not be watched any more.
        """
        while True:
            self._check_wait(doubt)
            if self._lock.try_regain(POLL_S) and self._list_again(doubt):
                try:
                    self._lock.resume()
                except LockInDoubt as new_doubt:
                    doubt = new_doubt
                else:
                    return

    def _list_again(self, doubt: LockInDoubt) -> bool:
        """Whether everything was listed again; False if the lock was lost again meanwhile."""
        self._check_wait(doubt)
        self._field.restart_watches()
        missing_lists = set(_LIST_UPDATES)
        while missing_lists:
            for update in self._field.updates(POLL_S):
                self._handle_update(update)
                missing_lists.discard(type(update))
            self._check_wait(doubt)
            if missing_lists and not self._lock.try_regain(0.0):
                return False
        return True

    def _check_wait(self, doubt: LockInDoubt) -> None:
        """Raises LockLost: the wait is over."""
        reason, doubt_s = self._end_reason(), self._lock.in_doubt_s
        if reason:
            raise LockLost(f"{reason}; {doubt.message}", doubt.hint)
        if doubt_s >= self._longest_s:
            limit = format_duration(round(self._longest_s))
            raise LockLost(f"it was unknown for {limit} whose the lock was: {doubt.message}", doubt.hint)


SHOW_S = 0.5
"""Minimum interval between two computations of the progress, which reads every pod."""

EXPLAIN_S = 60.0
"""After this time without an event the reasons are reported, and then again after the same time."""

_NO_PROGRESS = (DrainEventKind.REFUSED, DrainEventKind.WARNED)

PROGRESS_REPORT_S = 10.0
"""Interval at which the progress is published in the cluster."""

MIN_WAIT_S = 0.001
"""Minimum wait, so that fractions of a second do not cause a busy loop."""


class RunRequest(Enum):
    """What the user requests of a run."""

    RESUME = "go-on"
    PAUSE = "pause"  # send no requests until it is RESUME again
    FINISH_WAVE = "finish-wave"  # start no further wave, and end after the current one
    STOP = "stop"  # send no more requests, let those in flight settle, and end
    LEAVE = "leave"  # end at once: requests in flight settle by themselves


class RunRequestState(NamedTuple):
    """`requester`: "" for the user of this process. `reason`: the event that made the request if no user did, as a
    clause. `nodes_left_alone`: nodes to leave alone from now on."""

    request: RunRequest = RunRequest.RESUME
    requester: str = ""
    reason: str = ""
    nodes_left_alone: frozenset[str] = frozenset()

    @property
    def requester_text(self) -> str:
        return self.requester or "the user"

    @property
    def stop_reason(self) -> str:
        """Why the run is to end; "" if it is not."""
        return (
            (self.reason or f"{self.requester_text} stopped it")
            if self.request in (RunRequest.STOP, RunRequest.LEAVE)
            else ""
        )


class DrainClock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


_NOTES_BY_EVENT: Mapping[DrainEventKind, NoteKind] = {
    DrainEventKind.DONE: NoteKind.NODE_DONE,
    DrainEventKind.LEFT_ALONE: NoteKind.LEFT_ALONE,
    DrainEventKind.LOST: NoteKind.LOST,
}


@frozen
class DrainRunEnd:
    """`stop_reason`: why the run sent no more requests, "" if it did not stop; `record`: what was planned and what
    happened."""

    stop_reason: str
    record: Record

    @property
    def not_drained(self) -> Mapping[str, tuple[str, ...]]:
        """Nodes that exist and were not emptied, each with its remaining pods (ns/name)."""
        return self.record.undone

    @property
    def is_complete(self) -> bool:
        """Whether all of the plan was done."""
        return not self.stop_reason and not self.not_drained

    @property
    def message(self) -> str:
        """The outcome, as written to the journal."""
        if self.stop_reason or not self.not_drained:
            return self.stop_reason or DONE
        return f"not emptied: {', '.join(sorted(self.not_drained))}"


@dataclass(eq=False)
class DrainRunLoop:
    """One run of an engine. Mutable; `listen` receives all events as they happen. Without `replanning`, pods that were
    scheduled onto nodes after the plan was made are only waited for.

    The caller renews the lock; this class only checks whether it is held. While that is in doubt, nothing is written or
    changed; pending entries are written and pending requests checked when the lock is held again (`ApiOutage`).

    `show` receives the progress at least every second. `max_outage_s`: how long the lock may be in doubt. `explain`
    receives what the run waits for, and for how long nothing has happened, every minute without an event.
    `records_times`: later plans may use the measured times; False for a cluster that runs faster than the clock.
    """

    engine: Engine
    field: RunBackend
    journal: Journal
    lock: DrainLock
    clock: DrainClock
    writer: JournalWriter
    listen: Callable[[Sequence[DrainEvent]], object]
    read_request: Callable[[], RunRequestState] = RunRequestState
    show: Callable[[RunProgress], object] = lambda standing: None
    replanning: Replanner | None = None
    max_outage_s: float = RunLimits().away_s
    explain: Callable[[Sequence[Reason], float], object] = lambda reasons, for_s: None
    records_times: bool = True

    def __post_init__(self) -> None:
        self._last_event_s = self._explained_s = 0.0
        self._remaining = RemainingTime(self.engine.plan)
        self._initial_soak_s = self.engine.remaining_soak_s(0.0)
        self._shown_s, self._reported_s = -SHOW_S, -PROGRESS_REPORT_S
        self._phase = RunPhase.RUNNING
        self._started_s = self.clock.monotonic()
        self._intents: dict[
            tuple[type, str], IntentEntry
        ] = {}  # without a response, by type of action and UID of node or pod
        self._entries: list[JournalEntry] = []  # to be written with the next entries
        self._unsent: deque[RunCommand] = deque()  # requested by the engine, not sent yet
        self._unreported_events: list[DrainEvent] = []
        self._end_result: DrainRunEnd | None = None
        self._paused = self._leaves_at_once = False
        self._nodes_left_alone: frozenset[str] = frozenset()
        self._outage = ApiOutage(self.lock, self.field, self.max_outage_s, self._handle_update, self._end_reason)

    def run(self) -> DrainRunEnd:
        """Drain until nothing is left to do, or the run must stop.

        Raises:
            LockLost, JournalError: at once; nothing more is done.
            Unauthorized, Forbidden: the cluster must not be watched any more.
        """
        while True:
            try:
                ended = self._run_round()
            except LockInDoubt as doubt:
                # Nothing changes while it is in doubt whether the lock is still held.
                self.engine.hold(self._outage.message(doubt), self._now_s, self._now_s - self.lock.in_doubt_s)
                self._collect_events()
                self._notify_listener()  # it cannot be journaled now
                self._outage.wait_out(doubt)
                self._reported_s = -PROGRESS_REPORT_S
                unsent, self._unsent = self._unsent, deque()
                for action in unsent:
                    if is_change(action):
                        self._handle_update(RequestAnswered(action, LostResponse(f"it was not sent: {doubt.message}")))
                    else:
                        self._unsent.append(action)  # sent in the next round, which detects another doubt
            except JournalError:
                if not self._is_in_doubt():
                    raise
            else:
                if ended is not None:
                    return ended

    def end_by_error(self, reason: str) -> DrainRunEnd:
        """Return the state of the run when an error ended it."""
        return DrainRunEnd(reason, self._build_record())

    def _run_round(self) -> DrainRunEnd | None:
        """Do one round; not None: it was the last. Raises: as `run`; LockInDoubt."""
        self._apply_request()
        if self.replanning is not None:
            self.replanning.replan_if_needed(lambda: self._now_s)
        # Journaled, then checked, then sent, one after the other.
        actions = self.engine.due_actions(self._now_s)
        for change in filter(is_change, actions):
            intent = self.writer.intent(change, self.clock.now())
            self._intents[_action_key(change)] = intent
            self._entries.append(intent)
        self._unsent.extend(actions)
        if any(map(is_change, self._unsent)):  # also those of a round in which they could not be written
            self._write_entries()
        self._send()
        self._report_events()
        if self.engine.is_finished or self.engine.is_settled(self._now_s) or self._leaves_at_once:
            return self._finish()
        self._report_progress()
        self._report_reasons()
        for update in self.field.updates(self._wait_s()):
            self._handle_update(update)
        return None

    def _is_in_doubt(self) -> bool:
        """Whether a doubtful lock is why nothing could be written: the next round handles it. Raises LockLost."""
        try:
            self.lock.must_be_held()
        except LockInDoubt:
            return True
        return False

    def _end_reason(self) -> str:
        """Return why the run is to end while it waits for the lock; "" if it is not."""
        self.show(run_progress(self.engine, self._remaining, self._now_s))
        self._report_reasons()
        return self.read_request().stop_reason

    @property
    def _now_s(self) -> float:
        return self.clock.monotonic() - self._started_s

    def _wait_s(self) -> float:
        remaining_s = self.engine.next_s(self._now_s) - self._now_s
        return min(POLL_S, max(MIN_WAIT_S, remaining_s))

    def _apply_request(self) -> None:
        state = self.read_request()
        request, requester, reason = state.request, state.requester, state.reason
        for node in sorted(state.nodes_left_alone - self._nodes_left_alone):
            self.engine.leave_alone(node, f"{state.requester_text} wanted it left alone", self._now_s)
        self._nodes_left_alone |= state.nodes_left_alone
        self.engine.finish_wave(
            f"{state.requester_text} stopped it after a wave" if request is RunRequest.FINISH_WAVE else ""
        )
        if request is RunRequest.STOP and self.engine.is_drained:
            self.engine.stop_waiting()  # nothing else can be stopped
        elif state.stop_reason and not self.engine.stop_reason:
            self.engine.stop(state.stop_reason, self._now_s)
            self._phase = RunPhase.ABORTED
            self._reported_s = -PROGRESS_REPORT_S
            self._entries.append(self.writer.note(NoteKind.ABORTED, self.clock.now(), requester, reason))
        self._leaves_at_once = request is RunRequest.LEAVE
        if self._paused is not (request is RunRequest.PAUSE) and not self.engine.stop_reason:
            self._paused = request is RunRequest.PAUSE
            self._phase = RunPhase.PAUSED if self._paused else RunPhase.RUNNING
            note = NoteKind.PAUSED if self._paused else NoteKind.RESUMED
            paused = (
                f"{state.requester_text} paused it" if self._paused else ""
            )  # readers of the journal need the reason
            self._entries.append(self.writer.note(note, self.clock.now(), requester, paused))
            self._reported_s = -PROGRESS_REPORT_S
        self.engine.pause(f"{state.requester_text} paused it" if self._paused else "")

    def _send(self) -> None:
        while self._unsent:
            if is_change(self._unsent[0]) or isinstance(self._unsent[0], Hook):
                self.lock.must_be_held()
            self.field.do(self._unsent.popleft())

    def _handle_update(self, update: RunUpdate) -> None:
        if isinstance(update, RequestAnswered):
            intent = self._intents.pop(_action_key(update.action), None)
            if intent is not None:
                self._entries.append(self.writer.result(intent, update.response, self.clock.now()))
        self.engine.handle(update, self._now_s)

    def _report_events(self) -> None:
        self._collect_events()
        if self._unreported_events:
            self._write_entries()
            self._notify_listener()

    def _collect_events(self) -> None:
        """Collect new events for listeners and the journal."""
        new_events = self.engine.new_events()
        now = self.clock.now()
        for event in new_events:
            if event.what in _NOTES_BY_EVENT:
                self._entries.append(self.writer.note(_NOTES_BY_EVENT[event.what], now, event.subject, event.why))
        if any(event.what is DrainEventKind.DONE for event in new_events):
            self._journal_stop_times()
        self._unreported_events += new_events
        if any(event.what not in _NO_PROGRESS for event in new_events):
            self._last_event_s = self._now_s

    def _journal_stop_times(self) -> None:
        """Journal how long pods took to stop, for later plans with the same templates."""
        measured, now = self._remaining.measured, self.clock.now()
        measured.add_events(self.engine.events)
        if not self.records_times:
            return
        self._entries += [
            self.writer.stop_times_note(template, stop_times, now) for template, stop_times in measured.unwritten()
        ]

    def _notify_listener(self) -> None:
        events, self._unreported_events = self._unreported_events, []
        self.listen(events)

    def _report_progress(self) -> None:
        """Report the progress here, and at intervals in the cluster."""
        now_s = self._now_s
        if now_s - self._shown_s < SHOW_S and now_s - self._reported_s < PROGRESS_REPORT_S:
            return
        self._shown_s = now_s
        progress = run_progress(self.engine, self._remaining, now_s)
        self.show(progress)
        if now_s - self._reported_s >= PROGRESS_REPORT_S:
            self._reported_s = now_s
            self.journal.report_progress(self._phase, progress.summary)

    def _report_reasons(self) -> None:
        now_s = self._now_s
        if now_s - max(self._last_event_s, self._explained_s) >= EXPLAIN_S:
            self._explained_s = now_s
            self.explain(reasons(self.engine, now_s), now_s - self._last_event_s)

    def _finish(self) -> DrainRunEnd:
        self.show(run_progress(self.engine, self._remaining, self._now_s))
        if self._end_result is None:
            self._end_result = DrainRunEnd(self.engine.stop_reason, self._build_record())
            self._journal_stop_times()
            # Planned and actual time, for `drain status --history`.
            estimate = self._end_result.record.plan.estimate
            if self._end_result.record.causes and estimate is not None and self.records_times:
                duration_s = estimate.p50_s + sum(self._end_result.record.causes.values())
                self._entries.append(
                    self.writer.duration_entry(self.clock.now(), duration_s, estimate, self._end_result.record.causes)
                )
            self._entries.append(self.writer.note(NoteKind.ENDED, self.clock.now(), reason=self._end_result.message))
        self._write_entries()
        self.journal.report_progress(RunPhase.ENDED, self._end_result.message)
        return self._end_result

    def _build_record(self) -> Record:
        engine = self.engine
        pending = tuple(PendingPod(pod.key, pod.not_ready_because) for pod in engine.pending)
        not_ready = tuple(starting_pods(engine))
        now_s = self._now_s
        paused_s = engine.paused_s(now_s)
        drained_s = now_s if engine.drained_s is None else engine.drained_s
        drain_s, held_s = drained_s - paused_s - self._initial_soak_s, total_hold_s(engine.events, drained_s) - paused_s
        is_complete = not (engine.stop_reason or engine.not_drained)
        return Record(
            engine.plan,
            tuple(engine.events),
            now_s,
            pending,
            engine.not_drained,
            not_ready,
            paused_s,
            engine.drained_s,
            engine.placed,
            engine.cordoned_only,
            self._remaining.causes(engine, drain_s, max(0.0, held_s)) if is_complete else {},
        )

    def _write_entries(self) -> None:
        if self._entries:
            self.journal.write(self._entries)
            self._entries = []


def _action_key(action: ClusterAction) -> tuple[type, str]:
    return (
        type(action),
        action.pod.uid if isinstance(action, (Evict, Restart, Delete)) else str(getattr(action, "uid", "")),
    )
