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
    Entries,
    Entry,
    IntentOutcome,
    JournalIntent,
    Result,
    RunEnd,
    RunEvent,
    RunEvents,
    RunStanding,
    Verb,
)
from kubectl_eksdoc.model.selectors import Selector

from .events import THE_DRAIN, WENT_WRONG, Happened, RunMoment
from .history import PlannedNode
from .journal import Journaled, replay
from .progress import PodWaits, Reason, RunProgress
from .result import PendingPod, told_by


class ReplaySource(Enum):
    """The source of a replay; the value names it."""

    JOURNAL = "journal"
    EVENTS = "events"


WRITTEN_S, STALE_S = 5.0, 30.0
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
    began_at: datetime
    length_s: float
    aims: tuple[PlannedNode, ...]
    moments: tuple[RunMoment, ...]
    written: tuple[tuple[Entry, ...], ...] = ()
    by: str = ""
    ended: str = ""
    whole: bool = False
    said: tuple[str, ...] = ()
    planned: PlannedFigures | None = None
    dropped: tuple[str, ...] = ()
    standings: tuple[RunProgress, ...] = ()

    def standing_at(self, at_s: float) -> RunProgress | None:
        """Return the latest recorded progress at this time; None if it is too old."""
        until = bisect_right(self.standings, at_s, key=lambda each: each.at_s)
        found = self.standings[until - 1] if until else None
        return found if found is not None and at_s - found.at_s <= STALE_S else None

    def details(self, at: int) -> tuple[tuple[str, str], ...]:
        """Return what else is recorded of the event at this index, by name."""
        written = self.written[at] if at < len(self.written) else ()
        return tuple(field for entry in written for field in fields_of(entry))


def of_journal(journal: Entries) -> RunReplay | None:
    """Return the replay of a journal; None if no entry could be read."""
    entries = sorted(dict.fromkeys(journal.entries), key=lambda entry: entry.number)
    if not entries:
        return None
    stands, began = replay(journal), entries[0].at
    latest_s = (datetime.max.replace(tzinfo=began.tzinfo) - began).total_seconds() - 1
    told = list(told_by(entries))
    moments = tuple(in_order((moment for moment, _ in told), latest_s))
    last_s = max((entry.at - began).total_seconds() for entry in entries)
    begun = stands.begun
    aims = begun.aims if begun is not None else ()
    return RunReplay(
        run=begun.run if begun is not None else "",
        source=ReplaySource.JOURNAL,
        began_at=began,
        length_s=max(0.0, min(last_s, latest_s)),
        aims=tuple(PlannedNode(aim.node, aim.wave) for aim in aims),
        moments=moments,
        written=tuple(written for _, written in told),
        by=f"{begun.who}@{begun.host}" if begun is not None else "",
        ended=stands.ended or "",
        whole=stands.ended in (DONE, ROLLED_BACK),
        said=tuple(_more(stands)),
        dropped=stands.dropped,
    )


def in_order(moments: Iterable[RunMoment], latest_s: float) -> Iterator[RunMoment]:
    """Yield events with times that never decrease, whatever the clocks of different machines said."""
    now_s = 0.0
    for moment in moments:
        now_s = min(max(now_s, moment.at_s), max(latest_s, 0.0))
        yield moment._replace(at_s=now_s)


def fields_of(entry: Entry) -> tuple[tuple[str, str], ...]:
    """Return all fields of an entry about a change, by name; empty fields are left out."""
    said: tuple[tuple[str, str], ...] = ()
    match entry:
        case JournalIntent():
            said = (
                ("asked", f"{entry.verb.value} {entry.kind} {_subject(entry)}"),
                ("uid", entry.uid),
                ("grace", "" if entry.grace_s is None else f"{entry.grace_s} s"),
                ("before", entry.before),
            )
        case Result():
            said = (
                ("answer", entry.outcome.value),
                ("HTTP code", str(entry.code) if entry.code else ""),
                ("trouble", entry.trouble),
                ("said", entry.said),
            )
    written = (f"entry {entry.number}", f"{entry.at:%Y-%m-%d %H:%M:%S.%f}Z")
    return (written, *((name, value) for name, value in said if value))


def _more(stands: Journaled) -> Iterator[str]:
    """Yield facts that the events do not contain."""
    back = {
        change.intent.name: None
        for change in stands.changes
        if change.intent.verb is Verb.RESTORE and change.outcome is IntentOutcome.DONE
    }
    if back:
        yield f"Given back as they were before: {', '.join(back)}."
    if stands.in_doubt:
        doubts = (f"{change.intent.verb.value} {_subject(change.intent)}" for change in stands.in_doubt)
        yield f"The results of these are not in it: {', '.join(doubts)}."


def _subject(intent: JournalIntent) -> str:
    return f"{intent.namespace}/{intent.name}" if intent.namespace else intent.name


# Replay from events: those of ``drain run -o json``, followed by those of ``drain resume``.


GONE_ON_WITH = "another process continued it"

_OF_NODES = frozenset(
    (
        Happened.CORDONED,
        Happened.BEGUN,
        Happened.EMPTY,
        Happened.DONE,
        Happened.LEFT_ALONE,
        Happened.LOST,
        Happened.EXCLUDED,
    )
)
_WORDS = {what.value: what for what in Happened}
_ABOUT_S = 1.0
"""Clock times are recorded in whole seconds."""


def of_events(events: RunEvents) -> RunReplay | None:
    """Return the replay of events; None if no event could be read. Events of other runs than the first are dropped with
    a message."""
    first = next((each for each in events.told if isinstance(each, RunEvent)), None)
    if first is None:
        return None
    ours = [each for each in events.told if each.run == first.run]
    strange = [f"an event {word!r} is not known to this version" for word in dict.fromkeys(_unknown(ours))]
    others = len(events.told) - len(ours)
    if others:
        strange.append(f"lines of other runs than {first.run}: {others}")
    began = first.at - timedelta(seconds=int(first.at_s))  # as precise as the recorded clock times
    parts = list(_parts(ours))
    found = tuple(in_order(_moments(parts, began), inf))
    ends = [each for each in ours if isinstance(each, RunEnd)]
    end = ours[-1] if isinstance(ours[-1], RunEnd) else None
    length_s = found[-1].at_s if found else 0.0
    told = end.said if end is not None else ()
    return RunReplay(
        run=first.run,
        source=ReplaySource.EVENTS,
        began_at=began,
        length_s=max(length_s, end.ended_s) if end is not None and len(ends) == 1 else length_s,
        aims=_aims(ends, found),
        moments=found,
        by=ends[0].by if ends and not ends[0].resumed else "",
        ended=_how(end) if end is not None else "",
        whole=end is not None and end.outcome == DONE,
        said=tuple(told) if len(parts) < 2 else tuple(f"Its last part: {each}" for each in told),  # with its own counts
        planned=_planned(ends),
        dropped=(*events.dropped, *strange),
        standings=tuple(_standings(events, first.run, began)),
    )


def written(standing: RunProgress, run: str, at: datetime) -> RunStanding:
    """Return the part of the progress that a replay needs."""
    budgets = ((each, each.status) for each in standing.budgets)
    return RunStanding(
        run,
        at,
        standing.leaving,
        standing.half,
        standing.cordoned,
        tuple((each.pod, each.node, each.why, each.budget) for each in standing.waits),
        tuple((each.of, each.why, each.for_s, each.usual, each.remedy, each.more) for each in standing.why),
        tuple((of.namespace, of.name, now.allowed, now.current, now.desired, now.expected) for of, now in budgets),
        tuple((each.pod, each.why) for each in standing.pending),
        tuple((each.pod, each.why) for each in standing.coming),
        standing.stopped or standing.held,
        standing.paused,
    )


def _standings(events: RunEvents, run: str, began: datetime) -> Iterator[RunProgress]:
    at_s = 0.0
    for each in events.standings:
        if each.run != run:
            continue
        at_s = max(at_s, (each.at - began).total_seconds())
        yield RunProgress(
            at_s,
            0,
            0,
            each.leaving,
            0,
            (),
            each.half,
            each.cordoned,
            (),
            waits=tuple(PodWaits(*waits) for waits in each.waits),
            held=each.held,
            budgets=tuple(
                Budget(namespace, name, "", Selector(), BudgetStatus(*numbers))
                for namespace, name, *numbers in each.budgets
            ),
            pending=tuple(PendingPod(*waits) for waits in each.pending),
            coming=tuple(PendingPod(*waits) for waits in each.coming),
            why=tuple(Reason(*why) for why in each.why),
            paused=each.paused,
        )


def _unknown(told: Sequence[RunEvent | RunEnd]) -> Iterator[str]:
    return (each.what for each in told if isinstance(each, RunEvent) and each.what not in _WORDS)


Part = tuple[list[RunEvent], RunEnd | None]
"""The events of one process of the run, at least one; None if it did not end."""


def _parts(told: Sequence[RunEvent | RunEnd]) -> Iterator[Part]:
    """Yield the parts. A part starts after the end of another, and where the seconds start again."""
    events: list[RunEvent] = []
    for each in told:
        if isinstance(each, RunEnd):
            if events:
                yield events, each
            events = []
            continue
        if events and each.at_s < events[-1].at_s - _ABOUT_S:
            yield events, None
            events = []
        events.append(each)
    if events:
        yield events, None


def _moments(parts: Sequence[Part], began: datetime) -> Iterator[RunMoment]:
    for at, (events, _) in enumerate(parts):
        offset_s = (events[0].at - began).total_seconds() - events[0].at_s if at else 0.0
        if at:
            yield RunMoment(offset_s, Happened.ADOPTED, THE_DRAIN, "", GONE_ON_WITH)
        for each in events:
            what = _WORDS.get(each.what)
            if what is not None:
                yield RunMoment(offset_s + each.at_s, what, each.subject, each.node, each.why)


def _aims(ends: Sequence[RunEnd], moments: Sequence[RunMoment]) -> tuple[PlannedNode, ...]:
    """Return the nodes as the end of each part lists them, then as they appear."""
    waves: dict[str, int] = {}
    for end in ends:
        for node, wave in end.nodes:
            waves.setdefault(node, wave)
    for moment in moments:
        node = moment.node or (moment.subject if moment.what in _OF_NODES else "")
        if node:
            waves.setdefault(node, 0)
    return tuple(PlannedNode(node, wave) for node, wave in waves.items())


def _planned(ends: Sequence[RunEnd]) -> PlannedFigures | None:
    """Return the planned figures; the plan of a part that was resumed is not that of the whole run."""
    if len(ends) != 1 or ends[0].resumed or ends[0].evictions is None:
        return None
    return PlannedFigures(ends[0].evictions, ends[0].p50_s, ends[0].p95_s)


def _how(end: RunEnd) -> str:
    return end.stopped or (f"not emptied: {', '.join(end.left)}" if end.left else end.outcome)


# Playback of a recorded run: a position in its time that moves on, is paused, or is moved by the user.


SPEEDS = (0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 500.0)
"""Seconds of the run per second of playback."""

LONGEST_S = 120.0
"""At the initial speed the playback ends within this time, if any speed is fast enough."""


class ReplayNews(NamedTuple):
    """New events since the last call. `restarted`: the position moved back, so `events` are all events from the start,
    and earlier ones do not count any more."""

    moments: Sequence[RunMoment]
    anew: bool


class Replay:
    """Mutable: `at_s` is the position, from 0 to the recording's length; `speed` is one of `SPEEDS`."""

    def __init__(self, recording: RunReplay) -> None:
        self.recording = recording
        self.at_s = 0.0
        self.paused = False
        self.speed = next(
            (speed for speed in SPEEDS if speed >= 1 and recording.length_s / speed <= LONGEST_S), SPEEDS[-1]
        )
        self._times = [moment.at_s for moment in recording.moments]
        self._wrong = [moment.at_s for moment in recording.moments if moment.what in WENT_WRONG]
        self._told = 0  # number of returned events

    @property
    def at_end(self) -> bool:
        return self.at_s >= self.recording.length_s

    @property
    def moves(self) -> bool:
        return not (self.paused or self.at_end)

    def pass_by(self, seconds: float) -> None:
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

    def faster(self, steps: int) -> bool:
        """Change the speed by `steps`, negative for slower; return whether there is such a speed."""
        place = SPEEDS.index(self.speed) + steps
        if not 0 <= place < len(SPEEDS):
            return False
        self.speed = SPEEDS[place]
        return True

    def step(self, direction: int) -> bool:
        """Move to the next event (1) or the previous one (-1) and pause there; return whether there is one."""
        return self._stand_at(self._times, direction)

    def to_wrong(self, direction: int) -> bool:
        """The same for events that show a problem."""
        return self._stand_at(self._wrong, direction)

    def take(self) -> ReplayNews:
        until = bisect_right(self._times, self.at_s)
        since, self._told = self._told, until
        anew = until < since
        return ReplayNews(self.recording.moments[0 if anew else since : until], anew)

    def _stand_at(self, times: Sequence[float], direction: int) -> bool:
        later = direction > 0
        found = [at_s for at_s in times if (at_s > self.at_s if later else at_s < self.at_s)]
        if not found:
            return False
        self.at_s, self.paused = (min(found) if later else max(found)), True
        return True
