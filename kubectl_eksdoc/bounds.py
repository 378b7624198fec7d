"""Limits for the size and duration of responses and of program output, and the time that all reads have taken.

A time limit of urllib3 applies to each wait: a server that sends a byte from time to time would be read without end,
and nothing limits interim responses (100 Continue), trailers or a body. So bytes are counted, and waits timed, at the
socket.
"""

from __future__ import annotations

import http.client
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import subprocess

HEAD_BYTES = 1 << 20
"""Of a response head, interim responses and those of a proxy included. A head of Python's http.client has at most 100
lines."""

PRINTED_BYTES = 1 << 20
"""Of stdout or stderr of a program that prints credentials."""

_BUFFER = 1 << 16

Result = TypeVar("Result")

_current = threading.local()


class TooLarge(Exception):
    """A response exceeds its size limit."""

    def __init__(self, most: int, head: bool) -> None:
        super().__init__(f"more than {most} bytes")
        self.most = most
        self.head = head


class AnswerLimits:
    """The limits of one response, for one thread at a time. Mutable: the head has other limits than the body.

    `silence_s` is the longest wait for bytes, `deadline_s` when the response must be complete, by `monotonic`.
    """

    def __init__(self, monotonic: Callable[[], float], silence_s: float, until_s: float = inf) -> None:
        self._monotonic = monotonic
        self._silence_s = silence_s
        self._until_s = until_s
        self._most: float = HEAD_BYTES
        self._taken = 0
        self._head = True

    @property
    def over(self) -> bool:
        """Whether its time is over."""
        return self.left_s <= 0

    @property
    def left_s(self) -> float:
        """The remaining time."""
        return self._until_s - self._monotonic()

    @property
    def full(self) -> bool:
        """Whether too many bytes have come."""
        return self._taken > self._most

    def wait_s(self) -> float:
        """The time limit for the next bytes.

        Raises:
            TimeoutError: no time is left.
        """
        left_s = self.left_s
        if left_s <= 0:
            raise TimeoutError("timed out")
        return min(self._silence_s, left_s)

    def take(self, count: int) -> None:
        """Raises TooLarge: there have been too many bytes."""
        self._taken += count
        if self._taken > self._most:
            raise TooLarge(int(self._most), self._head)

    def body(self, most: int) -> None:
        """The head is complete: the body may have so many bytes."""
        self._most, self._taken, self._head = most, 0, False

    def following(self, seconds: float) -> None:
        """The head is complete: a stream of any size follows, and may take so many seconds."""
        self._most, self._head = inf, False
        self._silence_s, self._until_s = seconds, self._monotonic() + seconds


@contextmanager
def within(bounds: AnswerLimits) -> Iterator[None]:
    """Responses that this thread begins to read in this context have these limits."""
    before, _current.bounds = current(), bounds
    try:
        yield
    finally:
        _current.bounds = before


def current() -> AnswerLimits | None:
    """The limits of this thread."""
    return getattr(_current, "bounds", None)


class DeadlineExceeded(Exception):
    """There was no result within the time limit."""


def in_time(bounds: AnswerLimits, work: Callable[[], Result]) -> Result:
    """The result of `work`, within `limits` and in a thread of its own: a DNS lookup, and a host with several addresses
    that are tried in turn, do not respect the limits themselves.

    Raises:
        DeadlineExceeded: it takes longer; its result is discarded.
    """
    from concurrent.futures import Future
    from concurrent.futures import TimeoutError as NotYet

    answer: Future[Result] = Future()

    def run() -> None:
        try:
            with within(bounds):
                answer.set_result(work())
        except BaseException as error:  # raised in the calling thread
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    left_s = bounds.left_s
    try:
        return answer.result(left_s if left_s < threading.TIMEOUT_MAX else None)
    except NotYet:
        if answer.done():  # the TimeoutError of `work` itself
            raise
        raise DeadlineExceeded from None


class BoundedResponse(http.client.HTTPResponse):
    """The class with which a connection reads a response."""

    def __init__(self, sock: Any, *args: Any, **named: Any) -> None:
        super().__init__(sock, *args, **named)
        bounds = current()
        if bounds is not None:
            self.fp = io.BufferedReader(_Bounded(self.fp.detach(), sock, bounds), _BUFFER)


class _Bounded(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: Any, bounds: AnswerLimits) -> None:
        self._raw = raw
        self._sock = sock
        self._bounds = bounds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._bounds.wait_s())
        count: int | None = self._raw.readinto(buffer)
        self._bounds.take(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def listen(
    process: subprocess.Popen[bytes],
    stream: IO[bytes] | None,
    heard: bytearray,
    say: Callable[[bytes], None] | None = None,
) -> None:
    """Append the output of a program on one stream to `output`, and pass it to `on_chunk` as it comes; the program is
    killed where the output exceeds MAX_OUTPUT_BYTES."""
    assert stream is not None
    with stream:
        while chunk := os.read(stream.fileno(), _BUFFER):
            heard += chunk
            if len(heard) > PRINTED_BYTES:
                process.kill()
                return
            if say is not None:
                say(chunk)


class ReadTime:
    """The time that ``--read-timeout`` limits: while at least one of its users was reading. A prompt and a change
    between two reads do not count. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._readers = 0
        self._since_s = 0.0
        self._spent_s = 0.0
        self._observed = False

    def observe(self) -> None:
        """An observation of the cluster begins: the first one includes earlier requests to AWS, later ones start at
        0."""
        with self._lock:
            if self._observed:
                self._spent_s, self._since_s = 0.0, self._clock()
            self._observed = True

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Time in this context counts."""
        with self._lock:
            if not self._readers:
                self._since_s = self._clock()
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    self._spent_s += self._clock() - self._since_s

    def left_s(self, limit_s: float) -> float:
        """What remains of `limit_s`, below 0 where it is over."""
        with self._lock:
            return limit_s - self._spent_s - (self._clock() - self._since_s if self._readers else 0.0)
