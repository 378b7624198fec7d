"""The watch of one resource: listed, then watched for as long as the backend is open, across lost connections.

A watch continues from the last resourceVersion that it received. The resource is listed again where the server has
forgotten that version (410), where an object cannot be decoded, and after several watches without an event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf

from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.updates import RunUpdate, WatchInterrupted, WatchRestored
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import InvalidAnswer
from kubectl_eksdoc.objects.dump_readers import FactEventKind, WatchDecoder

from . import responses as answers
from .exchanges import ExchangeFailed, Exchanges, ResponseStream
from .reads import CloseSignal, FactEvents, FailureStreak, ResourceLister
from .responses import (
    ContinueTokenExpired,
    Incomplete,
    NotServed,
    RequestRefused,
)

# The connection of one watch: opened from a resourceVersion on, and read line by line.
#
# Source: kubernetes.io/docs/reference/using-api/api-concepts (watch, bookmarks, timeoutSeconds).


MAX_LINE_BYTES = 64 << 20
"""Bytes. A real object has at most about 1.5 MiB (etcd's limit)."""


@frozen
class WatchTimes:
    """Seconds. A server is asked to end each watch after `watch_s` (a little less, by chance, so that not all end at
    once). It sends a bookmark 2 s before, so a connection that is silent for `grace_s` longer is dead. This is how long
    a run may be blind without knowing, so it is short. `response_s`: time limit for the begin of a watch.
    `report_after_s`: how long a watch may not work before that is reported."""

    watch_s: float = 60.0
    grace_s: float = 5.0
    response_s: float = 30.0
    report_after_s: float = 5.0


class WatchStreams:
    """Watches of one resource, in all namespaces."""

    def __init__(self, resource: Resource, exchanges: Exchanges, watch_times: WatchTimes) -> None:
        self._resource = resource
        self._exchanges = exchanges
        self._watch_times = watch_times

    @contextmanager
    def open(self, resource_version: int) -> Iterator[Iterator[list[bytes]]]:
        """Lines as they come, several at once where they came together, until the watch or its connection ends.

        Raises, here and while iterating:
            ClusterError: the watch is refused, or the server cannot be reached; ContinueTokenExpired: the version is
                too old.
            InvalidAnswer: a line has no end.
        """
        exchanges, watch_times = self._exchanges, self._watch_times
        seconds = max(1, round(watch_times.watch_s * (1 - exchanges.timing.chance() / 4)))
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(resource_version),
            "timeoutSeconds": str(seconds),
        }
        url = exchanges.url(self._resource.path, query)
        try:
            stream = exchanges.with_credentials(
                lambda credential: exchanges.open_stream(
                    credential, url, watch_times.response_s, seconds + watch_times.grace_s
                )
            )
        except ExchangeFailed as failure:
            raise failure.error from failure.__cause__
        if not isinstance(stream, ResponseStream):
            right = f"watch {self._resource.full_name}"
            raise answers.response_error(exchanges.access, stream, self._resource.path, right)
        try:
            yield self._lines(stream)
        finally:
            stream.close()

    def _lines(self, stream: ResponseStream) -> Iterator[list[bytes]]:
        incomplete = b""
        while data := self._read(stream):
            lines = (incomplete + data).split(b"\n")
            incomplete = lines.pop()  # an incomplete line is not returned: its event comes again
            if lines:
                yield lines
            if len(incomplete) > MAX_LINE_BYTES:
                raise InvalidAnswer(f"{self._resource.path}: a line of the watch has no end")

    def _read(self, stream: ResponseStream) -> bytes:
        try:
            return stream.read()
        except ExchangeFailed as failure:
            error: ClusterError = failure.error
            raise error from failure.__cause__


# Health of the watches: reported when a watch has not worked for a while, and when all of them work again.


class WatchHealth:
    """The health of several watches. Times are seconds of one clock. Safe to use from several threads; used only where
    a watch begins or ends."""

    def __init__(self, watches: Iterable[str], report_after_s: float, now_s: float) -> None:
        """At the start no watch works. `report_after_s`: how long a watch may be without a connection before that is
        reported, as each watch is opened again from time to time."""
        self._report_after_s = report_after_s
        self._lock = threading.Lock()
        self._broken = {name: (now_s, f"{name} have not been listed yet") for name in watches}
        self._reported = False

    def mark_working(self, watch: str) -> None:
        with self._lock:
            self._broken.pop(watch, None)

    def mark_broken(self, watch: str, reason: str, now_s: float) -> None:
        """The watch does not work; may be called again with another reason."""
        with self._lock:
            since_s, _ = self._broken.get(watch, (now_s, ""))
            self._broken[watch] = since_s, reason

    def new_events(self, now_s: float) -> list[RunUpdate]:
        """The events that are to be reported now."""
        with self._lock:
            if self._reported:
                if self._broken:
                    return []
                self._reported = False
                return [WatchRestored()]
            overdue = [each for each in self._broken.values() if now_s - each[0] >= self._report_after_s]
            if not overdue:
                return []
            self._reported = True
            return [WatchInterrupted(min(overdue)[1])]

    def next_event_s(self, now_s: float) -> float:
        """Seconds until the next event if nothing else happens; infinity if there is none."""
        with self._lock:
            if self._reported or not self._broken:
                return inf
            return max(0.0, min(since_s for since_s, _ in self._broken.values()) + self._report_after_s - now_s)


MAX_EMPTY_WATCHES = 3
"""After so many watches in a row without an event the resource is listed again."""

_ENDED_EARLY_S = 0.5
"""A healthy server does not end a watch so early."""

_SHORT_PAUSE_S = 0.05
"""The longest pause after the loss of a connection that had received an event."""


class WatchThread:
    """Mutable, for one thread. `publish` receives events in the order in which they happened; `monotonic` returns
    seconds."""

    def __init__(
        self,
        listener: FactEvents,
        lister: ResourceLister,
        streams: WatchStreams,
        decoder: WatchDecoder,
        failures: FailureStreak,
        health: WatchHealth,
        close_signal: CloseSignal,
        monotonic: Callable[[], float],
        publish: Callable[[Sequence[RunUpdate]], None],
    ) -> None:
        self._listener = listener
        self._lister = lister
        self._streams = streams
        self._decoder = decoder
        self._failures = failures
        self._health = health
        self._close_signal = close_signal
        self._monotonic = monotonic
        self._publish = publish
        self._resource_version: int | None = None  # None: the resource is to be listed
        self._received_events = False  # whether the current connection has received an event
        self._empty_watches = 0  # connections in a row without an event

    @property
    def name(self) -> str:
        return self._listener.resource.plural

    def run(self) -> None:
        """List and watch until the backend is closed.

        Raises:
            BackendClosed: the backend is closed; the only other end is
            Unauthorized, Forbidden, ConfigError: the resource must not be watched any more.
        """
        while True:
            self._close_signal.check()
            self._received_events = False
            try:
                if self._resource_version is None:
                    listed = self._lister.list_all()
                    self._resource_version, self._empty_watches = listed.version, 0
                    self._publish([self._listener.list_event(listed)])
                else:
                    self._watch(self._resource_version)
            except (ContinueTokenExpired, InvalidAnswer) as error:
                self._resource_version = None
                self._record_failure(error)
            except (RequestRefused, NotServed, Incomplete) as error:
                self._count_empty(1)
                self._record_failure(error)
            except ClusterError as error:  # without a connection the version may still be valid
                self._record_failure(error)

    def _watch(self, resource_version: int) -> None:
        """One connection, until it ends."""
        started_s = self._monotonic()
        with self._streams.open(resource_version) as stream:
            self._health.mark_working(self.name)
            self._publish(())  # wake up the reader of events
            for lines in stream:
                self._decode_lines(lines)
        self._health.mark_broken(self.name, f"the watch of {self.name} has ended", self._monotonic())
        if not self._received_events:
            # It ended without even a bookmark: a proxy may end watches at once, or may not forward them.
            self._count_empty(MAX_EMPTY_WATCHES)
            if self._monotonic() - started_s < _ENDED_EARLY_S:
                raise Incomplete(f"a watch of {self.name} ended at once and had told nothing")

    def _decode_lines(self, lines: Sequence[bytes]) -> None:
        """Decode the lines and publish their events; events before an error are published."""
        events: list[RunUpdate] = []
        listener = self._listener
        try:
            for line in lines:
                event = self._decoder.event(line, listener.resource.path)
                if event.kind is FactEventKind.ERROR:
                    raise self._watch_error(event.code, event.message)
                if event.kind is FactEventKind.CHANGED:
                    events.append(listener.changed_event(event.fact, event.version))
                elif event.kind is FactEventKind.REMOVED:
                    events.append(listener.removed_event(event.fact, event.version))
                self._resource_version = max(self._resource_version or 0, event.version)
                if not self._received_events:
                    self._received_events, self._empty_watches = True, 0
                    self._failures.reset()
        finally:
            if events:
                self._publish(events)

    def _watch_error(self, code: int, message: str) -> ClusterError:
        if code == 410:
            return ContinueTokenExpired(message)
        self._count_empty(MAX_EMPTY_WATCHES)
        return RequestRefused(f"the watch of {self.name} was ended with {code}: {message}")

    def _count_empty(self, times: int) -> None:
        if not self._received_events or times == MAX_EMPTY_WATCHES:
            self._empty_watches += times
        if self._empty_watches >= MAX_EMPTY_WATCHES:
            self._resource_version = None

    def _record_failure(self, error: ClusterError | InvalidAnswer) -> None:
        reason = error.message if isinstance(error, ClusterError) else str(error)
        self._health.mark_broken(self.name, reason, self._monotonic())
        self._failures.pause_after(error, _SHORT_PAUSE_S if self._received_events else None)
