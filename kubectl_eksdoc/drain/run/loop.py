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
from kubectl_eksdoc.kubernetes.api.resources import LostAnswer
from kubectl_eksdoc.kubernetes.news import AllBudgets, AllNodes, AllPods, News, RequestAnswered
from kubectl_eksdoc.model.actions import Act, Delete, Errand, Evict, Hook, Restart
from kubectl_eksdoc.model.journal import DONE, Entry, JournalIntent, JournalNote, RunPhase
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.ports import DrainLock, Field, Journal

from .engine import Engine
from .events import Happened, RunMoment
from .history import held_for_s
from .journal import JournalWriter, changes_something
from .limits import RunLimits
from .other_drains import Replanning
from .progress import Reason, RunProgress, coming, reasons, standing
from .remaining import Remaining
from .result import PendingPod, Record

LOOK_S = 1.0
"""Interval at which user requests are read."""

_LISTS: frozenset[type] = frozenset((AllNodes, AllPods, AllBudgets))


@frozen
class ApiOutage:
    """Waits while the lock is in doubt. `longest_s`: maximum time. `hear` receives the updates; `ends` returns why the
    run is to end, "" if it is not, and is called every second."""

    _lock: DrainLock
    _field: Field
    _longest_s: float
    _hear: Callable[[News], object]
    _ends: Callable[[], str]

    def said(self, doubt: LockInDoubt) -> str:
        """Return why nothing is changed now, for users."""
        so_long = duration(round(self._lock.doubted_s))
        if not doubt.failed:
            return f"this machine stood still for {so_long}: it continues if no other client has drained here meanwhile"
        why = f"{doubt.failed}, so the lock could not be renewed for {so_long}"
        return f"{why}; nothing is changed meanwhile; it continues automatically or can be stopped"

    def sit_out(self, doubt: LockInDoubt) -> None:
        """Wait until the lock is held again and everything was listed again.

        Raises:
            LockLost: it cannot be regained, or the wait was too long.
            Unauthorized, Forbidden: the cluster must not be watched any more.
        """
        while True:
            self._check(doubt)
            if self._lock.regained(LOOK_S) and self._looked_anew(doubt):
                try:
                    self._lock.go_on()
                except LockInDoubt as again:
                    doubt = again
                else:
                    return

    def _looked_anew(self, doubt: LockInDoubt) -> bool:
        """Whether everything was listed again; False if the lock was lost again meanwhile."""
        self._check(doubt)
        self._field.renew()
        unseen = set(_LISTS)
        while unseen:
            for news in self._field.news(LOOK_S):
                self._hear(news)
                unseen.discard(type(news))
            self._check(doubt)
            if unseen and not self._lock.regained(0.0):
                return False
        return True

    def _check(self, doubt: LockInDoubt) -> None:
        """Raises LockLost: the wait is over."""
        why, for_s = self._ends(), self._lock.doubted_s
        if why:
            raise LockLost(f"{why}; {doubt.message}", doubt.hint)
        if for_s >= self._longest_s:
            limit = duration(round(self._longest_s))
            raise LockLost(f"it was unknown for {limit} whose the lock was: {doubt.message}", doubt.hint)


SHOW_S = 0.5
"""Minimum interval between two computations of the progress, which reads every pod."""

EXPLAIN_S = 60.0
"""After this time without an event the reasons are reported, and then again after the same time."""

_NO_PROGRESS = (Happened.REFUSED, Happened.WARNED)

TELL_S = 10.0
"""Interval at which the progress is published in the cluster."""

SHORTEST_S = 0.001
"""Minimum wait, so that fractions of a second do not cause a busy loop."""


class RunWish(Enum):
    """What the user requests of a run."""

    GO_ON = "go-on"
    PAUSE = "pause"  # send no requests until it is GO_ON again
    FINISH_WAVE = "finish-wave"  # start no further wave, and end after the current one
    STOP = "stop"  # send no more requests, let those in flight settle, and end
    LEAVE = "leave"  # end at once: requests in flight settle by themselves


class RunWishState(NamedTuple):
    """`requester`: "" for the user of this process. `reason`: the event that made the request if no user did, as a
    clause. `nodes_left_alone`: nodes to leave alone from now on."""

    what: RunWish = RunWish.GO_ON
    who: str = ""
    why: str = ""
    alone: frozenset[str] = frozenset()

    @property
    def by(self) -> str:
        return self.who or "the user"

    @property
    def stops(self) -> str:
        """Why the run is to end; "" if it is not."""
        return (self.why or f"{self.by} stopped it") if self.what in (RunWish.STOP, RunWish.LEAVE) else ""


class DrainClock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


_NOTED: Mapping[Happened, JournalNote] = {
    Happened.DONE: JournalNote.NODE_DONE,
    Happened.LEFT_ALONE: JournalNote.LEFT_ALONE,
    Happened.LOST: JournalNote.LOST,
}


@frozen
class DrainRunEnd:
    """`stop_reason`: why the run sent no more requests, "" if it did not stop; `record`: what was planned and what
    happened."""

    stopped: str
    record: Record

    @property
    def undone(self) -> Mapping[str, tuple[str, ...]]:
        """Nodes that exist and were not emptied, each with its remaining pods (ns/name)."""
        return self.record.undone

    @property
    def whole(self) -> bool:
        """Whether all of the plan was done."""
        return not self.stopped and not self.undone

    @property
    def said(self) -> str:
        """The outcome, as written to the journal."""
        if self.stopped or not self.undone:
            return self.stopped or DONE
        return f"not emptied: {', '.join(sorted(self.undone))}"


@dataclass(eq=False)
class Draining:
    """One run of an engine. Mutable; `listen` receives all events as they happen. Without `replanning`, pods that were
    scheduled onto nodes after the plan was made are only waited for.

    The caller renews the lock; this class only checks whether it is held. While that is in doubt, nothing is written or
    changed; pending entries are written and pending requests checked when the lock is held again (`ApiOutage`).

    `show` receives the progress at least every second. `max_outage_s`: how long the lock may be in doubt. `explain`
    receives what the run waits for, and for how long nothing has happened, every minute without an event.
    `records_times`: later plans may use the measured times; False for a cluster that runs faster than the clock.
    """

    engine: Engine
    field: Field
    journal: Journal
    lock: DrainLock
    clock: DrainClock
    scribe: JournalWriter
    listen: Callable[[Sequence[RunMoment]], object]
    wish: Callable[[], RunWishState] = RunWishState
    show: Callable[[RunProgress], object] = lambda standing: None
    replanning: Replanning | None = None
    away_s: float = RunLimits().away_s
    explain: Callable[[Sequence[Reason], float], object] = lambda reasons, for_s: None
    teaches: bool = True

    def __post_init__(self) -> None:
        self._happened_s = self._explained_s = 0.0
        self._remaining = Remaining(self.engine.plan)
        self._soaks_s = self.engine.soaks_left_s(0.0)
        self._shown_s, self._told_s = -SHOW_S, -TELL_S
        self._phase = RunPhase.RUNNING
        self._begun_s = self.clock.monotonic()
        self._intents: dict[
            tuple[type, str], JournalIntent
        ] = {}  # without a response, by type of action and UID of node or pod
        self._entries: list[Entry] = []  # to be written with the next entries
        self._unbegun: deque[Errand] = deque()  # requested by the engine, not sent yet
        self._untold: list[RunMoment] = []
        self._ended: DrainRunEnd | None = None
        self._paused = self._leaves = False
        self._alone: frozenset[str] = frozenset()
        self._outage = ApiOutage(self.lock, self.field, self.away_s, self._hear, self._ends_waiting)

    def to_the_end(self) -> DrainRunEnd:
        """Drain until nothing is left to do, or the run must stop.

        Raises:
            LockLost, JournalError: at once; nothing more is done.
            Unauthorized, Forbidden: the cluster must not be watched any more.
        """
        while True:
            try:
                ended = self._go_on()
            except LockInDoubt as doubt:
                # Nothing changes while it is in doubt whether the lock is still held.
                self.engine.hold(self._outage.said(doubt), self._now_s, self._now_s - self.lock.doubted_s)
                self._collect()
                self._listen_now()  # it cannot be journaled now
                self._outage.sit_out(doubt)
                self._told_s = -TELL_S
                unbegun, self._unbegun = self._unbegun, deque()
                for act in unbegun:
                    if changes_something(act):
                        self._hear(RequestAnswered(act, LostAnswer(f"it was not sent: {doubt.message}")))
                    else:
                        self._unbegun.append(act)  # sent in the next round, which detects another doubt
            except JournalError:
                if not self._is_in_doubt():
                    raise
            else:
                if ended is not None:
                    return ended

    def left(self, why: str) -> DrainRunEnd:
        """Return the state of the run when an error ended it."""
        return DrainRunEnd(why, self._record())

    def _go_on(self) -> DrainRunEnd | None:
        """Do one round; not None: it was the last. Raises: as `run`; LockInDoubt."""
        self._heed()
        if self.replanning is not None:
            self.replanning.look(lambda: self._now_s)
        # Journaled, then checked, then sent, one after the other.
        acts = self.engine.acts(self._now_s)
        for change in filter(changes_something, acts):
            intent = self.scribe.intent(change, self.clock.now())
            self._intents[_key(change)] = intent
            self._entries.append(intent)
        self._unbegun.extend(acts)
        if any(map(changes_something, self._unbegun)):  # also those of a round in which they could not be written
            self._keep()
        self._begin()
        self._tell()
        if self.engine.over or self.engine.is_settled(self._now_s) or self._leaves:
            return self._end()
        self._tell_where()
        self._tell_why()
        for news in self.field.news(self._wait_s()):
            self._hear(news)
        return None

    def _is_in_doubt(self) -> bool:
        """Whether a doubtful lock is why nothing could be written: the next round handles it. Raises LockLost."""
        try:
            self.lock.must_be_held()
        except LockInDoubt:
            return True
        return False

    def _ends_waiting(self) -> str:
        """Return why the run is to end while it waits for the lock; "" if it is not."""
        self.show(standing(self.engine, self._remaining, self._now_s))
        self._tell_why()
        return self.wish().stops

    @property
    def _now_s(self) -> float:
        return self.clock.monotonic() - self._begun_s

    def _wait_s(self) -> float:
        left_s = self.engine.next_s(self._now_s) - self._now_s
        return min(LOOK_S, max(SHORTEST_S, left_s))

    def _heed(self) -> None:
        wished = self.wish()
        wish, who, why = wished.what, wished.who, wished.why
        for node in sorted(wished.alone - self._alone):
            self.engine.leave_alone(node, f"{wished.by} wanted it left alone", self._now_s)
        self._alone |= wished.alone
        self.engine.finish_wave(f"{wished.by} stopped it after a wave" if wish is RunWish.FINISH_WAVE else "")
        if wish is RunWish.STOP and self.engine.drained:
            self.engine.wait_no_longer()  # nothing else can be stopped
        elif wished.stops and not self.engine.stopped:
            self.engine.stop(wished.stops, self._now_s)
            self._phase = RunPhase.ABORTED
            self._told_s = -TELL_S
            self._entries.append(self.scribe.note(JournalNote.ABORTED, self.clock.now(), who, why))
        self._leaves = wish is RunWish.LEAVE
        if self._paused is not (wish is RunWish.PAUSE) and not self.engine.stopped:
            self._paused = wish is RunWish.PAUSE
            self._phase = RunPhase.PAUSED if self._paused else RunPhase.RUNNING
            noted = JournalNote.PAUSED if self._paused else JournalNote.RESUMED
            paused = f"{wished.by} paused it" if self._paused else ""  # readers of the journal need the reason
            self._entries.append(self.scribe.note(noted, self.clock.now(), who, paused))
            self._told_s = -TELL_S
        self.engine.pause(f"{wished.by} paused it" if self._paused else "")

    def _begin(self) -> None:
        while self._unbegun:
            if changes_something(self._unbegun[0]) or isinstance(self._unbegun[0], Hook):
                self.lock.must_be_held()
            self.field.do(self._unbegun.popleft())

    def _hear(self, news: News) -> None:
        if isinstance(news, RequestAnswered):
            intent = self._intents.pop(_key(news.act), None)
            if intent is not None:
                self._entries.append(self.scribe.result(intent, news.answer, self.clock.now()))
        self.engine.take(news, self._now_s)

    def _tell(self) -> None:
        self._collect()
        if self._untold:
            self._keep()
            self._listen_now()

    def _collect(self) -> None:
        """Collect new events for listeners and the journal."""
        new = self.engine.new_moments()
        now = self.clock.now()
        for moment in new:
            if moment.what in _NOTED:
                self._entries.append(self.scribe.note(_NOTED[moment.what], now, moment.subject, moment.why))
        if any(moment.what is Happened.DONE for moment in new):
            self._note_stops()
        self._untold += new
        if any(moment.what not in _NO_PROGRESS for moment in new):
            self._happened_s = self._now_s

    def _note_stops(self) -> None:
        """Journal how long pods took to stop, for later plans with the same templates."""
        measured, now = self._remaining.measured, self.clock.now()
        measured.look(self.engine.moments)
        if not self.teaches:
            return
        self._entries += [self.scribe.stopped(template, new, now) for template, new in measured.unwritten()]

    def _listen_now(self) -> None:
        untold, self._untold = self._untold, []
        self.listen(untold)

    def _tell_where(self) -> None:
        """Report the progress here, and at intervals in the cluster."""
        now_s = self._now_s
        if now_s - self._shown_s < SHOW_S and now_s - self._told_s < TELL_S:
            return
        self._shown_s = now_s
        stands = standing(self.engine, self._remaining, now_s)
        self.show(stands)
        if now_s - self._told_s >= TELL_S:
            self._told_s = now_s
            self.journal.tell(self._phase, stands.said)

    def _tell_why(self) -> None:
        now_s = self._now_s
        if now_s - max(self._happened_s, self._explained_s) >= EXPLAIN_S:
            self._explained_s = now_s
            self.explain(reasons(self.engine, now_s), now_s - self._happened_s)

    def _end(self) -> DrainRunEnd:
        self.show(standing(self.engine, self._remaining, self._now_s))
        if self._ended is None:
            self._ended = DrainRunEnd(self.engine.stopped, self._record())
            self._note_stops()
            # Planned and actual time, for `drain status --history`.
            estimate = self._ended.record.plan.estimate
            if self._ended.record.causes and estimate is not None and self.teaches:
                took_s = estimate.p50_s + sum(self._ended.record.causes.values())
                self._entries.append(self.scribe.timed(self.clock.now(), took_s, estimate, self._ended.record.causes))
            self._entries.append(self.scribe.note(JournalNote.ENDED, self.clock.now(), why=self._ended.said))
        self._keep()
        self.journal.tell(RunPhase.ENDED, self._ended.said)
        return self._ended

    def _record(self) -> Record:
        engine = self.engine
        waiting = tuple(PendingPod(pod.key, pod.not_ready_because) for pod in engine.pending)
        not_ready = tuple(coming(engine))
        now_s = self._now_s
        paused_s = engine.paused_s(now_s)
        drained_s = now_s if engine.drained_s is None else engine.drained_s
        drain_s, held_s = drained_s - paused_s - self._soaks_s, held_for_s(engine.moments, drained_s) - paused_s
        whole = not (engine.stopped or engine.undone)
        return Record(
            engine.plan,
            tuple(engine.moments),
            now_s,
            waiting,
            engine.undone,
            not_ready,
            paused_s,
            engine.drained_s,
            engine.placed,
            engine.cordoned_only,
            self._remaining.causes(engine, drain_s, max(0.0, held_s)) if whole else {},
        )

    def _keep(self) -> None:
        if self._entries:
            self.journal.write(self._entries)
            self._entries = []


def _key(act: Act) -> tuple[type, str]:
    return (type(act), act.pod.uid if isinstance(act, (Evict, Restart, Delete)) else str(getattr(act, "uid", "")))
