"""The end of a field, as its threads see it: they pause until it comes, and stop."""

from __future__ import annotations

import threading


class Closed(Exception):
    """Nobody waits for it any more."""


class Closing:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def begun(self) -> bool:
        return self._event.is_set()

    def begin(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises Closed: it is over."""
        if self._event.is_set():
            raise Closed

    def pause(self, seconds: float) -> None:
        """Raises Closed: it is over, or is meanwhile."""
        if self._event.wait(seconds):
            raise Closed
