"""How often this process was told to end: by Ctrl-C, by kill, or as its terminal is closed.

A run must not be torn apart by that: it looks here, and comes to its end. Only who insists interrupts it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kubectl_eksdoc.host.endings import numbers

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
