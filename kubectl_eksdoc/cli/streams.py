"""The standard streams of a process, each of which may be closed, full or broken, and the exit codes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO
from weakref import WeakSet

from kubectl_eksdoc.errors import UsageError

_BROKEN: WeakSet[TextIO] = WeakSet()
"""Streams that could not be written once; they are redirected to the null device."""


def write_note(stream: TextIO, text: str) -> None:
    """Write a note, not the answer. An error is ignored, as the answer is still useful."""
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):  # ValueError: the stream is closed
        redirect_to_null(stream)


def write_answer(stream: TextIO, text: str) -> None:
    """Write the answer, if there is one. A reader that closes the pipe early (`| head`) is no error.

    Raises:
        UsageError: it cannot be written; raised once.
    """
    if stream in _BROKEN or not text:
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        redirect_to_null(stream)
    except OSError as error:
        redirect_to_null(stream)
        raise UsageError(f"cannot write the answer to stdout: {error.strerror or error}") from error


def redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream that cannot be written to the null device; otherwise Python reports an error at exit."""
    _BROKEN.add(stream)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


def is_broken(stream: TextIO) -> bool:
    """Whether output to the stream is lost: it could not be written before, or the reader of the pipe is gone."""
    return stream in _BROKEN or _is_broken_pipe(stream)


def _is_broken_pipe(stream: TextIO) -> bool:
    """Writes nothing to find out. False where it is unknown, as on Windows."""
    import select

    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):  # a StringIO, or closed
        return False
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # errors are always reported
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def open_closed_streams() -> None:
    """Open the null device for each closed standard stream.

    Otherwise the next file or socket would get its number, and a write to stderr would go into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


# The progress of reads: one line on stderr, rewritten in place and removed at the end.


_DRAW_INTERVAL_S = 0.1  # seconds between two drawings: more would cost time and be unreadable


class ProgressLine:
    """Draws only on a terminal. Used as ``with ProgressLine(stderr) as progress: …``.

    Safe to call from several threads: the worst that can happen is a line drawn twice.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._drawn_at = float("-inf")
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._draw("")
        self._is_terminal = False

    def __call__(self, plural: str, count: int) -> None:
        """`count` objects of the resource `plural` have been read."""
        self.show(f"reading {plural}: {count:,}")

    def show(self, text: str) -> None:
        """Show the progress in one line."""
        now = self._clock()
        if now - self._drawn_at >= _DRAW_INTERVAL_S:
            self._drawn_at = now
            self._draw(text)

    def _draw(self, text: str) -> None:
        if not self._is_terminal or not (text or self._width):
            return
        end = "" if text else "\r"
        write_note(self._stream, f"\r{text.ljust(self._width)}{end}")
        self._width = len(text)


# The exit codes: an interface for scripts, and the source of the table in the README.


CLEAN = 0
FAILS = 1
USAGE = 2
CLUSTER = 3
AWS = 4
UNKNOWN = 5
STOPPED = 6
DRIFTED = 7
BUG = 70
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    CLEAN: "clean: all in scope was judged, nothing fails",
    FAILS: "findings that fail: something blocks the drain",
    USAGE: "the command line, a selector, a target, a dump or a baseline is wrong, or the answer cannot be written",
    CLUSTER: "the cluster refused or cannot be reached",
    AWS: "AWS refused or cannot be reached, or it is not AWS's side of this cluster",
    UNKNOWN: "nothing fails, but something in scope is unknown; `--accept-unknown CODE,…` names what may be",
    STOPPED: (
        "a run stopped before its end, or did not drain every node: resume it, or roll it back; an "
        "add-on update failed, or is still running"
    ),
    DRIFTED: "the cluster is not as in the plan that was read, or the expectation is wrong; nothing was done",
    BUG: "a bug in this tool",
    INTERRUPTED: "interrupted",
}
