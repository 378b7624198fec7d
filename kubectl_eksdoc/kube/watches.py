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
from kubectl_eksdoc.kubernetes.news import News, WatchInterrupted, WatchRestored
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import BadObject
from kubectl_eksdoc.objects.held import Changing, FactEventKind

from . import responses as answers
from .exchanges import AnswerStream, ExchangeFailed, Exchanges
from .reads import Closing, FactListener, FailureStreak, Lister
from .responses import (
    ContinueTokenExpired,
    Incomplete,
    NotServed,
    RequestRefused,
)

# The connection of one watch: opened from a resourceVersion on, and read line by line.
#
# Source: kubernetes.io/docs/reference/using-api/api-concepts (watch, bookmarks, timeoutSeconds).


LONGEST_LINE = 64 << 20
"""Bytes. A real object has at most about 1.5 MiB (etcd's limit)."""


@frozen
class WatchTimes:
    """Seconds. A server is asked to end each watch after `watch_s` (a little less, by chance, so that not all end at
    once). It sends a bookmark 2 s before, so a connection that is silent for `grace_s` longer is dead. This is how long
    a run may be blind without knowing, so it is short. `response_s`: time limit for the begin of a watch.
    `report_after_s`: how long a watch may not work before that is reported."""

    each: float = 60.0
    grace: float = 5.0
    answer: float = 30.0
    away: float = 5.0


class Streams:
    """Watches of one resource, in all namespaces."""

    def __init__(self, resource: Resource, exchanges: Exchanges, following: WatchTimes) -> None:
        self._resource = resource
        self._exchanges = exchanges
        self._following = following

    @contextmanager
    def opened(self, version: int) -> Iterator[Iterator[list[bytes]]]:
        """Lines as they come, several at once where they came together, until the watch or its connection ends.

        Raises, here and while iterating:
            ClusterError: the watch is refused, or the server cannot be reached; ContinueTokenExpired: the version is
                too old.
            BadObject: a line has no end.
        """
        exchanges, following = self._exchanges, self._following
        seconds = max(1, round(following.each * (1 - exchanges.timing.chance() / 4)))
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(version),
            "timeoutSeconds": str(seconds),
        }
        url = exchanges.url(self._resource.path, query)
        try:
            stream = exchanges.admitted(
                lambda credential: exchanges.opened(credential, url, following.answer, seconds + following.grace)
            )
        except ExchangeFailed as failure:
            raise failure.error from failure.__cause__
        if not isinstance(stream, AnswerStream):
            right = f"watch {self._resource.full_name}"
            raise answers.error_of(exchanges.access, stream, self._resource.path, right)
        try:
            yield self._lines(stream)
        finally:
            stream.close()

    def _lines(self, stream: AnswerStream) -> Iterator[list[bytes]]:
        rest = b""
        while data := self._read(stream):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()  # an incomplete line is not returned: its event comes again
            if lines:
                yield lines
            if len(rest) > LONGEST_LINE:
                raise BadObject(f"{self._resource.path}: a line of the watch has no end")

    def _read(self, stream: AnswerStream) -> bytes:
        try:
            return stream.read()
        except ExchangeFailed as failure:
            error: ClusterError = failure.error
            raise error from failure.__cause__


# Health of the watches: reported when a watch has not worked for a while, and when all of them work again.


class WatchReach:
    """The health of several watches. Times are seconds of one clock. Safe to use from several threads; used only where
    a watch begins or ends."""

    def __init__(self, watches: Iterable[str], away_s: float, now_s: float) -> None:
        """At the start no watch works. `report_after_s`: how long a watch may be without a connection before that is
        reported, as each watch is opened again from time to time."""
        self._away_s = away_s
        self._lock = threading.Lock()
        self._broken = {name: (now_s, f"{name} have not been listed yet") for name in watches}
        self._told = False

    def works(self, watch: str) -> None:
        with self._lock:
            self._broken.pop(watch, None)

    def broken(self, watch: str, said: str, now_s: float) -> None:
        """The watch does not work; may be called again with another reason."""
        with self._lock:
            since_s, _ = self._broken.get(watch, (now_s, ""))
            self._broken[watch] = since_s, said

    def news(self, now_s: float) -> list[News]:
        """The events that are to be reported now."""
        with self._lock:
            if self._told:
                if self._broken:
                    return []
                self._told = False
                return [WatchRestored()]
            late = [each for each in self._broken.values() if now_s - each[0] >= self._away_s]
            if not late:
                return []
            self._told = True
            return [WatchInterrupted(min(late)[1])]

    def due_s(self, now_s: float) -> float:
        """Seconds until the next event if nothing else happens; infinity if there is none."""
        with self._lock:
            if self._told or not self._broken:
                return inf
            return max(0.0, min(since_s for since_s, _ in self._broken.values()) + self._away_s - now_s)


FRUITLESS = 3
"""After so many watches in a row without an event the resource is listed again."""

_AT_ONCE_S = 0.5
"""A healthy server does not end a watch so early."""

_QUICKLY_S = 0.05
"""The longest pause after the loss of a connection that had received an event."""


class WatchThread:
    """Mutable, for one thread. `publish` receives events in the order in which they happened; `monotonic` returns
    seconds."""

    def __init__(
        self,
        telling: FactListener,
        lister: Lister,
        streams: Streams,
        changing: Changing,
        insisting: FailureStreak,
        reach: WatchReach,
        closing: Closing,
        monotonic: Callable[[], float],
        tell: Callable[[Sequence[News]], None],
    ) -> None:
        self._telling = telling
        self._lister = lister
        self._streams = streams
        self._changing = changing
        self._insisting = insisting
        self._reach = reach
        self._closing = closing
        self._monotonic = monotonic
        self._tell = tell
        self._version: int | None = None  # None: the resource is to be listed
        self._fruitful = False  # whether the current connection has received an event
        self._fruitless = 0  # connections in a row without an event

    @property
    def name(self) -> str:
        return self._telling.resource.plural

    def follow(self) -> None:
        """List and watch until the backend is closed.

        Raises:
            BackendClosed: the backend is closed; the only other end is
            Unauthorized, Forbidden, ConfigError: the resource must not be watched any more.
        """
        while True:
            self._closing.check()
            self._fruitful = False
            try:
                if self._version is None:
                    listed = self._lister.all()
                    self._version, self._fruitless = listed.version, 0
                    self._tell([self._telling.all(listed)])
                else:
                    self._watch(self._version)
            except (ContinueTokenExpired, BadObject) as error:
                self._version = None
                self._failed(error)
            except (RequestRefused, NotServed, Incomplete) as error:
                self._without_fruit(1)
                self._failed(error)
            except ClusterError as error:  # without a connection the version may still be valid
                self._failed(error)

    def _watch(self, version: int) -> None:
        """One connection, until it ends."""
        begun_s = self._monotonic()
        with self._streams.opened(version) as stream:
            self._reach.works(self.name)
            self._tell(())  # wake up the reader of events
            for lines in stream:
                self._take(lines)
        self._reach.broken(self.name, f"the watch of {self.name} has ended", self._monotonic())
        if not self._fruitful:
            # It ended without even a bookmark: a proxy may end watches at once, or may not forward them.
            self._without_fruit(FRUITLESS)
            if self._monotonic() - begun_s < _AT_ONCE_S:
                raise Incomplete(f"a watch of {self.name} ended at once and had told nothing")

    def _take(self, lines: Sequence[bytes]) -> None:
        """Decode the lines and publish their events; events before an error are published."""
        news: list[News] = []
        telling = self._telling
        try:
            for line in lines:
                event = self._changing.event(line, telling.resource.path)
                if event.what is FactEventKind.ERROR:
                    raise self._error(event.code, event.said)
                if event.what is FactEventKind.IS:
                    news.append(telling.there(event.fact, event.version))
                elif event.what is FactEventKind.GONE:
                    news.append(telling.gone(event.fact, event.version))
                self._version = max(self._version or 0, event.version)
                if not self._fruitful:
                    self._fruitful, self._fruitless = True, 0
                    self._insisting.succeeded()
        finally:
            if news:
                self._tell(news)

    def _error(self, code: int, said: str) -> ClusterError:
        if code == 410:
            return ContinueTokenExpired(said)
        self._without_fruit(FRUITLESS)
        return RequestRefused(f"the watch of {self.name} was ended with {code}: {said}")

    def _without_fruit(self, times: int) -> None:
        if not self._fruitful or times == FRUITLESS:
            self._fruitless += times
        if self._fruitless >= FRUITLESS:
            self._version = None

    def _failed(self, error: ClusterError | BadObject) -> None:
        said = error.message if isinstance(error, ClusterError) else str(error)
        self._reach.broken(self.name, said, self._monotonic())
        self._insisting.failed(error, _QUICKLY_S if self._fruitful else None)
