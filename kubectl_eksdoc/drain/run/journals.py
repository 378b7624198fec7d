"""The journal of a run in two places, this machine and the cluster; and how another machine adopts a run from the
cluster's copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.errors import Forbidden, JournalError, LockLost
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import (
    JournalEntries,
    JournalEntry,
    LockState,
    NoteKind,
    RunPhase,
    RunStarted,
    RunSummary,
)
from kubectl_eksdoc.ports import DrainLock, LocalJournal, RemoteJournal, RunStore

from ..result import DrainPlan
from .journal import JournalState, JournalWriter, missing_entries, replay_journals
from .result import NotedRun, noted_runs

MAX_ADOPTIONS = 3
"""Number of attempts to open a run while the former leader is still writing."""


class RunJournal:
    """A `Journal` that writes on this machine first, then in the cluster. The lock is acquired before a run is started
    or adopted."""

    def __init__(self, open_local: Callable[[str], LocalJournal], remote: RemoteJournal, lock: DrainLock) -> None:
        """`open_local` returns this machine's journal of a run by its id."""
        self._open_local = open_local
        self._remote = remote
        self._lock = lock
        self._local: LocalJournal | None = None
        self._pending: tuple[JournalEntry, ...] = ()  # written here, and not certainly in the cluster
        self.is_started = False
        """Whether the run exists in the cluster and this process leads it: from then on it can be resumed."""

    def start(self, start_entry: RunStarted) -> None:
        """Write the first entry of a new run.

        Raises:
            UsageError: the journal's namespace does not exist.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        self._lock.must_be_held()
        self._local = self._open_local(start_entry.run)
        self._local.append([start_entry])
        self._remote.start(start_entry)
        self.is_started = True
        self._lock.must_be_held()

    def adopt_removed(self, run: str, timestamp: datetime) -> JournalState:
        """As `adopt`, for a run whose journal was removed from the cluster: it is created there again from the entries
        of this machine, if there are any. Raises: as `start`."""
        self._lock.must_be_held()
        entries = self._open_local(run).entries().entries
        start_entry = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
        self._remote.restore_head(run, self._lock.holder, start_entry)
        return self.adopt(run, timestamp)

    def adopt(self, run: str, timestamp: datetime) -> JournalState:
        """Become the leader and return the state of the run. Entries that only one place has are copied to the other,
        because a machine may have failed between the two writes.

        Raises:
            UsageError: there is no such run.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        local = self._open_local(run)
        for _ in range(MAX_ADOPTIONS - 1):
            try:
                state = self._take_over(run, local, timestamp)
                break
            except LockLost:
                if not self._lock.held():
                    raise
                # The former leader was writing; now it must see that it lost the lock.
        else:
            state = self._take_over(run, local, timestamp)
        self._local, self._pending, self.is_started = local, (), True
        self._lock.must_be_held()
        return state

    def _take_over(self, run: str, local: LocalJournal, timestamp: datetime) -> JournalState:
        self._lock.must_be_held()
        remote_entries, local_entries = self._remote.open(run), local.entries()
        note = JournalWriter(replay_journals(remote_entries, local_entries).next_number).note(
            NoteKind.ADOPTED, timestamp, self._lock.holder
        )
        state = replay_journals(remote_entries, local_entries, JournalEntries((note,)))
        self._remote.adopt(self._lock.holder, [*missing_entries(local_entries, remote_entries), note], state.phase)
        local.append([*missing_entries(remote_entries, local_entries), note])
        return state

    def write(self, entries: Sequence[JournalEntry]) -> None:
        self._lock.must_be_held()
        if self._local is None:
            raise JournalError("nothing can be written to a run that was neither begun nor adopted")
        new_entries = [entry for entry in entries if entry not in self._pending]  # the others are still pending
        self._local.append(new_entries)
        self._pending += tuple(new_entries)
        self._remote.append(self._pending)  # some of them may be stored already: copies do no harm
        self._pending = ()
        self._lock.must_be_held()

    def report_progress(self, phase: RunPhase, message: str = "") -> None:
        self._lock.must_be_held()
        self._remote.report_progress(phase, message)


# Runs that are named in notes on nodes, looked up in their journal namespaces: existing, ended, or removed.


OpenNamespaceRuns = Callable[[str], RunStore]
"""Opens the runs that are stored in a namespace."""


@frozen
class FoundRun:
    """`namespace`: where its journal was looked up. `listed_run`: its entry in the list of runs, None if it is missing;
    `read_error`: why the list could not be read, "" if it was. `has_leader`: a process holds the lock there, as far as
    is known, and may be draining."""

    noted_run: NotedRun
    namespace: str
    listed_run: RunSummary | None = None
    has_leader: bool = False
    read_error: str = ""

    @property
    def run(self) -> str:
        return self.noted_run.run

    @property
    def has_ended(self) -> bool:
        """Whether it has certainly ended."""
        return self.listed_run is not None and self.listed_run.phase == RunPhase.ENDED.value

    @property
    def gone(self) -> bool:
        """Whether its journal certainly does not exist."""
        return self.listed_run is None and not self.read_error


def found_runs(
    runs_to_find: Iterable[NotedRun], default_namespace: str, runs_in: OpenNamespaceRuns
) -> tuple[FoundRun, ...]:
    """Look up noted runs. `default_namespace`: the namespace to use where a note names none.

    Raises:
        Unreachable, Unauthorized
    """
    by_namespace: dict[str, tuple[dict[str, RunSummary], LockState | None, str]] = {}
    runs = []
    for noted_run in runs_to_find:
        namespace = noted_run.journal or default_namespace
        if namespace not in by_namespace:
            by_namespace[namespace] = _stored_runs(runs_in(namespace))
        listed, lock, unread = by_namespace[namespace]
        listed_run = listed.get(noted_run.run)
        has_leader = lock is None or (lock.is_held and (listed_run is None or lock.holder == listed_run.leader))
        runs.append(FoundRun(noted_run, namespace, listed_run, has_leader, unread))
    return tuple(runs)


def blocking_runs(
    cluster: Cluster, plan: DrainPlan, own_run: str, default_namespace: str, runs_in: OpenNamespaceRuns
) -> Iterator[FoundRun]:
    """Yield the runs that forbid a drain by this plan, except the run `own_run`: runs that have not certainly ended and
    changed a node that the plan drains; and runs with a leader that holds the lock of another namespace, whatever nodes
    they drain.

    Raises: as `found_runs`.
    """
    other_runs = [each for each in noted_runs(cluster.nodes) if each.run != own_run]
    targets = {target.node.name for target in plan.targets if target.order}
    for found_run in found_runs(other_runs, default_namespace, runs_in):
        elsewhere = found_run.has_leader and found_run.namespace != default_namespace
        if not found_run.has_ended and (elsewhere or not targets.isdisjoint(found_run.noted_run.nodes)):
            yield found_run


def _stored_runs(runs: RunStore) -> tuple[dict[str, RunSummary], LockState | None, str]:
    """Return the runs, the lock (None: it must not be read), and why the runs cannot be read."""
    try:
        listed = {run.run: run for run in runs.all()}
    except Forbidden as error:
        return {}, LockState(), error.message
    try:
        return listed, runs.lock(), ""
    except Forbidden:
        return listed, None, ""


# Request a phase from the leader of a run and wait until it is reached. A leader that is gone does not respond; the
# lock shows that.


RESPONSE_TIMEOUT_S = 90.0
"""Longer than the lease of a lock that is not renewed."""

POLL_S = 1.0

_REACHED_PHASES: Mapping[RunPhase, tuple[RunPhase, ...]] = {
    RunPhase.PAUSED: (RunPhase.PAUSED, RunPhase.ABORTED, RunPhase.ENDED),
    RunPhase.RUNNING: (RunPhase.RUNNING,),
    RunPhase.ABORTED: (RunPhase.ABORTED, RunPhase.ENDED),  # its requests may take long to settle
}
"""For each requested phase, the phases that show that the leader received the request."""


class LeaderResponse(Enum):
    REACHED = "so"  # the phase was reached
    NO_LEADER = "nobody"  # the run has no leader, so nothing is done
    SILENT = "silent"  # a process renews the lock, and does not do what was requested


def request_from_leader(
    runs: RunStore, run: RunSummary, requested_phase: RunPhase, requester: str, sleep: Callable[[float], object]
) -> LeaderResponse:
    """Request `requested_phase` from the leader of a run, and wait until the phase is reached or the run has no leader.

    Raises:
        as `RunStore`.
    """
    previous_lock = runs.lock()
    runs.request_phase(run.run, requested_phase, requester)
    for _ in range(round(RESPONSE_TIMEOUT_S / POLL_S)):
        lock = runs.lock()
        listed_run = next((each for each in runs.all() if each.run == run.run), None)
        has_leader, phase = listed_run is not None and is_led_by_holder(lock, listed_run), _phase(listed_run)
        # A phase that was reached before the request proves nothing: the leader may be gone.
        if phase in _REACHED_PHASES[requested_phase] and (
            phase.value != run.phase or (has_leader and lock.renewed != previous_lock.renewed)
        ):
            return LeaderResponse.REACHED
        if not has_leader:
            return LeaderResponse.NO_LEADER
        sleep(POLL_S)
    return LeaderResponse.SILENT


def is_led_by_holder(lock: LockState, run: RunSummary) -> bool:
    """Whether the holder of the lock leads this run, and not another one."""
    return lock.is_held and lock.holder == run.leader


def _phase(run: RunSummary | None) -> RunPhase:
    """Return the phase of a run; a phase of a newer version counts as running."""
    phase = run.phase if run is not None else RunPhase.ENDED.value
    return RunPhase(phase) if phase in {each.value for each in RunPhase} else RunPhase.RUNNING
