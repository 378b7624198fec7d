"""The port `flows.ports.Field` on a live cluster: a thread for each watch, a few for acts, one queue of news."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic

from kubectl_eksdoc.core.model.acts import Act
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.rules.news import News
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.exchanges import Exchanges
from kubectl_eksdoc.kube.field.closing import Closed, Closing
from kubectl_eksdoc.kube.field.insisting import Insisting
from kubectl_eksdoc.kube.field.lists import Lister
from kubectl_eksdoc.kube.field.marking import Marking
from kubectl_eksdoc.kube.field.reach import Reach
from kubectl_eksdoc.kube.field.reads import Reads
from kubectl_eksdoc.kube.field.restarts import Restarts
from kubectl_eksdoc.kube.field.streams import Following, Streams
from kubectl_eksdoc.kube.field.swapping import Swapping
from kubectl_eksdoc.kube.field.telling import WATCHED, Telling
from kubectl_eksdoc.kube.field.watches import Watch
from kubectl_eksdoc.kube.field.workers import Acts, Worker
from kubectl_eksdoc.kube.patience import Patience, Timing
from kubectl_eksdoc.kube.sending import Fence, Sender, unfenced
from kubectl_eksdoc.kube.surroundings import Surroundings, of_this_process
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.objects.changing import Changing

WORKERS = 4

CONNECT_S = 5.0
"""A connection for an act comes within this: from the fence to the act's arrival the lock's margin must last."""

_LONGEST_WAIT_S = 3600.0
_CLOSE_S = 1.0


class LiveField:
    """It is watched from the moment when it is made until it is closed. All methods are for one thread."""

    def __init__(
        self,
        connection: Connection,
        run: str,
        *,
        journal: str = "",
        fence: Fence = unfenced,
        confirm: Fence = unfenced,
        workers: int = WORKERS,
        around: Surroundings | None = None,
        patience: Patience | None = None,
        following: Following | None = None,
    ) -> None:
        """`run` is the id that is noted on nodes it changes and workloads it restarts, `journal` the namespace of its
        journal. `fence` and `confirm` are asked from several threads, right before each request that changes something,
        as `Sender` has it. The last three exist for tests.

        Raises:
            ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used.
        """
        self._closing = Closing()
        self._patience = patience or Patience()
        self._timing = Timing(self._closing.pause)
        self._page_size = connection.page_size
        self._following = following or Following()
        access = connect(connection, around or of_this_process())
        self._pools = access.pools
        self._exchanges = Exchanges(access, self._patience, self._timing)
        self._transport = Transport(access, self._patience, self._timing, together=False)
        self._reach = Reach([each.resource.plural for each in WATCHED], self._following.away, monotonic())
        self._told: SimpleQueue[Sequence[News]] = SimpleQueue()
        self._acts: Acts = SimpleQueue()
        self._error: BaseException | None = None
        self._threads = [self._begun(telling.resource.plural, self._watch(telling).follow) for telling in WATCHED]
        soon = replace(self._patience, connect=min(self._patience.connect, CONNECT_S))
        sender = Sender(Exchanges(access, soon, self._timing), self._behind(fence), confirm)
        swapping = Swapping(self._transport, sender, self._timing)
        marking, restarts = Marking(run, swapping, journal), Restarts(run, swapping)
        for _ in range(workers):
            work = partial(self._worker(sender, marking, restarts).work, self._acts, self._tell_one, self._fail)
            self._threads.append(self._begun("acts", work))

    def do(self, act: Act) -> None:
        self._acts.put(act)

    def news(self, wait_s: float) -> Sequence[News]:
        """As the port has it; ConfigError, too: credentials cannot be had any more; LockLost: the fence refused an
        act, which was answered before. Nothing once it is closed."""
        until_s = monotonic() + min(wait_s, _LONGEST_WAIT_S)
        found: list[News] = []
        while not self._closing.begun:
            now_s = monotonic()
            error = self._error  # looked at first: what was told before it is heard before it
            reached = self._reach.news(now_s)  # first, too: what is watched again was listed before
            found += self._heard()
            found += reached
            if found:
                return found
            if error is not None:
                raise error
            if self._error is not None:
                continue  # it came meanwhile
            if now_s >= until_s:
                return ()
            try:
                found += self._told.get(timeout=min(until_s - now_s, self._reach.due_s(now_s)))
            except Empty:
                continue
        return ()

    def close(self) -> None:
        """Nothing is sent any more that would change something. Threads end within a second, and connections with them;
        it may be called again."""
        self._closing.begin()
        for _ in self._threads:
            self._acts.put(None)
        until_s = monotonic() + _CLOSE_S
        for thread in self._threads:
            while thread.is_alive() and monotonic() < until_s:
                self._pools.cut()  # again: one may just have been opened
                thread.join(0.02)
        self._pools.close()

    def _behind(self, fence: Fence) -> Fence:
        def admit() -> None:
            self._closing.check()  # whoever closed it may have begun another one
            fence()

        return admit

    def _heard(self) -> list[News]:
        found: list[News] = []
        try:
            while True:
                found += self._told.get_nowait()
        except Empty:
            return found

    def _tell_one(self, news: News) -> None:
        self._told.put((news,))

    def _begun(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=self._guarded, args=(work,), name=f"eksdoc field: {name}", daemon=True)
        thread.start()
        return thread

    def _guarded(self, work: Callable[[], None]) -> None:
        """What ends a thread before its time belongs to whoever asks for news."""
        try:
            work()
        except Closed:
            return
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._told.put(())  # who waits may want to know that

    def _watch(self, telling: Telling) -> Watch:
        changing = Changing(telling.resource)
        return Watch(
            telling,
            Lister(telling.resource, self._transport, changing, self._page_size),
            Streams(telling.resource, self._exchanges, self._following),
            changing,
            Insisting(self._patience, self._timing),
            self._reach,
            self._closing,
            monotonic,
            self._told.put,
        )

    def _worker(self, sender: Sender, marking: Marking, restarts: Restarts) -> Worker:
        reads = Reads(self._transport, self._patience, self._timing, self._closing, self._page_size)
        return Worker(sender, marking, restarts, reads, self._closing)
