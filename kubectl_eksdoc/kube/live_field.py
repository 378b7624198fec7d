"""The port `ports.RunBackend` on a live cluster: one thread for each watch, a few threads for actions, one queue of
events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from kubectl_eksdoc.errors import ClusterError, Forbidden, LockLost
from kubectl_eksdoc.kubernetes.api.resources import LostAnswer
from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    AttachedVolumes,
    News,
    PodsFound,
    RequestAnswered,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.actions import (
    Act,
    Delete,
    Evict,
    ListAttachments,
    ListPods,
    Look,
    Restart,
)
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.objects.collector import BadObject
from kubectl_eksdoc.objects.held import Changing

from .config import connect
from .exchanges import Exchanges, RetryPolicy, Timing
from .reads import (
    WATCHED,
    Closed,
    Closing,
    FactListener,
    FailureStreak,
    GaveUp,
    Lister,
    RetryingReads,
)
from .requests import ApiWriter, Fence, unfenced
from .target import CredentialContext, of_this_process
from .transport import Transport
from .watches import Streams, WatchReach, WatchThread, WatchTimes
from .writes import NodeAnnotations, PodActions, Restarts, delete, evict

# A backend that can be restarted: with new connections and threads, and with everything listed again.


_UNANSWERED = LostAnswer("its result is unknown: the connection to the cluster was restarted")


class _Live(Protocol):
    """A backend such as `LiveRunBackend`: its answer has the same action object that was passed to `do`."""

    def do(self, act: Act) -> None: ...
    def news(self, wait_s: float) -> Sequence[News]: ...
    def close(self) -> None: ...


class RenewableField:
    """The port `ports.RunBackend`. For one thread."""

    def __init__(self, begin: Callable[[], _Live]) -> None:
        """`open_backend` returns a new backend on each call; its errors are passed on."""
        self._begin = begin
        self._live = begin()
        self._under_way: dict[int, Act] = {}  # actions without an answer, by their identity
        self._told: list[News] = []  # events of this class, not of the backend
        self._away = False

    def do(self, act: Act) -> None:
        self._under_way[id(act)] = act
        self._live.do(act)

    def news(self, wait_s: float) -> Sequence[News]:
        """As `ports.RunBackend.updates`."""
        told, self._told = self._told, []
        return [*told, *self._heard(0.0 if told else wait_s)]

    def renew(self) -> None:
        """As `ports.RunBackend.restart_watches`. Raises: as `open_backend`."""
        self._told += self._rest()
        self._live.close()
        under_way, self._under_way = self._under_way, {}
        if self._away:
            self._told.append(WatchRestored())  # the next backend reports its own interruptions
        self._away = False
        self._live = self._begin()
        for act in under_way.values():
            if isinstance(act, (Look, ListPods, ListAttachments)):
                self.do(act)
            else:
                self._told.append(RequestAnswered(act, _UNANSWERED))

    def close(self) -> None:
        self._live.close()

    def _heard(self, wait_s: float) -> Sequence[News]:
        told = self._live.news(wait_s)
        for news in told:
            match news:
                case RequestAnswered(act, _) | PodsFound(act, _):
                    self._under_way.pop(id(act), None)
                case AttachedVolumes():
                    self._under_way.pop(id(news.act), None)
                case WatchInterrupted():
                    self._away = True
                case WatchRestored():
                    self._away = False
        return told

    def _rest(self) -> Iterator[News]:
        """Events that were not delivered yet, without complete lists, which would be taken for those of the next
        backend."""
        try:
            while told := self._heard(0.0):
                yield from (news for news in told if not isinstance(news, (AllNodes, AllPods, AllBudgets)))
        except (LockLost, ClusterError):  # the reason for the restart, or an error that the next backend will have too
            return


# Threads that perform actions, a few at a time: each action is answered once, in the order in which they end.


Acts = SimpleQueue[Act | None]
"""Actions in the order in which they begin; None ends a worker."""


class Worker:
    """For one thread."""

    def __init__(
        self, sender: ApiWriter, marking: NodeAnnotations, restarts: Restarts, reads: RetryingReads, closing: Closing
    ) -> None:
        self._sender = sender
        self._marking = marking
        self._restarts = restarts
        self._reads = reads
        self._closing = closing

    def work(self, acts: Acts, tell: Callable[[News], None], stop: Callable[[LockLost], None]) -> None:
        """`on_lock_lost` is called when the lock is lost: actions that waited meanwhile are answered, and not sent.

        Raises:
            BackendClosed: the backend is closed.
            Unauthorized, Forbidden, ConfigError: a read is refused permanently.
        """
        while (act := acts.get()) is not None:
            self._closing.check()
            try:
                tell(self.done(act))
            except LockLost as error:
                tell(RequestAnswered(act, LostAnswer(f"it was not sent: {error.message}")))
                stop(error)

    def done(self, act: Act) -> News:
        """Raises LockLost: the action was not performed, and must not be."""
        match act:
            case Evict(pod, grace_s):
                return RequestAnswered(act, evict(self._sender, pod, grace_s))
            case Delete(pod):
                return RequestAnswered(act, delete(self._sender, pod))
            case Restart():
                return RequestAnswered(act, self._restarts.restart(act))
            case Look(pod):
                return self._found(act, lambda: self._reads.pod(pod))
            case ListPods(node):
                return self._found(act, lambda: self._reads.on_node(node))
            case ListAttachments():
                return self._attached(act)
            case _:
                return RequestAnswered(act, self._marking.done(act))

    @staticmethod
    def _found(act: Look | ListPods, read: Callable[[], tuple[Pod, ...]]) -> News:
        try:
            return PodsFound(act, read())
        except GaveUp as error:
            return RequestAnswered(act, LostAnswer(str(error)))

    def _attached(self, act: ListAttachments) -> AttachedVolumes:
        """The drain continues without this list: it is not retried for long, and the permission to list
        VolumeAttachments is optional."""
        try:
            return AttachedVolumes(act, self._reads.attached_to(act.node))
        except ClusterError as error:
            return AttachedVolumes(act, (), error.message, isinstance(error, Forbidden))
        except BadObject as error:
            return AttachedVolumes(act, (), str(error))


WORKERS = 4

CONNECT_S = 5.0
"""Time limit for opening a connection for an action: the margin of the lock must cover the time from the fence to the
arrival of the action."""

_LONGEST_WAIT_S = 3600.0
_CLOSE_S = 1.0


class LiveRunField:
    """Watches the cluster from its creation until `close`. All methods are for one thread."""

    def __init__(
        self,
        connection: Connection,
        run: str,
        *,
        journal: str = "",
        fence: Fence = unfenced,
        confirm: Fence = unfenced,
        around: CredentialContext | None = None,
        patience: RetryPolicy | None = None,
        following: WatchTimes | None = None,
    ) -> None:
        """`run` is the id that is noted on nodes that it changes and workloads that it restarts; `journal_namespace`
        has its journal. `fence` and `confirm` are called from several threads, right before each request that changes
        something, as in `ApiWriter`. The last three exist for tests.

        Raises:
            ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used.
        """
        self._closing = Closing()
        self._patience = patience or RetryPolicy()
        self._timing = Timing(self._closing.pause)
        self._page_size = connection.page_size
        self._following = following or WatchTimes()
        access = connect(connection, around or of_this_process())
        self._pools = access.pools
        self._exchanges = Exchanges(access, self._patience, self._timing)
        self._transport = Transport(access, self._patience, self._timing, together=False)
        self._reach = WatchReach([each.resource.plural for each in WATCHED], self._following.away, monotonic())
        self._told: SimpleQueue[Sequence[News]] = SimpleQueue()
        self._acts: Acts = SimpleQueue()
        self._error: BaseException | None = None
        self._threads = [self._begun(telling.resource.plural, self._watch(telling).follow) for telling in WATCHED]
        soon = replace(self._patience, connect=min(self._patience.connect, CONNECT_S))

        def admit() -> None:
            self._closing.check()  # after `close` another backend may be open
            fence()

        sender = ApiWriter(Exchanges(access, soon, self._timing), admit, confirm)
        swapping = PodActions(self._transport, sender, self._timing)
        marking, restarts = NodeAnnotations(run, swapping, journal), Restarts(run, swapping)
        for _ in range(WORKERS):
            reads = RetryingReads(self._transport, self._patience, self._timing, self._closing, self._page_size)
            worker = Worker(sender, marking, restarts, reads, self._closing)
            work = partial(worker.work, self._acts, lambda news: self._told.put((news,)), self._fail)
            self._threads.append(self._begun("acts", work))

    def do(self, act: Act) -> None:
        self._acts.put(act)

    def news(self, wait_s: float) -> Sequence[News]:
        """As `ports.RunBackend.updates`. Also raises ConfigError: credentials cannot be obtained any more; LockLost:
        the fence refused an action, which was answered before. Returns nothing once it is closed."""
        until_s = monotonic() + min(wait_s, _LONGEST_WAIT_S)
        found: list[News] = []
        while not self._closing.begun:
            now_s = monotonic()
            error = self._error  # read first: events from before the error are returned before it is raised
            reached = self._reach.news(now_s)  # read first, too: a watch that works again was listed before
            found += self._heard()
            found += reached
            if found:
                return found
            if error is not None:
                raise error
            if self._error is not None:
                continue  # the error came meanwhile
            if now_s >= until_s:
                return ()
            try:
                found += self._told.get(timeout=min(until_s - now_s, self._reach.due_s(now_s)))
            except Empty:
                continue
        return ()

    def close(self) -> None:
        """After this no request is sent that would change something. The threads end within a second, and their
        connections with them; it may be called again."""
        self._closing.begin()
        for _ in self._threads:
            self._acts.put(None)
        until_s = monotonic() + _CLOSE_S
        for thread in self._threads:
            while thread.is_alive() and monotonic() < until_s:
                self._pools.cut()  # again: a connection may just have been opened
                thread.join(0.02)
        self._pools.close()

    def _heard(self) -> list[News]:
        found: list[News] = []
        try:
            while True:
                found += self._told.get_nowait()
        except Empty:
            return found

    def _begun(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=self._guarded, args=(work,), name=f"eksdoc field: {name}", daemon=True)
        thread.start()
        return thread

    def _guarded(self, work: Callable[[], None]) -> None:
        """An error that ends a thread is raised by `updates`."""
        try:
            work()
        except Closed:
            return
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._told.put(())  # wake up `updates`

    def _watch(self, telling: FactListener) -> WatchThread:
        changing = Changing(telling.resource)
        return WatchThread(
            telling,
            Lister(telling.resource, self._transport, changing, self._page_size),
            Streams(telling.resource, self._exchanges, self._following),
            changing,
            FailureStreak(self._patience, self._timing),
            self._reach,
            self._closing,
            monotonic,
            self._told.put,
        )
