"""A run on the live cluster: its lock, its journal in two places, and the field on which it acts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.permissions import Permission, Review

if TYPE_CHECKING:
    from kubectl_eksdoc.flows.ports import DrainLock, DryRunField, Field, RunStore
    from kubectl_eksdoc.flows.run.draining import DrainClock
    from kubectl_eksdoc.flows.run.journal import RunJournal
    from kubectl_eksdoc.kube.lock import Lock
    from kubectl_eksdoc.kube.sent import ApiWriter, Clock
    from kubectl_eksdoc.kubernetes.news import News
    from kubectl_eksdoc.model.acts import Errand
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.journal import Entries


JOURNAL_NAMESPACE = "kube-system"


@frozen
class JournalLocation:
    """Where a run (its id, "" for none in particular) is written down and locked: a namespace of the cluster, and a
    folder by the environment and home of whoever runs it. `who` and `host` name them to others."""

    run: str
    who: str
    host: str
    environ: Mapping[str, str]
    home: str
    namespace: str = JOURNAL_NAMESPACE


def open_run_journal(
    sender: ApiWriter, keeping: JournalLocation, clock: Clock | None = None
) -> tuple[RunJournal, Lock]:
    """The journal of a run, to be begun or adopted when the lock is taken.

    Raises:
        JournalError: there is no folder for it.
    """
    import secrets

    from kubectl_eksdoc.flows.run.journal import RunJournal
    from kubectl_eksdoc.host.journals import JournalFile, runs_folder
    from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
    from kubectl_eksdoc.kube.lock import Lock
    from kubectl_eksdoc.kube.runs import ConfigMaps
    from kubectl_eksdoc.kube.sent import RetryLimits, real_clock

    clock = clock or real_clock()
    writer = secrets.token_hex(3)  # in a container every process may be number 1 of the same host
    holder = f"{keeping.who}@{keeping.host}/{os.getpid()}/{keeping.run}/{writer}"
    lock = Lock(sender, keeping.namespace, holder, clock)
    folder = runs_folder(keeping.environ, keeping.home)
    maps = ConfigMaps(sender, keeping.namespace, clock, RetryLimits(KEPT_S), lock.must_be_held, REFUSED_S)
    there = ClusterJournal(maps, writer, lock.must_be_held)
    return RunJournal(lambda run: JournalFile(folder, run), there, lock), lock


def keeping_here(run: str, namespace: str, environ: Mapping[str, str]) -> JournalLocation:
    """For whoever runs this process, on this machine."""
    import getpass
    import socket

    try:
        who = environ.get("USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        who = f"user-{os.getuid()}" if hasattr(os, "getuid") else "somebody"
    home = environ.get("HOME") or os.path.expanduser("~")
    return JournalLocation(run, who, socket.gethostname(), environ, home, namespace)


def new_run_id(now: datetime) -> str:
    """``20261120-193005-4f2a``: by its beginning in UTC, and unlike any other of that second."""
    import secrets

    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


SILENCE_S, CONNECT_S = 15.0, 5.0
"""What a run writes is waited for less long than its lock is held: it is written again, or given up in time."""

KEPT_S = 75.0
"""So long an entry of the journal is tried to be written: longer than the lock is held, which ends the tries where
nobody answers at all. It is held again then, or lost, and both are known better than the effect on an entry."""

REFUSED_S = 30.0
"""So long credentials or rights must be refused until a run believes it: who checks them may be away for a moment."""


@frozen
class RunEdges:
    """What a run has of the world while it is open: the lock is ours and kept alive. `wanted` is what others ask of
    the run: a word of `RunPhase` and who, or two empty texts."""

    field: Field
    journal: RunJournal
    lock: DrainLock
    clock: DrainClock
    wanted: Callable[[], tuple[str, str]]


@frozen
class Hooks:
    """What a shell of this machine runs before and after a wave, by `Hook.when`; each may take `timeout_s`."""

    commands: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 600.0


@contextmanager
def open_run(
    connection: Connection, keeping: JournalLocation, wait_s: float = 0.0, hooks: Hooks = Hooks()
) -> Iterator[RunEdges]:
    """`wait_s`: so long another one's lock is waited for.

    Raises:
        Locked: somebody else drains this cluster.
        JournalError: there is no folder for the journal.
        ConfigError, UsageError, Unreachable, Unauthorized, Forbidden
    """
    from kubectl_eksdoc.host.hooks import HookedField
    from kubectl_eksdoc.kube.config import pinned
    from kubectl_eksdoc.kube.field.live import LiveRunField, RenewableField
    from kubectl_eksdoc.kube.lock import LockKeeper
    from kubectl_eksdoc.kube.runs import ConfigMaps, WishListener
    from kubectl_eksdoc.kube.sent import real_clock
    from kubectl_eksdoc.kube.target import of_this_process

    connection = pinned(connection, of_this_process())
    clock, sender = real_clock(), sender_of(connection)
    journal, lock = open_run_journal(sender, keeping, clock)
    with ExitStack() as open_now:
        open_now.enter_context(LockKeeper(lock, wait_s))
        field_of = partial(LiveRunField, connection, keeping.run, journal=keeping.namespace)
        renewed = partial(field_of, fence=lock.must_be_held, confirm=lock.confirm)
        live = RenewableField(renewed)
        hooked = HookedField(live, hooks.commands, keeping.run, hooks.timeout_s)
        acting = open_now.enter_context(closing(hooked))
        asked = open_now.enter_context(WishListener(ConfigMaps(sender, keeping.namespace, clock), keeping.run))
        yield RunEdges(acting, journal, lock, clock, lambda: asked.wanted)


@contextmanager
def open_watch(connection: Connection) -> Iterator[Field]:
    """A field on which nothing is done: it tells what changes.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.host.hooks import HookedField
    from kubectl_eksdoc.kube.field.live import LiveRunField, RenewableField

    with closing(HookedField(RenewableField(lambda: LiveRunField(connection, "")), {}, "")) as watched:
        yield watched


def open_runs(connection: Connection, keeping: JournalLocation) -> RunStore:
    """All runs that the cluster has a journal of, to look at and to ask something of.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.lock import Lock
    from kubectl_eksdoc.kube.runs import PATIENCE, ConfigMaps, StoredRuns
    from kubectl_eksdoc.kube.sent import real_clock

    clock, sender = real_clock(), sender_of(connection)
    maps = ConfigMaps(sender, keeping.namespace, clock, PATIENCE)
    return StoredRuns(maps, Lock(sender, keeping.namespace, f"{keeping.who}@{keeping.host}", clock))


def earlier_journals(environ: Mapping[str, str], cluster: str, most: int = 20) -> dict[str, Entries]:
    """Journals of the latest runs from this machine, by their ids, of the cluster with this uid; those that cannot be
    read are left out."""
    from kubectl_eksdoc.host.journals import read_run, runs, runs_folder
    from kubectl_eksdoc.model.journal import RunStarted

    found: dict[str, Entries] = {}
    try:
        folder = runs_folder(environ, environ.get("HOME", ""))
        names = runs(folder) if cluster else ()
    except LocalJournalError:  # a plan needs none of them
        return found
    for run in reversed(names):
        try:
            entries = read_run(folder, run)
        except LocalJournalError:
            continue
        if any(isinstance(entry, RunStarted) and entry.cluster == cluster for entry in entries.entries):
            found[run] = entries
        if len(found) == most:
            break
    return found


def open_trial(connection: Connection) -> DryRunField:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.field.writes import DryTrial

    return DryTrial(sender_of(connection))


def pod_report(connection: Connection, pod: str) -> PodReport:
    """What the cluster says of that pod (``namespace/name``) now.

    Raises:
        ConfigError, ClusterError: the kubeconfig cannot be used, or nobody answers.
    """
    from kubectl_eksdoc.kube.inside_pods import LivePodReader

    with closing(LivePodReader(connection)) as reader:
        return reader.report(pod)


def denied(connection: Connection, asked: Sequence[Permission]) -> tuple[Permission, ...]:
    """Those of `asked` that the cluster says we do not have.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import reviews

    return reviews.denied(sender_of(connection), asked)


def reviewed(connection: Connection, asked: Sequence[Permission]) -> tuple[Review, ...]:
    """What the cluster says of each of `asked`.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        Unauthorized, Forbidden: the cluster does not let us ask.
    """
    from kubectl_eksdoc.kube import reviews

    return reviews.reviewed(sender_of(connection), asked)


def events_file(keeping: JournalLocation) -> str:
    """In which this machine keeps what the run tells for a replay. Raises JournalError: there is no folder."""
    from kubectl_eksdoc.host.journals import EVENTS, runs_folder

    return str(runs_folder(keeping.environ, keeping.home) / f"{keeping.run}{EVENTS}")


def add_events(keeping: JournalLocation, text: str) -> None:
    """Raises JournalError: they cannot be written."""
    from kubectl_eksdoc.host import journals

    journals.add_events(journals.runs_folder(keeping.environ, keeping.home), keeping.run, text)


def sender_of(connection: Connection) -> ApiWriter:
    """For what a run writes down: it does not wait for long.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
    from kubectl_eksdoc.kube.sent import ApiWriter
    from kubectl_eksdoc.kube.target import of_this_process

    patience = RetryPolicy(silence=SILENCE_S, connect=CONNECT_S)
    return ApiWriter(Exchanges(connect(connection, of_this_process()), patience, real_timing()))


# A run on a simulated cluster whose time is faster than ours: it reckons in that one's seconds.


OpenRun = Callable[["Connection", JournalLocation, float, Hooks], AbstractContextManager[RunEdges]]


class HastenedClock:
    """From when it is made on, which is `begin` by it, `speed` seconds pass in one of `clock`."""

    def __init__(self, clock: DrainClock, speed: float, begin: datetime) -> None:
        self._clock = clock
        self._speed = speed
        self._since = clock.now()
        self._begin = begin

    def monotonic(self) -> float:
        return self._clock.monotonic() * self._speed

    def now(self) -> datetime:
        return self._begin + (self._clock.now() - self._since) * self._speed


@frozen
class HastenedField:
    _field: Field
    _speed: float

    def do(self, act: Errand) -> None:
        self._field.do(act)

    def news(self, wait_s: float) -> Sequence[News]:
        return self._field.news(wait_s / self._speed)

    def renew(self) -> None:
        self._field.renew()

    def close(self) -> None:
        self._field.close()


def hastened(open_run: OpenRun, clock: HastenedClock, speed: float) -> OpenRun:
    """The lock is kept alive in our own time: who else would hold it lives in that."""

    @contextmanager
    def opened(connection: Connection, keeping: JournalLocation, wait_s: float, hooks: Hooks) -> Iterator[RunEdges]:
        with open_run(connection, keeping, wait_s, hooks) as edges:
            yield replace(edges, field=HastenedField(edges.field, speed), clock=clock)

    return opened
