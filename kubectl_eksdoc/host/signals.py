"""The end of processes: of this one when it is told to end, of those that it started, and work that goes on after it.

Nothing is raised for it, as that may be within a lock of Python's own, which stays locked then. And such words often
come twice, from a shell and its terminal: only the first counts. Who insists interrupts, from the third on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_LOOK_S = 0.2


def numbers() -> Iterator[signal.Signals]:
    """Those that this system has."""
    return (getattr(signal, name) for name in _NAMES if hasattr(signal, name))


# How often this process was told to end: by Ctrl-C, by kill, or as its terminal is closed.
#
# A run must not be torn apart by that: it looks here, and comes to its end. Only who insists interrupts it.


INSISTING = 3
"""The third time raises KeyboardInterrupt."""


@contextmanager
def told_to_stop() -> Iterator[Callable[[], int]]:
    """Gives how often it was told so far; in the main thread. What is ignored stays so: nohup means it.

    Raises:
        KeyboardInterrupt: somebody insists.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    taken = {number: before for number in numbers() if (before := signal.getsignal(number)) in usual}
    times = 0

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal times
        times += 1
        if times >= INSISTING:
            raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, hear)
    try:
        yield lambda: times
    finally:
        for number, before in taken.items():
            signal.signal(number, before)


@contextmanager
def told_to_end() -> Iterator[Callable[[], None]]:
    """What waits for it, from now on and until the block ends; as `told_to_stop`."""
    with told_to_stop() as times:

        def wait() -> None:
            """By looking: what is told just before a thread begins to wait wakes nobody."""
            while not times():
                sleep(_LOOK_S)

        yield wait


# A process with all that it has started: how it is ended.


KILL_S = 2.0
"""So long it may take to end once it was told to."""


def end(process: subprocess.Popen[bytes], kill_s: float = KILL_S) -> None:
    """Told to end first, and made to if it does not; what it left behind as well. It must have been begun with
    `start_new_session`."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says so of what has ended
            return
        try:
            process.wait(kill_s)
        except subprocess.TimeoutExpired:
            continue


# Work that goes on after this process has ended.
#
# Whoever started it waits for the end of its pipes, so what goes on must hold none of them.


_BACKGROUND_LOOK_S = 0.01


def begun(work: Callable[[], object], wait_s: float, longest_s: float) -> None:
    """Returns once `work` is done, `wait_s` later at the latest. It may go on for `longest_s` in all, and is then ended
    with every program that it has started; what it raises is nobody's. Windows has no fork: there it ends with this
    process.
    """
    if not hasattr(os, "fork"):
        thread = threading.Thread(target=_quietly, args=(work,), daemon=True)
        thread.start()
        thread.join(wait_s)
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()  # or it would be written twice
    try:
        child = os.fork()
    except OSError:  # there may be no more processes
        return
    if child == 0:
        _alone(work, longest_s)
    ends_s = monotonic() + wait_s
    with suppress(ChildProcessError):
        while os.waitpid(child, os.WNOHANG)[0] == 0 and monotonic() < ends_s:
            sleep(_BACKGROUND_LOOK_S)


def _alone(work: Callable[[], object], longest_s: float) -> None:
    """In the child: never returns."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        os.closerange(3, 256)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, longest_s)
        _quietly(work)
    finally:
        os._exit(0)


def _quietly(work: Callable[[], object]) -> None:
    with suppress(Exception):
        work()
