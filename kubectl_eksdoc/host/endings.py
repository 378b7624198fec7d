"""Until a program is told to end: by Ctrl-C, by kill, or as its terminal is closed. What it holds is put away then.

Nothing is raised for it, as that may be within a lock of Python's own, which stays locked then. And such words often
come twice, from a shell and its terminal: only the first counts. Who insists interrupts, from the third on.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_INSISTING = 3
_LOOK_S = 0.2


@contextmanager
def told_to_end() -> Iterator[Callable[[], None]]:
    """What waits for it, from now on and until the block ends; in the main thread. What is ignored stays so: nohup
    means it.

    Raises:
        KeyboardInterrupt: somebody insists.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    held = {number: signal.getsignal(number) for number in numbers()}
    taken = {number: before for number, before in held.items() if before in usual}
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) >= _INSISTING:
            raise KeyboardInterrupt

    def wait() -> None:
        """By looking: what is told just before a thread begins to wait wakes nobody."""
        while not heard:
            time.sleep(_LOOK_S)

    for number in taken:
        signal.signal(number, hear)
    try:
        yield wait
    finally:
        for number, before in taken.items():
            signal.signal(number, before)


def numbers() -> Iterator[signal.Signals]:
    """Those that this system has."""
    return (getattr(signal, name) for name in _NAMES if hasattr(signal, name))
