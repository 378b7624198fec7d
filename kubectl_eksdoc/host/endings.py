"""A program that is told to end, or whose terminal is closed, ends as by Ctrl-C: what it holds is put away first."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def like_interrupts() -> Iterator[None]:
    """Of the main thread, until the block ends. What is ignored stays so: nohup means it.

    Raises:
        KeyboardInterrupt: the program is told to end.
    """
    held = {number: signal.getsignal(number) for number in _numbers()}
    taken = {number: before for number, before in held.items() if before is signal.SIG_DFL}
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, before in taken.items():
            signal.signal(number, before)


def _numbers() -> Iterator[signal.Signals]:
    """Those that this system has."""
    return (getattr(signal, name) for name in _NAMES if hasattr(signal, name))
