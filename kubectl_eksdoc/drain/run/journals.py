"""The journal of a run in its two places, and how another machine goes on with a run: by what the cluster has of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.errors import Forbidden, JournalError, LockLost
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import Entries, Entry, HeldLock, JournalNote, RunPhase, RunStarted, RunSummary
from kubectl_eksdoc.ports import DrainLock, JournalHere, JournalThere, RunStore

from ..result import DrainPlan
from .journal import Journaled, JournalWriter, only_in, replay
from .result import NotedRun, noted_runs

ADOPTIONS = 3
"""So often a run is opened again when who led before was still writing."""


class RunJournal:
    """A `Journal`: here first, then in the cluster. The lock is taken before it is begun or adopted."""

    def __init__(self, open_here: Callable[[str], JournalHere], there: JournalThere, lock: DrainLock) -> None:
        """`open_here` gives this machine's journal of a run by its id."""
        self._open_here = open_here
        self._there = there
        self._lock = lock
        self._here: JournalHere | None = None
        self._owed: tuple[Entry, ...] = ()  # written here, and not surely there
        self.stands = False
        """Whether the run is there, and ours: from now on there is something to go on with."""

    def begin(self, begun: RunStarted) -> None:
        """
        Raises:
            UsageError: the journal's namespace is not there.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        self._lock.must_be_held()
        self._here = self._open_here(begun.run)
        self._here.append([begun])
        self._there.begin(begun)
        self.stands = True
        self._lock.must_be_held()

    def adopt_removed(self, run: str, at: datetime) -> Journaled:
        """As `adopt`, of a run whose journal somebody removed from the cluster: it is begun there anew with what this
        machine has of it, which may be nothing. Raises: as `begin`."""
        self._lock.must_be_held()
        entries = self._open_here(run).entries().entries
        begun = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
        self._there.put_back(run, self._lock.holder, begun)
        return self.adopt(run, at)

    def adopt(self, run: str, at: datetime) -> Journaled:
        """What stands, after a note that we lead from now on. What one place has and the other has not is written to
        that, for a machine may have ended between the two.

        Raises:
            UsageError: there is no such run.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        here = self._open_here(run)
        for _ in range(ADOPTIONS - 1):
            try:
                stands = self._taken_over(run, here, at)
                break
            except LockLost:
                if not self._lock.held():
                    raise
                # An act of theirs was under way; now they must see that they lost the lock.
        else:
            stands = self._taken_over(run, here, at)
        self._here, self._owed, self.stands = here, (), True
        self._lock.must_be_held()
        return stands

    def _taken_over(self, run: str, here: JournalHere, at: datetime) -> Journaled:
        self._lock.must_be_held()
        theirs, ours = self._there.open(run), here.entries()
        note = JournalWriter(replay(theirs, ours).next_number).note(JournalNote.ADOPTED, at, self._lock.holder)
        stands = replay(theirs, ours, Entries((note,)))
        self._there.adopt(self._lock.holder, [*only_in(ours, theirs), note], stands.phase)
        here.append([*only_in(theirs, ours), note])
        return stands

    def write(self, entries: Sequence[Entry]) -> None:
        self._lock.must_be_held()
        if self._here is None:
            raise JournalError("nothing can be written to a run that was neither begun nor adopted")
        new = [entry for entry in entries if entry not in self._owed]  # the others were to be written before
        self._here.append(new)
        self._owed += tuple(new)
        self._there.append(self._owed)  # some of them may be there already: copies do no harm
        self._owed = ()
        self._lock.must_be_held()

    def tell(self, phase: RunPhase, said: str = "") -> None:
        self._lock.must_be_held()
        self._there.tell(phase, said)


# Runs that nodes name in their notes, looked for where their journals should be: there, over, or removed.


RunsIn = Callable[[str], RunStore]
"""The runs that are kept in a namespace."""


@frozen
class FoundRun:
    """`namespace`: where its journal was looked for. `there`: as it is listed, None where it is not; `unread`: why
    nobody can tell, "" if one can. `led`: somebody holds the lock there, as far as can be told, and may be draining."""

    noted: NotedRun
    namespace: str
    there: RunSummary | None = None
    led: bool = False
    unread: str = ""

    @property
    def run(self) -> str:
        return self.noted.run

    @property
    def over(self) -> bool:
        """Whether it surely is."""
        return self.there is not None and self.there.phase == RunPhase.ENDED.value

    @property
    def gone(self) -> bool:
        """Whether its journal surely is."""
        return self.there is None and not self.unread


def found_runs(noted: Iterable[NotedRun], here: str, runs_in: RunsIn) -> tuple[FoundRun, ...]:
    """`here`: the namespace that is meant where a note names none.

    Raises:
        Unreachable, Unauthorized
    """
    known: dict[str, tuple[dict[str, RunSummary], HeldLock | None, str]] = {}
    found = []
    for each in noted:
        namespace = each.journal or here
        if namespace not in known:
            known[namespace] = _kept_in(runs_in(namespace))
        listed, held, unread = known[namespace]
        there = listed.get(each.run)
        led = held is None or (held.led and (there is None or held.holder == there.leader))
        found.append(FoundRun(each, namespace, there, led, unread))
    return tuple(found)


def in_the_way(cluster: Cluster, plan: DrainPlan, own: str, here: str, runs_in: RunsIn) -> Iterator[FoundRun]:
    """The runs that forbid to drain by this plan, beside the run `own`: those that are not surely over, and changed a
    node that it drains; and those that somebody leads by another namespace's lock, whatever nodes they drain.

    Raises: as `found_runs`.
    """
    others = [each for each in noted_runs(cluster.nodes) if each.run != own]
    targets = {target.node.name for target in plan.targets if target.order}
    for found in found_runs(others, here, runs_in):
        elsewhere = found.led and found.namespace != here
        if not found.over and (elsewhere or not targets.isdisjoint(found.noted.nodes)):
            yield found


def _kept_in(runs: RunStore) -> tuple[dict[str, RunSummary], HeldLock | None, str]:
    """The runs, the lock (None: it must not be read), and why they cannot be told."""
    try:
        listed = {run.run: run for run in runs.all()}
    except Forbidden as error:
        return {}, HeldLock(), error.message
    try:
        return listed, runs.lock(), ""
    except Forbidden:
        return listed, None, ""


# Ask whoever leads a run for something, and wait until it is so; who has gone does not answer, and its lock tells.


ANSWERS_S = 90.0
"""Longer than a lock is held that nobody renews."""

LOOK_S = 1.0

_REACHED: Mapping[RunPhase, tuple[RunPhase, ...]] = {
    RunPhase.PAUSED: (RunPhase.PAUSED, RunPhase.ABORTED, RunPhase.ENDED),
    RunPhase.RUNNING: (RunPhase.RUNNING,),
    RunPhase.ABORTED: (RunPhase.ABORTED, RunPhase.ENDED),  # what it has asked for may take long to settle
}
"""Of what is asked for, where the run stands when that is heard."""


class WishSource(Enum):
    SO = "so"  # it is as was asked
    NOBODY = "nobody"  # nobody leads it, so that nothing is done
    SILENT = "silent"  # somebody renews the lock, and does not do what was asked


def ask_leader(
    runs: RunStore, run: RunSummary, wanted: RunPhase, who: str, sleep: Callable[[float], object]
) -> WishSource:
    """
    Raises:
        as `RunStore`.
    """
    before = runs.lock()
    runs.ask(run.run, wanted, who)
    for _ in range(round(ANSWERS_S / LOOK_S)):
        held = runs.lock()
        there = next((each for each in runs.all() if each.run == run.run), None)
        led, stands = there is not None and leads(held, there), _stands(there)
        # A run that stood so before it was asked says nothing by standing so: its leader may have gone.
        if stands in _REACHED[wanted] and (stands.value != run.phase or (led and held.renewed != before.renewed)):
            return WishSource.SO
        if not led:
            return WishSource.NOBODY
        sleep(LOOK_S)
    return WishSource.SILENT


def leads(held: HeldLock, run: RunSummary) -> bool:
    """Whether who holds the lock leads this very run, and not another one."""
    return held.led and held.holder == run.leader


def _stands(run: RunSummary | None) -> RunPhase:
    """A word of a newer version is taken for one that is under way."""
    found = run.phase if run is not None else RunPhase.ENDED.value
    return RunPhase(found) if found in {each.value for each in RunPhase} else RunPhase.RUNNING
