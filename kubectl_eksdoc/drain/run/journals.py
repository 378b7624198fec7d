"""The journal of a run in two places, this machine and the cluster; and how another machine adopts a run from the
cluster's copy."""

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
"""Number of attempts to open a run while the former leader is still writing."""


class RunJournal:
    """A `Journal` that writes on this machine first, then in the cluster. The lock is acquired before a run is started
    or adopted."""

    def __init__(self, open_here: Callable[[str], JournalHere], there: JournalThere, lock: DrainLock) -> None:
        """`open_local` returns this machine's journal of a run by its id."""
        self._open_here = open_here
        self._there = there
        self._lock = lock
        self._here: JournalHere | None = None
        self._owed: tuple[Entry, ...] = ()  # written here, and not certainly in the cluster
        self.stands = False
        """Whether the run exists in the cluster and this process leads it: from then on it can be resumed."""

    def begin(self, begun: RunStarted) -> None:
        """Write the first entry of a new run.

        Raises:
            UsageError: the journal's namespace does not exist.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        self._lock.must_be_held()
        self._here = self._open_here(begun.run)
        self._here.append([begun])
        self._there.begin(begun)
        self.stands = True
        self._lock.must_be_held()

    def adopt_removed(self, run: str, at: datetime) -> Journaled:
        """As `adopt`, for a run whose journal was removed from the cluster: it is created there again from the entries
        of this machine, if there are any. Raises: as `start`."""
        self._lock.must_be_held()
        entries = self._open_here(run).entries().entries
        begun = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
        self._there.put_back(run, self._lock.holder, begun)
        return self.adopt(run, at)

    def adopt(self, run: str, at: datetime) -> Journaled:
        """Become the leader and return the state of the run. Entries that only one place has are copied to the other,
        because a machine may have failed between the two writes.

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
                # The former leader was writing; now it must see that it lost the lock.
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
        new = [entry for entry in entries if entry not in self._owed]  # the others are still pending
        self._here.append(new)
        self._owed += tuple(new)
        self._there.append(self._owed)  # some of them may be stored already: copies do no harm
        self._owed = ()
        self._lock.must_be_held()

    def tell(self, phase: RunPhase, said: str = "") -> None:
        self._lock.must_be_held()
        self._there.tell(phase, said)


# Runs that are named in notes on nodes, looked up in their journal namespaces: existing, ended, or removed.


RunsIn = Callable[[str], RunStore]
"""Opens the runs that are stored in a namespace."""


@frozen
class FoundRun:
    """`namespace`: where its journal was looked up. `listed_run`: its entry in the list of runs, None if it is missing;
    `read_error`: why the list could not be read, "" if it was. `has_leader`: a process holds the lock there, as far as
    is known, and may be draining."""

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
        """Whether it has certainly ended."""
        return self.there is not None and self.there.phase == RunPhase.ENDED.value

    @property
    def gone(self) -> bool:
        """Whether its journal certainly does not exist."""
        return self.there is None and not self.unread


def found_runs(noted: Iterable[NotedRun], here: str, runs_in: RunsIn) -> tuple[FoundRun, ...]:
    """Look up noted runs. `default_namespace`: the namespace to use where a note names none.

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
    """Yield the runs that forbid a drain by this plan, except the run `own_run`: runs that have not certainly ended and
    changed a node that the plan drains; and runs with a leader that holds the lock of another namespace, whatever nodes
    they drain.

    Raises: as `found_runs`.
    """
    others = [each for each in noted_runs(cluster.nodes) if each.run != own]
    targets = {target.node.name for target in plan.targets if target.order}
    for found in found_runs(others, here, runs_in):
        elsewhere = found.led and found.namespace != here
        if not found.over and (elsewhere or not targets.isdisjoint(found.noted.nodes)):
            yield found


def _kept_in(runs: RunStore) -> tuple[dict[str, RunSummary], HeldLock | None, str]:
    """Return the runs, the lock (None: it must not be read), and why the runs cannot be read."""
    try:
        listed = {run.run: run for run in runs.all()}
    except Forbidden as error:
        return {}, HeldLock(), error.message
    try:
        return listed, runs.lock(), ""
    except Forbidden:
        return listed, None, ""


# Request a phase from the leader of a run and wait until it is reached. A leader that is gone does not respond; the
# lock shows that.


ANSWERS_S = 90.0
"""Longer than the lease of a lock that is not renewed."""

LOOK_S = 1.0

_REACHED: Mapping[RunPhase, tuple[RunPhase, ...]] = {
    RunPhase.PAUSED: (RunPhase.PAUSED, RunPhase.ABORTED, RunPhase.ENDED),
    RunPhase.RUNNING: (RunPhase.RUNNING,),
    RunPhase.ABORTED: (RunPhase.ABORTED, RunPhase.ENDED),  # its requests may take long to settle
}
"""For each requested phase, the phases that show that the leader received the request."""


class WishSource(Enum):
    SO = "so"  # the phase was reached
    NOBODY = "nobody"  # the run has no leader, so nothing is done
    SILENT = "silent"  # a process renews the lock, and does not do what was requested


def ask_leader(
    runs: RunStore, run: RunSummary, wanted: RunPhase, who: str, sleep: Callable[[float], object]
) -> WishSource:
    """Request `requested_phase` from the leader of a run, and wait until the phase is reached or the run has no leader.

    Raises:
        as `RunStore`.
    """
    before = runs.lock()
    runs.ask(run.run, wanted, who)
    for _ in range(round(ANSWERS_S / LOOK_S)):
        held = runs.lock()
        there = next((each for each in runs.all() if each.run == run.run), None)
        led, stands = there is not None and leads(held, there), _stands(there)
        # A phase that was reached before the request proves nothing: the leader may be gone.
        if stands in _REACHED[wanted] and (stands.value != run.phase or (led and held.renewed != before.renewed)):
            return WishSource.SO
        if not led:
            return WishSource.NOBODY
        sleep(LOOK_S)
    return WishSource.SILENT


def leads(held: HeldLock, run: RunSummary) -> bool:
    """Whether the holder of the lock leads this run, and not another one."""
    return held.led and held.holder == run.leader


def _stands(run: RunSummary | None) -> RunPhase:
    """Return the phase of a run; a phase of a newer version counts as running."""
    found = run.phase if run is not None else RunPhase.ENDED.value
    return RunPhase(found) if found in {each.value for each in RunPhase} else RunPhase.RUNNING
