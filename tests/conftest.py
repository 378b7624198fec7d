"""What holds for every test."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell lets what it begins in the background ignore Ctrl-C, and that would go on to all that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
