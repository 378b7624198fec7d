"""The answers to watches: lines of events, as they happen, until the watch's time is over.

Source: apiserver pkg/endpoints/handlers/watch.go. The time is the wall's, however fast the cluster's own passes: it is
how long a client waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.sim.cluster.agenda import Agenda
from kubectl_eksdoc.embedded.serving.clockwork import Clockwork
from kubectl_eksdoc.embedded.serving.watching import Asked, Bookmarks, Event, Watch

LOOK_S = 0.05
"""A watch looks for news at least so often while virtual time passes by itself."""

Shown = Callable[[Event], bytes]
"""The JSON of what an event tells of, as this client wants it."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """`changed` guards the cluster and is notified of its changes; `advance` lets time pass there."""

    agenda: Agenda
    clockwork: Clockwork
    changed: threading.Condition
    advance: Callable[[], None]
    monotonic: Callable[[], float]

    def lines(self, watch: Watch, what: Asked, shown: Shown) -> Iterator[bytes]:
        """To be called under the lock: what there is to tell at once is looked up at once. The rest is looked up
        when the stream is asked for it, and the lock is held only while it is."""
        return self._following(watch, what, shown, _lines(watch, shown))

    def _following(self, watch: Watch, what: Asked, shown: Shown, first: bytes) -> Iterator[bytes]:
        yield first
        now_s = self.monotonic()
        bookmarks, end_s = Bookmarks(now_s, what), now_s + what.seconds
        while not watch.ended and now_s < end_s:
            with self.changed:
                self.changed.wait(self._pause_s(end_s - now_s))
                self.advance()
                news = _lines(watch, shown)
            now_s = self.monotonic()
            if bookmarks.due(now_s) and not watch.ended:
                news += _line(watch.bookmark(), shown)
            yield news

    def _pause_s(self, left_s: float) -> float:
        due_s = self.agenda.due_s
        until_s = left_s if due_s is None else self.clockwork.real_s(due_s - self.agenda.seconds)
        return max(0.001, min(LOOK_S, left_s, until_s))


def _lines(watch: Watch, shown: Shown) -> bytes:
    return b"".join([_line(event, shown) for event in watch.news()])


def _line(event: Event, shown: Shown) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), shown(event))
