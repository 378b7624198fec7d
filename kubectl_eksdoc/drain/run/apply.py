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
from kubectl_eksdoc.wiring.runs import KEPT_S, REFUSED_S, Hooks, JournalLocation, sender_of

if TYPE_CHECKING:
    from kubectl_eksdoc.kube.lock import Lock
    from kubectl_eksdoc.kube.requests import ApiWriter, Clock
    from kubectl_eksdoc.kubernetes.news import News
    from kubectl_eksdoc.model.actions import Errand
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.ports import DrainLock, Field

    from .journals import RunJournal
    from .loop import DrainClock


def open_run_journal(
    sender: ApiWriter, keeping: JournalLocation, clock: Clock | None = None
) -> tuple[RunJournal, Lock]:
    """Return the journal of a run, to be started or adopted once the lock is acquired.

    Raises:
        JournalError: there is no folder for it.
    """
    import secrets

    from kubectl_eksdoc.host.journals import JournalFile, runs_folder
    from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
    from kubectl_eksdoc.kube.lock import Lock
    from kubectl_eksdoc.kube.requests import RetryLimits, real_clock
    from kubectl_eksdoc.kube.runs import ConfigMaps

    from .journals import RunJournal

    clock = clock or real_clock()
    writer = secrets.token_hex(3)  # in a container every process may have PID 1 on the same host
    holder = f"{keeping.who}@{keeping.host}/{os.getpid()}/{keeping.run}/{writer}"
    lock = Lock(sender, keeping.namespace, holder, clock)
    folder = runs_folder(keeping.environ, keeping.home)
    maps = ConfigMaps(sender, keeping.namespace, clock, RetryLimits(KEPT_S), lock.must_be_held, REFUSED_S)
    there = ClusterJournal(maps, writer, lock.must_be_held)
    return RunJournal(lambda run: JournalFile(folder, run), there, lock), lock


@frozen
class RunEdges:
    """The open connections of a run: the lock is held and renewed. `requested_phase` returns what other clients request
    of the run: a value of `RunPhase` and the requester, or two empty strings."""

    field: Field
    journal: RunJournal
    lock: DrainLock
    clock: DrainClock
    wanted: Callable[[], tuple[str, str]]


@contextmanager
def open_run(
    connection: Connection, keeping: JournalLocation, wait_s: float = 0.0, hooks: Hooks = Hooks()
) -> Iterator[RunEdges]:
    """Acquire the lock and open the run. `wait_s`: how long to wait for a lock that another client holds.

    Raises:
        Locked: another client drains this cluster.
        JournalError: there is no folder for the journal.
        ConfigError, UsageError, Unreachable, Unauthorized, Forbidden
    """
    from kubectl_eksdoc.host.processes import HookedField
    from kubectl_eksdoc.kube.config import pinned
    from kubectl_eksdoc.kube.live_field import LiveRunField, RenewableField
    from kubectl_eksdoc.kube.lock import LockKeeper
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.runs import ConfigMaps, WishListener
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


OpenRun = Callable[["Connection", JournalLocation, float, Hooks], AbstractContextManager[RunEdges]]


class HastenedClock:
    """A clock that starts at `start` and runs `speed` times as fast as `clock`."""

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
    """Return an `open_run` whose clock and waits are accelerated. The lock is renewed in real time, because other
    clients live in that."""

    @contextmanager
    def opened(connection: Connection, keeping: JournalLocation, wait_s: float, hooks: Hooks) -> Iterator[RunEdges]:
        with open_run(connection, keeping, wait_s, hooks) as edges:
            yield replace(edges, field=HastenedField(edges.field, speed), clock=clock)

    return opened
