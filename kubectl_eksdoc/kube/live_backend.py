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
from kubectl_eksdoc.kubernetes.api.resources import LostResponse
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    AttachedVolumes,
    PodsFound,
    RequestAnswered,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.actions import (
    ClusterAction,
    Delete,
    Evict,
    ListAttachments,
    ListPods,
    ReadPod,
    Restart,
)
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.objects.collector import InvalidAnswer
from kubectl_eksdoc.objects.dump_readers import WatchDecoder

from .config import open_access
from .exchanges import Exchanges, RetryPolicy, Timing
from .reads import (
    WATCHED,
    BackendClosed,
    CloseSignal,
    FactEvents,
    FailureStreak,
    GaveUp,
    ResourceLister,
    RetryingReads,
)
from .requests import ApiWriter, Fence, no_fence
from .target import CredentialContext, process_credential_context
from .transport import Transport
from .watches import WatchHealth, WatchStreams, WatchThread, WatchTimes
from .writes import ConditionalPatches, NodeChanges, RolloutRestarts, send_deletion, send_eviction

# A backend that can be restarted: with new connections and threads, and with everything listed again.


_OUTCOME_UNKNOWN = LostResponse("its result is unknown: the connection to the cluster was restarted")


class _ActiveBackend(Protocol):
    """A backend such as `LiveRunBackend`: its answer has the same action object that was passed to `do`."""

    def do(self, action: ClusterAction) -> None: ...
    def updates(self, wait_s: float) -> Sequence[RunUpdate]: ...
    def close(self) -> None: ...


class RestartableBackend:
    """The port `ports.RunBackend`. For one thread."""

    def __init__(self, open_backend: Callable[[], _ActiveBackend]) -> None:
        """`open_backend` returns a new backend on each call; its errors are passed on."""
        self._open_backend = open_backend
        self._backend = open_backend()
        self._pending: dict[int, ClusterAction] = {}  # actions without an answer, by their identity
        self._events: list[RunUpdate] = []  # events of this class, not of the backend
        self._interrupted = False

    def do(self, action: ClusterAction) -> None:
        self._pending[id(action)] = action
        self._backend.do(action)

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        """As `ports.RunBackend.updates`."""
        events, self._events = self._events, []
        return [*events, *self._receive(0.0 if events else wait_s)]

    def restart_watches(self) -> None:
        """As `ports.RunBackend.restart_watches`. Raises: as `open_backend`."""
        self._events += self._undelivered()
        self._backend.close()
        pending, self._pending = self._pending, {}
        if self._interrupted:
            self._events.append(WatchRestored())  # the next backend reports its own interruptions
        self._interrupted = False
        self._backend = self._open_backend()
        for action in pending.values():
            if isinstance(action, (ReadPod, ListPods, ListAttachments)):
                self.do(action)
            else:
                self._events.append(RequestAnswered(action, _OUTCOME_UNKNOWN))

    def close(self) -> None:
        self._backend.close()

    def _receive(self, wait_s: float) -> Sequence[RunUpdate]:
        events = self._backend.updates(wait_s)
        for event in events:
            match event:
                case RequestAnswered(act, _) | PodsFound(act, _):
                    self._pending.pop(id(act), None)
                case AttachedVolumes():
                    self._pending.pop(id(event.action), None)
                case WatchInterrupted():
                    self._interrupted = True
                case WatchRestored():
                    self._interrupted = False
        return events

    def _undelivered(self) -> Iterator[RunUpdate]:
        """Events that were not delivered yet, without complete lists, which would be taken for those of the next
        backend."""
        try:
            while events := self._receive(0.0):
                yield from (event for event in events if not isinstance(event, (AllNodes, AllPods, AllBudgets)))
        except (LockLost, ClusterError):  # the reason for the restart, or an error that the next backend will have too
            return


# Threads that perform actions, a few at a time: each action is answered once, in the order in which they end.


ActionQueue = SimpleQueue[ClusterAction | None]
"""Actions in the order in which they begin; None ends a worker."""


class ActionWorker:
    """For one thread."""

    def __init__(
        self,
        sender: ApiWriter,
        node_changes: NodeChanges,
        restarts: RolloutRestarts,
        reads: RetryingReads,
        close_signal: CloseSignal,
    ) -> None:
        self._sender = sender
        self._node_changes = node_changes
        self._restarts = restarts
        self._reads = reads
        self._close_signal = close_signal

    def run(
        self, actions: ActionQueue, publish: Callable[[RunUpdate], None], on_lock_lost: Callable[[LockLost], None]
    ) -> None:
        """`on_lock_lost` is called when the lock is lost: actions that waited meanwhile are answered, and not sent.

        Raises:
            BackendClosed: the backend is closed.
            Unauthorized, Forbidden, ConfigError: a read is refused permanently.
        """
        while (action := actions.get()) is not None:
            self._close_signal.check()
            try:
                publish(self.perform(action))
            except LockLost as error:
                publish(RequestAnswered(action, LostResponse(f"it was not sent: {error.message}")))
                on_lock_lost(error)

    def perform(self, action: ClusterAction) -> RunUpdate:
        """Raises LockLost: the action was not performed, and must not be."""
        match action:
            case Evict(pod, grace_s):
                return RequestAnswered(action, send_eviction(self._sender, pod, grace_s))
            case Delete(pod):
                return RequestAnswered(action, send_deletion(self._sender, pod))
            case Restart():
                return RequestAnswered(action, self._restarts.restart(action))
            case ReadPod(pod):
                return self._list_pods(action, lambda: self._reads.find_pod(pod))
            case ListPods(node):
                return self._list_pods(action, lambda: self._reads.pods_on_node(node))
            case ListAttachments():
                return self._list_attachments(action)
            case _:
                return RequestAnswered(action, self._node_changes.apply(action))

    @staticmethod
    def _list_pods(action: ReadPod | ListPods, read: Callable[[], tuple[Pod, ...]]) -> RunUpdate:
        try:
            return PodsFound(action, read())
        except GaveUp as error:
            return RequestAnswered(action, LostResponse(str(error)))

    def _list_attachments(self, action: ListAttachments) -> AttachedVolumes:
        """The drain continues without this list: it is not retried for long, and the permission to list
        VolumeAttachments is optional."""
        try:
            return AttachedVolumes(action, self._reads.volumes_attached_to(action.node))
        except ClusterError as error:
            return AttachedVolumes(action, (), error.message, isinstance(error, Forbidden))
        except InvalidAnswer as error:
            return AttachedVolumes(action, (), str(error))


MAX_WORKERS = 4

CONNECT_TIMEOUT_S = 5.0
"""Time limit for opening a connection for an action: the margin of the lock must cover the time from the fence to the
arrival of the action."""

_MAX_WAIT_S = 3600.0
_CLOSE_TIMEOUT_S = 1.0


class LiveRunBackend:
    """Watches the cluster from its creation until `close`. All methods are for one thread."""

    def __init__(
        self,
        connection: Connection,
        run: str,
        *,
        journal_namespace: str = "",
        fence: Fence = no_fence,
        confirm: Fence = no_fence,
        credential_context: CredentialContext | None = None,
        retry_policy: RetryPolicy | None = None,
        watch_times: WatchTimes | None = None,
    ) -> None:
        """`run` is the id that is noted on nodes that it changes and workloads that it restarts; `journal_namespace`
        has its journal. `fence` and `confirm` are called from several threads, right before each request that changes
        something, as in `ApiWriter`. The last three exist for tests.

        Raises:
            ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used.
        """
        self._close_signal = CloseSignal()
        self._retry_policy = retry_policy or RetryPolicy()
        self._timing = Timing(self._close_signal.pause)
        self._page_size = connection.page_size
        self._watch_times = watch_times or WatchTimes()
        access = open_access(connection, credential_context or process_credential_context())
        self._pools = access.pools
        self._exchanges = Exchanges(access, self._retry_policy, self._timing)
        self._transport = Transport(access, self._retry_policy, self._timing, counts_read_time=False)
        self._watch_health = WatchHealth(
            [each.resource.plural for each in WATCHED], self._watch_times.report_after_s, monotonic()
        )
        self._events: SimpleQueue[Sequence[RunUpdate]] = SimpleQueue()
        self._actions: ActionQueue = SimpleQueue()
        self._error: BaseException | None = None
        self._threads = [self._start_thread(telling.resource.plural, self._watch(telling).run) for telling in WATCHED]
        write_policy = replace(
            self._retry_policy, connect_timeout=min(self._retry_policy.connect_timeout, CONNECT_TIMEOUT_S)
        )

        def open_fence() -> None:
            self._close_signal.check()  # after `close` another backend may be open
            fence()

        sender = ApiWriter(Exchanges(access, write_policy, self._timing), open_fence, confirm)
        patches = ConditionalPatches(self._transport, sender, self._timing)
        node_changes, restarts = NodeChanges(run, patches, journal_namespace), RolloutRestarts(run, patches)
        for _ in range(MAX_WORKERS):
            reads = RetryingReads(
                self._transport, self._retry_policy, self._timing, self._close_signal, self._page_size
            )
            worker = ActionWorker(sender, node_changes, restarts, reads, self._close_signal)
            work = partial(worker.run, self._actions, lambda news: self._events.put((news,)), self._fail)
            self._threads.append(self._start_thread("acts", work))

    def do(self, action: ClusterAction) -> None:
        self._actions.put(action)

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        """As `ports.RunBackend.updates`. Also raises ConfigError: credentials cannot be obtained any more; LockLost:
        the fence refused an action, which was answered before. Returns nothing once it is closed."""
        deadline_s = monotonic() + min(wait_s, _MAX_WAIT_S)
        events: list[RunUpdate] = []
        while not self._close_signal.is_closed:
            now_s = monotonic()
            error = self._error  # read first: events from before the error are returned before it is raised
            health_events = self._watch_health.new_events(
                now_s
            )  # read first, too: a watch that works again was listed before
            events += self._receive()
            events += health_events
            if events:
                return events
            if error is not None:
                raise error
            if self._error is not None:
                continue  # the error came meanwhile
            if now_s >= deadline_s:
                return ()
            try:
                events += self._events.get(timeout=min(deadline_s - now_s, self._watch_health.next_event_s(now_s)))
            except Empty:
                continue
        return ()

    def close(self) -> None:
        """After this no request is sent that would change something. The threads end within a second, and their
        connections with them; it may be called again."""
        self._close_signal.close()
        for _ in self._threads:
            self._actions.put(None)
        deadline_s = monotonic() + _CLOSE_TIMEOUT_S
        for thread in self._threads:
            while thread.is_alive() and monotonic() < deadline_s:
                self._pools.shut_down()  # again: a connection may just have been opened
                thread.join(0.02)
        self._pools.close()

    def _receive(self) -> list[RunUpdate]:
        events: list[RunUpdate] = []
        try:
            while True:
                events += self._events.get_nowait()
        except Empty:
            return events

    def _start_thread(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=self._run_guarded, args=(work,), name=f"eksdoc field: {name}", daemon=True)
        thread.start()
        return thread

    def _run_guarded(self, work: Callable[[], None]) -> None:
        """An error that ends a thread is raised by `updates`."""
        try:
            work()
        except BackendClosed:
            return
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._events.put(())  # wake up `updates`

    def _watch(self, listener: FactEvents) -> WatchThread:
        decoder = WatchDecoder(listener.resource)
        return WatchThread(
            listener,
            ResourceLister(listener.resource, self._transport, decoder, self._page_size),
            WatchStreams(listener.resource, self._exchanges, self._watch_times),
            decoder,
            FailureStreak(self._retry_policy, self._timing),
            self._watch_health,
            self._close_signal,
            monotonic,
            self._events.put,
        )
