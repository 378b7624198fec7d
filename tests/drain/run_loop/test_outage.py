"""The lock was not renewed in time: the run does nothing meanwhile, and continues only if it gets the lock again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest

from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.journal import replay_journals
from kubectl_eksdoc.drain.run.loop import DrainRunEnd, RunRequest, RunRequestState
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.errors import JournalError, LockInDoubt, LockLost
from kubectl_eksdoc.model.journal import IntentEntry, JournalEntry, ResultEntry, RunPhase
from tests.drain.fields import KeptJournal, OwnLock, StageField, a_drain, begun_journal
from tests.drain.run_loop.test_draining import (
    ACTS,
    WANTED,
    WRITINGS,
    Heard,
    begun,
    state,
    three_nodes,
)
from tests.drain.stages import made
from tests.examples import one_in

AWAY_S = 120.0
PODS = ["default/web-0", "default/web-1", "default/web-2"]
FAILED = "the server gave no answer: it refused the connection"


class Doubted(OwnLock):
    """A lock that is in doubt from a given moment; after `AWAY_S` it is held again or another client has it."""

    def __init__(self, stage: SimulatedStage, lost: str = "", for_s: float = AWAY_S) -> None:
        self._stage = stage
        self._lost = lost
        self._for_s = for_s
        self._since_s: float | None = None
        self.gaps = self.refused = 0
        self.done_meanwhile = -1
        self.field: StageField | None = None

    def doubt(self) -> None:
        self._since_s = self._stage.seconds
        self.gaps += 1
        assert self.field is not None
        self.done_meanwhile = len(self.field.done)

    def must_be_held(self) -> None:
        if self._since_s is not None:
            self.refused += 1
            raise LockInDoubt("it may be somebody else's by now", "Resume the run.", FAILED)

    @property
    def in_doubt_s(self) -> float:
        return 0.0 if self._since_s is None else self._stage.seconds - self._since_s

    def try_regain(self, wait_s: float) -> bool:
        if self._since_s is None or self.in_doubt_s >= self._for_s:
            if self._lost:
                raise LockLost(self._lost)
            return True
        self._stage.pass_time(self._stage.seconds + max(wait_s, 0.1))
        return False

    def resume(self) -> None:
        assert self.field is not None and len(self.field.done) == self.done_meanwhile, "nothing was done meanwhile"
        self._since_s = None


class DoubtingField(StageField):
    """A live backend whose lock is in doubt after that number of acts."""

    def __init__(self, stage: SimulatedStage, journal: KeptJournal, lock: Doubted, at: int = -1) -> None:
        super().__init__(stage, journal)
        lock.field = self
        self._lock = lock
        self._at = at
        self.renewed = 0

    def do(self, act) -> None:  # type: ignore[no-untyped-def]
        super().do(act)
        if len(self.done) == self._at:
            self._at = -1
            self._lock.doubt()

    def restart_watches(self) -> None:
        self.renewed += 1
        super().restart_watches()


class DoubtingJournal(KeptJournal):
    """A journal whose lock is in doubt at one write, before or after the entry is kept."""

    def __init__(self, lock: Doubted, at: int, *, kept: bool, error: type[Exception] = LockInDoubt) -> None:
        super().__init__()
        self._lock = lock
        self._at = at
        self._after = kept
        self._error = error

    def write(self, entries: Sequence[JournalEntry]) -> None:
        self._lock.must_be_held()
        if self.writings + 1 == self._at and self._lock.gaps == 0:
            self._lock.doubt()
            if self._after:
                super().write(entries)
                self.writings -= 1
            raise self._error("it may be somebody else's by now")
        super().write([each for each in entries if each not in self.entries])

    def report_progress(self, phase: RunPhase, message: str) -> None:
        self._lock.must_be_held()
        super().report_progress(phase, message)


def drained(
    stage: SimulatedStage, lock: Doubted, journal: KeptJournal, at: int = -1, heard: Heard | None = None
) -> tuple[DrainRunEnd, DoubtingField, Heard]:
    _, plan, engine = begun(stage)
    heard, field = heard or Heard(), DoubtingField(stage, journal, lock, at)
    made = a_drain(
        engine, field, heard.listen, begun_journal(journal, plan), lock, read_request=heard.wish, max_outage_s=600.0
    )
    return made.run(), field, heard


def check(
    stage: SimulatedStage, plane, ended: DrainRunEnd, field: DoubtingField, journal: KeptJournal, heard: Heard
) -> None:  # type: ignore[no-untyped-def]
    assert ended.is_complete and state(plane) == WANTED
    assert sorted(heard.subjects(DrainEventKind.EVICTED)) == PODS and field.renewed == 1
    said = [moment.why for moment in heard.moments if moment.what is DrainEventKind.HELD]
    assert len(said) == 1 and FAILED in said[0] and "continues automatically" in said[0]
    assert len(heard.subjects(DrainEventKind.RELEASED)) == 1
    stands = replay_journals(journal.read())
    assert stands.ended == "done" and not stands.dropped
    told = Counter((moment.what, moment.subject, moment.at_s) for moment in heard.moments)
    assert max(told.values()) == 1, "every moment is told, and once"


@pytest.mark.parametrize("at", one_in(4, range(1, ACTS)))
def test_it_goes_on_after_any_act(at: int) -> None:
    plane, stage = made(*three_nodes())
    lock, journal = Doubted(stage), KeptJournal()
    ended, field, heard = drained(stage, lock, journal, at)
    assert lock.gaps == 1
    if lock.refused:  # otherwise no act followed its last one
        check(stage, plane, ended, field, journal, heard)


def each_writing() -> list[object]:
    """Each write, with either error, kept or not; quick tests use one of the four cases for each write, in turn."""
    found = []
    for at, kept, error in product(range(1, WRITINGS + 1), (True, False), (LockInDoubt, JournalError)):
        quick = (kept, error is LockInDoubt) == (at % 2 == 0, at % 4 < 2)
        found.append(pytest.param(at, kept, error, marks=() if quick else pytest.mark.long))
    return found


@pytest.mark.parametrize(("at", "kept", "error"), one_in(4, each_writing()))
def test_it_goes_on_after_any_writing(at: int, kept: bool, error: type[Exception]) -> None:
    plane, stage = made(*three_nodes())
    lock = Doubted(stage)
    journal = DoubtingJournal(lock, at, kept=kept, error=error)
    ended, field, heard = drained(stage, lock, journal)
    assert lock.gaps == 1 and lock.done_meanwhile >= 0
    assert ended.is_complete and state(plane) == WANTED and field.renewed == 1
    assert sorted(heard.subjects(DrainEventKind.EVICTED)) == PODS
    stands = replay_journals(journal.read())
    assert stands.ended == "done" and not stands.dropped
    intents = [each.number for each in journal.entries if isinstance(each, IntentEntry)]
    results = [each.of for each in journal.entries if isinstance(each, ResultEntry)]
    assert sorted(intents) == sorted(results), "every intent has its answer"


def test_who_took_it_meanwhile_has_it() -> None:
    _, stage = made(*three_nodes())
    lock, journal = Doubted(stage, "eve holds it"), KeptJournal()
    heard = Heard()
    with pytest.raises(LockLost, match="eve holds it"):
        drained(stage, lock, journal, 8, heard)
    assert lock.field is not None and len(lock.field.done) == 8
    assert len(heard.subjects(DrainEventKind.HELD)) == 1


def test_it_is_not_waited_for_for_ever() -> None:
    _, stage = made(*three_nodes())
    lock, journal = Doubted(stage, for_s=1e9), KeptJournal()
    begun_s = stage.seconds
    with pytest.raises(LockLost, match="it was unknown for 10m00s whose the lock was: it may be") as error:
        drained(stage, lock, journal, 8)
    assert error.value.hint == "Resume the run." and not isinstance(error.value, LockInDoubt)
    assert stage.seconds - begun_s < 700 and lock.field is not None and len(lock.field.done) == 8


def test_who_slept_for_too_long_does_not_go_on_though_it_could() -> None:
    """Example: a laptop that is opened after a night."""
    _, stage = made(*three_nodes())

    class Slept(Doubted):
        @property
        def in_doubt_s(self) -> float:
            return 0.0 if self._since_s is None else 30_000.0

    lock = Slept(stage, for_s=0.0)
    with pytest.raises(LockLost, match="it was unknown for 10m00s"):
        drained(stage, lock, KeptJournal(), 8)


@pytest.mark.parametrize("wish", [RunRequest.STOP, RunRequest.LEAVE])
def test_the_user_need_not_wait_for_it(wish: RunRequest) -> None:
    _, stage = made(*three_nodes())
    lock = Doubted(stage, for_s=1e9)

    class Told(Heard):
        def wish(self) -> RunRequestState:
            return RunRequestState(wish) if lock.refused else RunRequestState()

    with pytest.raises(LockLost, match="the user stopped it; it may be somebody else's by now"):
        drained(stage, lock, KeptJournal(), 8, Told())
    assert lock.field is not None and len(lock.field.done) == 8


class Blinking(OwnLock):
    """A lock that is in doubt for one check only: its renewal is under way and answered late."""

    late = False

    def must_be_held(self) -> None:
        if self.late:
            self.late = False
            raise LockInDoubt("it may be somebody else's by now")


class Unwritten(KeptJournal):
    def __init__(self, lock: Blinking, at: int) -> None:
        super().__init__()
        self._lock = lock
        self._at = at

    def write(self, entries: Sequence[JournalEntry]) -> None:
        if self.writings + 1 == self._at:
            self.writings += 1
            self._lock.late = True
            raise JournalError("no space left on device")
        super().write(entries)


@pytest.mark.parametrize("at", range(1, 6))
def test_what_could_not_be_written_in_a_doubt_that_passed_is_written_before_it_is_done(at: int) -> None:
    plane, stage = made(*three_nodes())
    lock = Blinking()
    journal = Unwritten(lock, at)
    _, plan, engine = begun(stage)
    scribe = begun_journal(journal, plan)
    ended = a_drain(engine, StageField(stage, journal), scribe=scribe, lock=lock).run()
    assert ended.is_complete and state(plane) == WANTED
