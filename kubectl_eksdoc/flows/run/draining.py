"""A drain in real time: the engine decides; here it is written down first, then done, and what comes of it is heard.

Nothing changes in the cluster before its intent is in the journal, and nothing while it is not sure that the lock is
held. What is asked for and not answered when it ends comes to its end by itself: whoever goes on looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

from kubectl_eksdoc.core.model.acts import Act, Cordon, Delete, Errand, Evict, Hook, Restart, Restore
from kubectl_eksdoc.core.model.journal import Entry, Intent, Noted
from kubectl_eksdoc.core.rules.news import Answered, News
from kubectl_eksdoc.core.run.engine import Engine
from kubectl_eksdoc.core.run.moments import Happened, Moment
from kubectl_eksdoc.core.run.scribe import Scribe, changes_something
from kubectl_eksdoc.flows.ports import DrainLock, Field, Journal

LOOK_S = 1.0
"""So often it is looked whether somebody wishes something else."""

SHORTEST_S = 0.001
"""It waits at least so long, however little is left by its reckoning: fractions must not keep it busy."""


class Wish(Enum):
    """What the user wants of a run now."""

    GO_ON = "go-on"
    PAUSE = "pause"  # ask for nothing more until it is GO_ON again
    STOP = "stop"  # ask for nothing more, let what is under way settle, and end


class Clock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


_NOTED: Mapping[Happened, Noted] = {
    Happened.DONE: Noted.NODE_DONE,
    Happened.LEFT_ALONE: Noted.LEFT_ALONE,
    Happened.LOST: Noted.LOST,
}


@dataclass(frozen=True, slots=True)
class Ended:
    """`stopped`: why it asked for nothing more, "" if it did not stop. `undone`: nodes that are there and were not
    emptied, each with the pods (ns/name) that are left of it."""

    stopped: str = ""
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether everything was done that the run was for."""
        return not self.stopped and not self.undone

    @property
    def said(self) -> str:
        """As the journal has it."""
        if self.stopped or not self.undone:
            return self.stopped or "done"
        return f"not emptied: {', '.join(sorted(self.undone))}"


class Draining:
    """One run of an engine. Mutable; `listen` is told everything that happens, as it happens.

    Somebody else keeps the lock alive: here it is only asked whether it is held.
    """

    def __init__(
        self,
        engine: Engine,
        field: Field,
        journal: Journal,
        lock: DrainLock,
        clock: Clock,
        scribe: Scribe,
        listen: Callable[[Sequence[Moment]], object],
        wish: Callable[[], Wish] = lambda: Wish.GO_ON,
    ) -> None:
        self._engine = engine
        self._field = field
        self._journal = journal
        self._lock = lock
        self._clock = clock
        self._scribe = scribe
        self._listen = listen
        self._wish = wish
        self._begun_s = clock.monotonic()
        self._intents: dict[tuple[type, str], Intent] = {}  # those not answered, by kind of act and UID of node or pod
        self._entries: list[Entry] = []  # to be written with the next ones
        self._paused = False

    def to_the_end(self) -> Ended:
        """Drain until nothing is left to do, or it must stop.

        Raises:
            LockLost, JournalError: at once; nothing more is done.
            Unauthorized, Forbidden: the cluster does not let us watch it any more.
        """
        while True:
            self._heed()
            self._go(self._engine.acts(self._now_s))
            self._tell()
            if self._engine.over or self._engine.is_settled(self._now_s):
                return self._end()
            for news in self._field.news(self._wait_s()):
                self._hear(news)

    @property
    def _now_s(self) -> float:
        return self._clock.monotonic() - self._begun_s

    def _wait_s(self) -> float:
        left_s = self._engine.next_s(self._now_s) - self._now_s
        return min(LOOK_S, max(SHORTEST_S, left_s))

    def _heed(self) -> None:
        wish = self._wish()
        if wish is Wish.STOP:
            self._engine.stop("the user stopped it", self._now_s)
        if self._paused is not (wish is Wish.PAUSE):
            self._paused = wish is Wish.PAUSE
            noted = Noted.PAUSED if self._paused else Noted.RESUMED
            self._entries.append(self._scribe.note(noted, self._clock.now()))
        self._engine.pause("the user paused it" if self._paused else "")

    def _go(self, acts: Sequence[Errand]) -> None:
        """Written down, then checked, then begun, one after the other."""
        changing = [act for act in acts if changes_something(act)]
        for act in changing:
            assert isinstance(act, (Cordon, Restore, Evict, Restart, Delete))
            intent = self._scribe.intent(act, self._clock.now())
            self._intents[_key(act)] = intent
            self._entries.append(intent)
        if changing:
            self._keep()
        for act in acts:
            if changes_something(act) or isinstance(act, Hook):
                self._lock.must_be_held()
            self._field.do(act)

    def _hear(self, news: News) -> None:
        if isinstance(news, Answered):
            intent = self._intents.pop(_key(news.act), None)
            if intent is not None:
                self._entries.append(self._scribe.result(intent, news.answer, self._clock.now()))
        self._engine.take(news, self._now_s)

    def _tell(self) -> None:
        new = self._engine.new_moments()
        now = self._clock.now()
        for moment in new:
            if moment.what in _NOTED:
                self._entries.append(self._scribe.note(_NOTED[moment.what], now, moment.subject, moment.why))
        if new:
            self._keep()
            self._listen(new)

    def _end(self) -> Ended:
        ended = Ended(self._engine.stopped, self._engine.undone)
        self._entries.append(self._scribe.note(Noted.ENDED, self._clock.now(), why=ended.said))
        self._keep()
        return ended

    def _keep(self) -> None:
        if self._entries:
            self._journal.write(self._entries)
            self._entries = []


def _key(act: Act) -> tuple[type, str]:
    return (type(act), act.pod.uid if isinstance(act, (Evict, Restart, Delete)) else str(getattr(act, "uid", "")))
