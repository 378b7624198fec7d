"""One watch's connection: opened from a version on, and read as whole lines.

Source: kubernetes.io/docs/reference/using-api/api-concepts (watch, bookmarks, timeoutSeconds).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube import refusals
from kubectl_eksdoc.kube.exchanges import Broken, Exchanges, Stream
from kubectl_eksdoc.objects.collector import BadObject

LONGEST_LINE = 64 << 20
"""Bytes. A real object has at most about 1.5 MiB (etcd's limit)."""


@dataclass(frozen=True, slots=True)
class Following:
    """Seconds. A server is asked to end each watch after `each` (a little less, by chance, that not all end at once):
    it sends a bookmark 2 s before, so that a connection that is silent for `grace` longer leads nowhere. That is how
    long a run may be blind without knowing, hence short. `answer`: until a watch must have begun. `away`: without a
    watch that works, until that is told."""

    each: float = 60.0
    grace: float = 5.0
    answer: float = 30.0
    away: float = 5.0


class Streams:
    """Watches of one resource, in all namespaces."""

    def __init__(self, resource: Resource, exchanges: Exchanges, following: Following) -> None:
        self._resource = resource
        self._exchanges = exchanges
        self._following = following

    @contextmanager
    def opened(self, version: int) -> Iterator[Iterator[list[bytes]]]:
        """Lines as they come, several at once where they did; they end with the watch's time, or the connection's.

        Raises, here and while iterating:
            ClusterError: it is refused or cannot be reached; Expired: the version is too old.
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
        except Broken as failure:
            raise failure.error from failure.__cause__
        if not isinstance(stream, Stream):
            right = f"watch {self._resource.full_name}"
            raise refusals.error_of(exchanges.access, stream, self._resource.path, right)
        try:
            yield self._lines(stream)
        finally:
            stream.close()

    def _lines(self, stream: Stream) -> Iterator[list[bytes]]:
        rest = b""
        while data := self._read(stream):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()  # what is not ended is not told: it comes again
            if lines:
                yield lines
            if len(rest) > LONGEST_LINE:
                raise BadObject(f"{self._resource.path}: a line of the watch has no end")

    def _read(self, stream: Stream) -> bytes:
        try:
            return stream.read()
        except Broken as failure:
            error: ClusterError = failure.error
            raise error from failure.__cause__
