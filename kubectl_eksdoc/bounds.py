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

MAX_HEAD_BYTES = 1 << 20
"""Of a response head, interim responses and those of a proxy included. A head of Python's http.client has at most 100
lines."""

MAX_OUTPUT_BYTES = 1 << 20
"""Of stdout or stderr of a program that prints credentials."""

_BUFFER = 1 << 16

Result = TypeVar("Result")

_thread_limits = threading.local()


class TooLarge(Exception):
    """A response exceeds its size limit."""

    def __init__(self, max_bytes: int, in_head: bool) -> None:
        super().__init__(f"more than {max_bytes} bytes")
        self.max_bytes = max_bytes
        self.in_head = in_head


class ResponseLimits:
    """The limits of one response, for one thread at a time. Mutable: the head has other limits than the body.

    `silence_s` is the longest wait for bytes, `deadline_s` when the response must be complete, by `monotonic`.
    """

    def __init__(self, monotonic: Callable[[], float], silence_s: float, deadline_s: float = inf) -> None:
        self._monotonic = monotonic
        self._silence_s = silence_s
        self._deadline_s = deadline_s
        self._max_bytes: float = MAX_HEAD_BYTES
        self._bytes_read = 0
        self._in_head = True

    @property
    def is_expired(self) -> bool:
        """Whether its time is over."""
        return self.left_s <= 0

    @property
    def left_s(self) -> float:
        """The remaining time."""
        return self._deadline_s - self._monotonic()

    @property
    def is_too_large(self) -> bool:
        """Whether too many bytes have come."""
        return self._bytes_read > self._max_bytes

    def wait_s(self) -> float:
        """The time limit for the next bytes.

        Raises:
            TimeoutError: no time is left.
        """
        left_s = self.left_s
        if left_s <= 0:
            raise TimeoutError("timed out")
        return min(self._silence_s, left_s)

    def count_bytes(self, count: int) -> None:
        """Raises TooLarge: there have been too many bytes."""
        self._bytes_read += count
        if self._bytes_read > self._max_bytes:
            raise TooLarge(int(self._max_bytes), self._in_head)

    def start_body(self, max_bytes: int) -> None:
        """The head is complete: the body may have so many bytes."""
        self._max_bytes, self._bytes_read, self._in_head = max_bytes, 0, False

    def start_stream(self, seconds: float) -> None:
        """The head is complete: a stream of any size follows, and may take so many seconds."""
        self._max_bytes, self._in_head = inf, False
        self._silence_s, self._deadline_s = seconds, self._monotonic() + seconds


@contextmanager
def use_limits(limits: ResponseLimits) -> Iterator[None]:
    """Responses that this thread begins to read in this context have these limits."""
    previous, _thread_limits.bounds = current_limits(), limits
    try:
        yield
    finally:
        _thread_limits.bounds = previous


def current_limits() -> ResponseLimits | None:
    """The limits of this thread."""
    return getattr(_thread_limits, "bounds", None)


class DeadlineExceeded(Exception):
    """There was no result within the time limit."""


def run_within(limits: ResponseLimits, work: Callable[[], Result]) -> Result:
    """The result of `work`, within `limits` and in a thread of its own: a DNS lookup, and a host with several addresses
    that are tried in turn, do not respect the limits themselves.

    Raises:
        DeadlineExceeded: it takes longer; its result is discarded.
    """
    from concurrent.futures import Future
    from concurrent.futures import TimeoutError as NotYet

    future: Future[Result] = Future()

    def run() -> None:
        try:
            with use_limits(limits):
                future.set_result(work())
        except BaseException as error:  # raised in the calling thread
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    left_s = limits.left_s
    try:
        return future.result(left_s if left_s < threading.TIMEOUT_MAX else None)
    except NotYet:
        if future.done():  # the TimeoutError of `work` itself
            raise
        raise DeadlineExceeded from None


class BoundedResponse(http.client.HTTPResponse):
    """The class with which a connection reads a response."""

    def __init__(self, sock: Any, *args: Any, **named: Any) -> None:
        super().__init__(sock, *args, **named)
        limits = current_limits()
        if limits is not None:
            self.fp = io.BufferedReader(_LimitedReader(self.fp.detach(), sock, limits), _BUFFER)


class _LimitedReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: Any, limits: ResponseLimits) -> None:
        self._raw = raw
        self._sock = sock
        self._limits = limits

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._limits.wait_s())
        count: int | None = self._raw.readinto(buffer)
        self._limits.count_bytes(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def capture_stream(
    process: subprocess.Popen[bytes],
    stream: IO[bytes] | None,
    output: bytearray,
    on_chunk: Callable[[bytes], None] | None = None,
) -> None:
    """Append the output of a program on one stream to `output`, and pass it to `on_chunk` as it comes; the program is
    killed where the output exceeds MAX_OUTPUT_BYTES."""
    assert stream is not None
    with stream:
        while chunk := os.read(stream.fileno(), _BUFFER):
            output += chunk
            if len(output) > MAX_OUTPUT_BYTES:
                process.kill()
                return
            if on_chunk is not None:
                on_chunk(chunk)


class ReadTime:
    """The time that ``--read-timeout`` limits: while at least one of its users was reading. A prompt and a change
    between two reads do not count. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._readers = 0
        self._since_s = 0.0
        self._elapsed_s = 0.0
        self._observed = False

    def start_observation(self) -> None:
        """An observation of the cluster begins: the first one includes earlier requests to AWS, later ones start at
        0."""
        with self._lock:
            if self._observed:
                self._elapsed_s, self._since_s = 0.0, self._clock()
            self._observed = True

    @contextmanager
    def counting(self) -> Iterator[None]:
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
                    self._elapsed_s += self._clock() - self._since_s

    def left_s(self, limit_s: float) -> float:
        """What remains of `limit_s`, below 0 where it is over."""
        with self._lock:
            return limit_s - self._elapsed_s - (self._clock() - self._since_s if self._readers else 0.0)
