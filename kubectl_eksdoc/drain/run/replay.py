"""Replay of a recorded run, from its journal or from its events.

Both contain less than the run knew, and different things: missing values are reported as missing, never guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.journal import (
    DONE,
    ROLLED_BACK,
    IntentEntry,
    IntentOutcome,
    JournalEntries,
    JournalEntry,
    ResultEntry,
    RunEnd,
    RunEvent,
    RunEvents,
    RunStanding,
    Verb,
)
from kubectl_eksdoc.model.selectors import Selector

from .events import PROBLEM_EVENTS, THE_DRAIN, DrainEvent, DrainEventKind
from .history import PlannedNode
from .journal import JournalState, replay_journals
from .progress import Reason, RunProgress, WaitingPod
from .result import PendingPod, journal_events


class ReplaySource(Enum):
    """The source of a replay; the value names it."""

    JOURNAL = "journal"
    EVENTS = "events"


RECORD_INTERVAL_S, MAX_RECORD_AGE_S = 5.0, 30.0
"""Maximum interval at which the progress is recorded, and maximum time for which a record is valid."""


@frozen
class PlannedFigures:
    """`pods`: number of pods to evict; p50 and p95 of the estimate in seconds, None if there is none."""

    pods: int
    p50_s: float | None = None
    p95_s: float | None = None


@frozen
class RunReplay:
    """`events` in the order of their times, from 0 to `length_s`, in seconds since `started_at` (UTC); `entries`: for
    each of them the journal entries it is derived from, () for events. `planned_nodes` contain no pods, which are added
    as they appear; their waves are those of the start.

    `started_by`: who started it, "" if unknown. `outcome`: the outcome, a word or a sentence, "" if it was not
    recorded; `is_complete`: every node was emptied, or rolled back on request. `details_text` has more about the
    outcome, line by line. `plan_figures` is None if unknown; `dropped` lists ignored input.
    """

    run: str
    source: ReplaySource
    started_at: datetime
    length_s: float
    planned_nodes: tuple[PlannedNode, ...]
    events: tuple[DrainEvent, ...]
    entries: tuple[tuple[JournalEntry, ...], ...] = ()
    started_by: str = ""
    outcome: str = ""
    is_complete: bool = False
    details_text: tuple[str, ...] = ()
    plan_figures: PlannedFigures | None = None
    dropped: tuple[str, ...] = ()
    progress_records: tuple[RunProgress, ...] = ()

    def progress_at(self, at_s: float) -> RunProgress | None:
        """Return the latest recorded progress at this time; None if it is too old."""
        until = bisect_right(self.progress_records, at_s, key=lambda each: each.at_s)
        record = self.progress_records[until - 1] if until else None
        return record if record is not None and at_s - record.at_s <= MAX_RECORD_AGE_S else None

    def details(self, index: int) -> tuple[tuple[str, str], ...]:
        """Return what else is recorded of the event at this index, by name."""
        entries = self.entries[index] if index < len(self.entries) else ()
        return tuple(field for entry in entries for field in entry_fields(entry))


def from_journal(journal: JournalEntries) -> RunReplay | None:
    """Return the replay of a journal; None if no entry could be read."""
    entries = sorted(dict.fromkeys(journal.entries), key=lambda entry: entry.number)
    if not entries:
        return None
    state, started_at = replay_journals(journal), entries[0].at
    latest_s = (datetime.max.replace(tzinfo=started_at.tzinfo) - started_at).total_seconds() - 1
    events_with_entries = list(journal_events(entries))
    events = tuple(in_time_order((event for event, _ in events_with_entries), latest_s))
    last_s = max((entry.at - started_at).total_seconds() for entry in entries)
    start_entry = state.started
    start_nodes = start_entry.aims if start_entry is not None else ()
    return RunReplay(
        run=start_entry.run if start_entry is not None else "",
        source=ReplaySource.JOURNAL,
        started_at=started_at,
        length_s=max(0.0, min(last_s, latest_s)),
        planned_nodes=tuple(PlannedNode(planned_node.node, planned_node.wave) for planned_node in start_nodes),
        events=events,
        entries=tuple(written for _, written in events_with_entries),
        started_by=f"{start_entry.who}@{start_entry.host}" if start_entry is not None else "",
        outcome=state.ended or "",
        is_complete=state.ended in (DONE, ROLLED_BACK),
        details_text=tuple(_additional_texts(state)),
        dropped=state.dropped,
    )


def in_time_order(events: Iterable[DrainEvent], latest_s: float) -> Iterator[DrainEvent]:
    """Yield events with times that never decrease, whatever the clocks of different machines said."""
    now_s = 0.0
    for event in events:
        now_s = min(max(now_s, event.at_s), max(latest_s, 0.0))
        yield event._replace(at_s=now_s)


def entry_fields(entry: JournalEntry) -> tuple[tuple[str, str], ...]:
    """Return all fields of an entry about a change, by name; empty fields are left out."""
    fields: tuple[tuple[str, str], ...] = ()
    match entry:
        case IntentEntry():
            fields = (
                ("asked", f"{entry.verb.value} {entry.kind} {_subject(entry)}"),
                ("uid", entry.uid),
                ("grace", "" if entry.grace_s is None else f"{entry.grace_s} s"),
                ("before", entry.before),
            )
        case ResultEntry():
            fields = (
                ("answer", entry.outcome.value),
                ("HTTP code", str(entry.code) if entry.code else ""),
                ("trouble", entry.trouble),
                ("said", entry.said),
            )
    written = (f"entry {entry.number}", f"{entry.at:%Y-%m-%d %H:%M:%S.%f}Z")
    return (written, *((name, value) for name, value in fields if value))


def _additional_texts(state: JournalState) -> Iterator[str]:
    """Yield facts that the events do not contain."""
    restored = {
        change.intent.name: None
        for change in state.changes
        if change.intent.verb is Verb.RESTORE and change.outcome is IntentOutcome.DONE
    }
    if restored:
        yield f"Given back as they were before: {', '.join(restored)}."
    if state.in_doubt:
        uncertain = (f"{change.intent.verb.value} {_subject(change.intent)}" for change in state.in_doubt)
        yield f"The results of these are not in it: {', '.join(uncertain)}."


def _subject(intent: IntentEntry) -> str:
    return f"{intent.namespace}/{intent.name}" if intent.namespace else intent.name


# Replay from events: those of ``drain run -o json``, followed by those of ``drain resume``.


CONTINUED_BY_OTHER = "another process continued it"

_NODE_EVENTS = frozenset(
    (
        DrainEventKind.CORDONED,
        DrainEventKind.BEGUN,
        DrainEventKind.EMPTY,
        DrainEventKind.DONE,
        DrainEventKind.LEFT_ALONE,
        DrainEventKind.LOST,
        DrainEventKind.EXCLUDED,
    )
)
_KINDS_BY_VALUE = {what.value: what for what in DrainEventKind}
_CLOCK_PRECISION_S = 1.0
"""Clock times are recorded in whole seconds."""


def from_events(events: RunEvents) -> RunReplay | None:
    """Return the replay of events; None if no event could be read. Events of other runs than the first are dropped with
    a message."""
    first = next((each for each in events.events if isinstance(each, RunEvent)), None)
    if first is None:
        return None
    run_events = [each for each in events.events if each.run == first.run]
    problems = [f"an event {word!r} is not known to this version" for word in dict.fromkeys(_unknown_kinds(run_events))]
    other_count = len(events.events) - len(run_events)
    if other_count:
        problems.append(f"lines of other runs than {first.run}: {other_count}")
    started_at = first.at - timedelta(seconds=int(first.at_s))  # as precise as the recorded clock times
    parts = list(_parts(run_events))
    drain_events = tuple(in_time_order(_drain_events(parts, started_at), inf))
    ends = [each for each in run_events if isinstance(each, RunEnd)]
    end = run_events[-1] if isinstance(run_events[-1], RunEnd) else None
    length_s = drain_events[-1].at_s if drain_events else 0.0
    end_texts = end.said if end is not None else ()
    return RunReplay(
        run=first.run,
        source=ReplaySource.EVENTS,
        started_at=started_at,
        length_s=max(length_s, end.ended_s) if end is not None and len(ends) == 1 else length_s,
        planned_nodes=_planned_nodes(ends, drain_events),
        events=drain_events,
        started_by=ends[0].by if ends and not ends[0].resumed else "",
        outcome=_outcome_text(end) if end is not None else "",
        is_complete=end is not None and end.outcome == DONE,
        details_text=tuple(end_texts)
        if len(parts) < 2
        else tuple(f"Its last part: {each}" for each in end_texts),  # with its own counts
        plan_figures=_plan_figures(ends),
        dropped=(*events.dropped, *problems),
        progress_records=tuple(_progress_records(events, first.run, started_at)),
    )


def progress_record(progress: RunProgress, run: str, timestamp: datetime) -> RunStanding:
    """Return the part of the progress that a replay needs."""
    budgets = ((each, each.status) for each in progress.budgets)
    return RunStanding(
        run,
        timestamp,
        progress.in_flight,
        progress.half_drained,
        progress.cordoned,
        tuple((each.pod, each.node, each.reason, each.budget) for each in progress.waiting_pods),
        tuple(
            (each.subject, each.reason, each.for_s, each.typical, each.remedy, each.others) for each in progress.reasons
        ),
        tuple(
            (budget.namespace, budget.name, status.allowed, status.current, status.desired, status.expected)
            for budget, status in budgets
        ),
        tuple((each.pod, each.why) for each in progress.pending),
        tuple((each.pod, each.why) for each in progress.starting),
        progress.stop_reason or progress.hold_reason,
        progress.paused,
    )


def _progress_records(events: RunEvents, run: str, started_at: datetime) -> Iterator[RunProgress]:
    at_s = 0.0
    for record in events.standings:
        if record.run != run:
            continue
        at_s = max(at_s, (record.at - started_at).total_seconds())
        yield RunProgress(
            at_s,
            0,
            0,
            record.leaving,
            0,
            (),
            record.half,
            record.cordoned,
            (),
            waiting_pods=tuple(WaitingPod(*fields) for fields in record.waits),
            hold_reason=record.held,
            budgets=tuple(
                Budget(namespace, name, "", Selector(), BudgetStatus(*numbers))
                for namespace, name, *numbers in record.budgets
            ),
            pending=tuple(PendingPod(*fields) for fields in record.pending),
            starting=tuple(PendingPod(*fields) for fields in record.coming),
            reasons=tuple(Reason(*reason) for reason in record.why),
            paused=record.paused,
        )


def _unknown_kinds(records: Sequence[RunEvent | RunEnd]) -> Iterator[str]:
    return (each.what for each in records if isinstance(each, RunEvent) and each.what not in _KINDS_BY_VALUE)


Part = tuple[list[RunEvent], RunEnd | None]
"""The events of one process of the run, at least one; None if it did not end."""


def _parts(records: Sequence[RunEvent | RunEnd]) -> Iterator[Part]:
    """Yield the parts. A part starts after the end of another, and where the seconds start again."""
    events: list[RunEvent] = []
    for record in records:
        if isinstance(record, RunEnd):
            if events:
                yield events, record
            events = []
            continue
        if events and record.at_s < events[-1].at_s - _CLOCK_PRECISION_S:
            yield events, None
            events = []
        events.append(record)
    if events:
        yield events, None


def _drain_events(parts: Sequence[Part], started_at: datetime) -> Iterator[DrainEvent]:
    for index, (events, _) in enumerate(parts):
        offset_s = (events[0].at - started_at).total_seconds() - events[0].at_s if index else 0.0
        if index:
            yield DrainEvent(offset_s, DrainEventKind.ADOPTED, THE_DRAIN, "", CONTINUED_BY_OTHER)
        for event in events:
            kind = _KINDS_BY_VALUE.get(event.what)
            if kind is not None:
                yield DrainEvent(offset_s + event.at_s, kind, event.subject, event.node, event.why)


def _planned_nodes(ends: Sequence[RunEnd], events: Sequence[DrainEvent]) -> tuple[PlannedNode, ...]:
    """Return the nodes as the end of each part lists them, then as they appear."""
    waves: dict[str, int] = {}
    for end in ends:
        for node, wave in end.nodes:
            waves.setdefault(node, wave)
    for event in events:
        node = event.node or (event.subject if event.what in _NODE_EVENTS else "")
        if node:
            waves.setdefault(node, 0)
    return tuple(PlannedNode(node, wave) for node, wave in waves.items())


def _plan_figures(ends: Sequence[RunEnd]) -> PlannedFigures | None:
    """Return the planned figures; the plan of a part that was resumed is not that of the whole run."""
    if len(ends) != 1 or ends[0].resumed or ends[0].evictions is None:
        return None
    return PlannedFigures(ends[0].evictions, ends[0].p50_s, ends[0].p95_s)


def _outcome_text(end: RunEnd) -> str:
    return end.stopped or (f"not emptied: {', '.join(end.left)}" if end.left else end.outcome)


# Playback of a recorded run: a position in its time that moves on, is paused, or is moved by the user.


SPEEDS = (0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 500.0)
"""Seconds of the run per second of playback."""

MAX_PLAYBACK_S = 120.0
"""At the initial speed the playback ends within this time, if any speed is fast enough."""


class ReplayUpdate(NamedTuple):
    """New events since the last call. `restarted`: the position moved back, so `events` are all events from the start,
    and earlier ones do not count any more."""

    events: Sequence[DrainEvent]
    restarted: bool


class Replay:
    """Mutable: `at_s` is the position, from 0 to the recording's length; `speed` is one of `SPEEDS`."""

    def __init__(self, recorded_run: RunReplay) -> None:
        self.recording = recorded_run
        self.at_s = 0.0
        self.paused = False
        self.speed = next(
            (speed for speed in SPEEDS if speed >= 1 and recorded_run.length_s / speed <= MAX_PLAYBACK_S), SPEEDS[-1]
        )
        self._times = [event.at_s for event in recorded_run.events]
        self._problem_times = [event.at_s for event in recorded_run.events if event.what in PROBLEM_EVENTS]
        self._returned_events = 0  # number of returned events

    @property
    def at_end(self) -> bool:
        return self.at_s >= self.recording.length_s

    @property
    def is_moving(self) -> bool:
        return not (self.paused or self.at_end)

    def advance(self, seconds: float) -> None:
        """Advance by this many seconds of real time."""
        if not self.paused:
            self.go_to(self.at_s + seconds * self.speed)

    def go_to(self, at_s: float) -> None:
        """Set the position, within the recording."""
        self.at_s = min(max(at_s, 0.0), self.recording.length_s)

    def play_or_pause(self) -> None:
        """Toggle; at the end, play from the start."""
        if self.at_end:
            self.at_s, self.paused = 0.0, False
        else:
            self.paused = not self.paused

    def change_speed(self, steps: int) -> bool:
        """Change the speed by `steps`, negative for slower; return whether there is such a speed."""
        index = SPEEDS.index(self.speed) + steps
        if not 0 <= index < len(SPEEDS):
            return False
        self.speed = SPEEDS[index]
        return True

    def step(self, direction: int) -> bool:
        """Move to the next event (1) or the previous one (-1) and pause there; return whether there is one."""
        return self._pause_at(self._times, direction)

    def step_to_problem(self, direction: int) -> bool:
        """The same for events that show a problem."""
        return self._pause_at(self._problem_times, direction)

    def next_update(self) -> ReplayUpdate:
        until = bisect_right(self._times, self.at_s)
        since, self._returned_events = self._returned_events, until
        restarted = until < since
        return ReplayUpdate(self.recording.events[0 if restarted else since : until], restarted)

    def _pause_at(self, times: Sequence[float], direction: int) -> bool:
        later = direction > 0
        candidates = [at_s for at_s in times if (at_s > self.at_s if later else at_s < self.at_s)]
        if not candidates:
            return False
        self.at_s, self.paused = (min(candidates) if later else max(candidates)), True
        return True
