"""What holds for every test."""

from __future__ import annotations

import signal

_USUAL = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL, "SIGTERM": signal.SIG_DFL}


def pytest_configure() -> None:
    """What is begun in the background, or by nohup, ignores signals, and that would go on to all that tests start."""
    for name, handler in _USUAL.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
