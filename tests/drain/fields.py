"""A stage as the live backend of a run in virtual time, with a journal and a lock that last as long as the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent
from kubectl_eksdoc.drain.run.journal import JournalWriter, cordon_only_nodes, drained_nodes, is_change
from kubectl_eksdoc.drain.run.loop import DrainRunLoop
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.updates import AllBudgets, AllNodes, AllPods, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, ClusterChange, Delete, Evict
from kubectl_eksdoc.model.journal import IntentEntry, JournalEntries, JournalEntry, RunPhase
from tests.drain.stages import NOW


class Killed(BaseException):
    """Raised to end the process at this point, whatever it was about to do."""


class StageClock:
    def __init__(self, stage: SimulatedStage) -> None:
        self._stage = stage

    def monotonic(self) -> float:
        return self._stage.seconds

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self._stage.seconds)


class KeptJournal:
    """Counts its writes: at write number `dies_at` the process is killed, before or after the entry is kept."""

    def __init__(self, dies_at: int = -1, *, kept: bool = True) -> None:
        self.entries: list[JournalEntry] = []
        self.writings = 0
        self.told: list[tuple[RunPhase, str]] = []
        self._dies_at = dies_at
        self._kept = kept

    def write(self, entries: Sequence[JournalEntry]) -> None:
        self.writings += 1
        dies = self.writings == self._dies_at
        if not dies or self._kept:
            self.entries += entries
        if dies:
            raise Killed

    def report_progress(self, phase: RunPhase, message: str) -> None:
        self.told.append((phase, message))

    def read(self) -> JournalEntries:
        return JournalEntries(tuple(self.entries))

    def intends(self, act: ClusterChange) -> bool:
        verb, uid = type(act).__name__.lower(), act.pod.uid if isinstance(act, (Evict, Delete)) else act.uid
        return any(
            isinstance(each, IntentEntry) and (each.verb.value, each.uid) == (verb, uid) for each in self.entries
        )


class OwnLock:
    """A lock that no other client takes."""

    holder = "here"

    def take(self, wait_s: float = 0.0) -> None: ...

    def held(self) -> bool:
        return True

    def must_be_held(self) -> None: ...

    @property
    def in_doubt_s(self) -> float:
        return 0.0

    def try_regain(self, wait_s: float) -> bool:
        return True

    def resume(self) -> None: ...


class StageField:
    """`done`: every act that changes something. After act number `dies_at` the process is killed."""

    def __init__(self, stage: SimulatedStage, journal: KeptJournal, dies_at: int = -1) -> None:
        self.stage = stage
        self.journal = journal
        self._dies_at = dies_at
        self._answers: list[RunUpdate] = []
        self._version = 1
        self.done: list[ClusterAction] = []

    def do(self, act: ClusterAction) -> None:
        if is_change(act):
            assert self.journal.intends(act), "written down before it is done"
            self.done.append(act)
        self._answers.append(self.stage.do(act))
        if len(self.done) == self._dies_at:
            raise Killed

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        found, self._answers = self._answers, []
        found += self.stage.updates()
        if not found:
            self.stage.pass_time(self.stage.seconds + wait_s)
            found += self.stage.updates()
        self._version = max(self._version, *(getattr(each, "version", 0) for each in found), 0)
        return found

    def restart_watches(self) -> None:
        """No watch is open in this backend: it reports all objects again."""
        self._answers += self.stage.updates()
        now = self.stage.read(kinds.ALL)
        version = max((getattr(each, "version", 0) for each in self._answers), default=0)
        self._version = version = max(self._version, version)
        pods = AllPods(tuple((pod, version) for pod in now.pods), version)
        budgets = AllBudgets(tuple((budget, version) for budget in now.budgets), version)
        self._answers += [AllNodes(now.nodes), pods, budgets]

    def close(self) -> None: ...


def a_drain(
    engine: Engine,
    field: StageField,
    listen: Callable[[Sequence[DrainEvent]], object] = list,
    scribe: JournalWriter | None = None,
    lock: OwnLock | None = None,
    **more: Any,
) -> DrainRunLoop:
    """A drain engine with the settings of a real run."""
    clock = StageClock(field.stage)
    return DrainRunLoop(
        engine, field, field.journal, lock or OwnLock(), clock, scribe or JournalWriter(), listen, **more
    )


def begun_journal(journal: KeptJournal, plan: DrainPlan) -> JournalWriter:
    """A journal that holds its first entry, which starts a run of this plan."""
    scribe = JournalWriter()
    who = {"plan": "digest", "tool": "0", "user": "me", "host": "here", "leader": "here"}
    journal.entries.append(
        scribe.run_started(
            "r1", NOW, **who, planned_nodes=drained_nodes(plan), arguments=(), skipped=cordon_only_nodes(plan)
        )
    )
    return scribe
