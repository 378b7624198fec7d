"""Work that goes on after this process has ended.

Whoever started it waits for the end of its pipes, so what goes on must hold none of them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, sleep

_LOOK_S = 0.01


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
            sleep(_LOOK_S)


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
