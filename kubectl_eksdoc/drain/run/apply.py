"""Opens a run on the live cluster: its lock, its journal in two places, and the backend that performs its actions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.wiring.runs import JOURNAL_RETRY_S, REFUSED_S, Hooks, JournalLocation, api_writer

if TYPE_CHECKING:
    from kubectl_eksdoc.kube.lock import LeaseLock
    from kubectl_eksdoc.kube.requests import ApiWriter, Clock
    from kubectl_eksdoc.kubernetes.updates import RunUpdate
    from kubectl_eksdoc.model.actions import RunCommand
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.ports import DrainLock, RunBackend

    from .journals import RunJournal
    from .loop import DrainClock


def open_run_journal(
    sender: ApiWriter, location: JournalLocation, clock: Clock | None = None
) -> tuple[RunJournal, LeaseLock]:
    """Return the journal of a run, to be started or adopted once the lock is acquired.

    Raises:
        JournalError: there is no folder for it.
    """
    import secrets

    from kubectl_eksdoc.host.journals import JournalFile, runs_folder
    from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
    from kubectl_eksdoc.kube.lock import LeaseLock
    from kubectl_eksdoc.kube.requests import RetryLimits, real_clock
    from kubectl_eksdoc.kube.runs import ConfigMaps

    from .journals import RunJournal

    clock = clock or real_clock()
    writer = secrets.token_hex(3)  # in a container every process may have PID 1 on the same host
    holder = f"{location.user}@{location.host}/{os.getpid()}/{location.run}/{writer}"
    lock = LeaseLock(sender, location.namespace, holder, clock)
    folder = runs_folder(location.environ, location.home)
    maps = ConfigMaps(sender, location.namespace, clock, RetryLimits(JOURNAL_RETRY_S), lock.must_be_held, REFUSED_S)
    remote = ClusterJournal(maps, writer, lock.must_be_held)
    return RunJournal(lambda run: JournalFile(folder, run), remote, lock), lock


@frozen
class RunEdges:
    """The open connections of a run: the lock is held and renewed. `requested_phase` returns what other clients request
    of the run: a value of `RunPhase` and the requester, or two empty strings."""

    backend: RunBackend
    journal: RunJournal
    lock: DrainLock
    clock: DrainClock
    requested_phase: Callable[[], tuple[str, str]]


@contextmanager
def open_run(
    connection: Connection, location: JournalLocation, wait_s: float = 0.0, hooks: Hooks = Hooks()
) -> Iterator[RunEdges]:
    """Acquire the lock and open the run. `wait_s`: how long to wait for a lock that another client holds.

    Raises:
        Locked: another client drains this cluster.
        JournalError: there is no folder for the journal.
        ConfigError, UsageError, Unreachable, Unauthorized, Forbidden
    """
    from kubectl_eksdoc.host.processes import HookedBackend
    from kubectl_eksdoc.kube.config import pin_context
    from kubectl_eksdoc.kube.live_backend import LiveRunBackend, RestartableBackend
    from kubectl_eksdoc.kube.lock import LockRenewer
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.runs import ConfigMaps, RunRequestListener
    from kubectl_eksdoc.kube.target import process_credential_context

    connection = pin_context(connection, process_credential_context())
    clock, sender = real_clock(), api_writer(connection)
    journal, lock = open_run_journal(sender, location, clock)
    with ExitStack() as open_now:
        open_now.enter_context(LockRenewer(lock, wait_s))
        open_backend = partial(LiveRunBackend, connection, location.run, journal_namespace=location.namespace)
        open_fenced = partial(open_backend, fence=lock.must_be_held, confirm=lock.confirm)
        backend = RestartableBackend(open_fenced)
        hooked = HookedBackend(backend, hooks.commands, location.run, hooks.timeout_s)
        run_backend = open_now.enter_context(closing(hooked))
        request_listener = open_now.enter_context(
            RunRequestListener(ConfigMaps(sender, location.namespace, clock), location.run)
        )
        yield RunEdges(run_backend, journal, lock, clock, lambda: request_listener.requested)


OpenRun = Callable[["Connection", JournalLocation, float, Hooks], AbstractContextManager[RunEdges]]


class AcceleratedClock:
    """A clock that starts at `start` and runs `speed` times as fast as `clock`."""

    def __init__(self, clock: DrainClock, speed: float, start: datetime) -> None:
        self._clock = clock
        self._speed = speed
        self._real_start = clock.now()
        self._start = start

    def monotonic(self) -> float:
        return self._clock.monotonic() * self._speed

    def now(self) -> datetime:
        return self._start + (self._clock.now() - self._real_start) * self._speed


@frozen
class AcceleratedBackend:
    _field: RunBackend
    _speed: float

    def do(self, action: RunCommand) -> None:
        self._field.do(action)

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        return self._field.updates(wait_s / self._speed)

    def restart_watches(self) -> None:
        self._field.restart_watches()

    def close(self) -> None:
        self._field.close()


def accelerated(open_run: OpenRun, clock: AcceleratedClock, speed: float) -> OpenRun:
    """Return an `open_run` whose clock and waits are accelerated. The lock is renewed in real time, because other
    clients live in that."""

    @contextmanager
    def opened(connection: Connection, location: JournalLocation, wait_s: float, hooks: Hooks) -> Iterator[RunEdges]:
        with open_run(connection, location, wait_s, hooks) as edges:
            yield replace(edges, backend=AcceleratedBackend(edges.backend, speed), clock=clock)

    return opened
