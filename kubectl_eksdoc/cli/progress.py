"""How far reading has come: one line on stderr, rewritten in place and gone at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from kubectl_eksdoc.cli.streams import say

_EVERY = 0.1  # seconds between two drawings: more would cost time and be unreadable


class ProgressLine:
    """Draws only on a terminal. Used as ``with ProgressLine(stderr) as progress: …``.

    Safe to call from several threads: the worst that can happen is a line drawn twice.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._active = stream.isatty()
        self._drawn_at = float("-inf")
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._draw("")
        self._active = False

    def __call__(self, plural: str, count: int) -> None:
        """`count` objects of the resource `plural` have been read."""
        self.show(f"reading {plural}: {count:,}")

    def show(self, text: str) -> None:
        """How far it has come, in one line."""
        now = self._clock()
        if now - self._drawn_at >= _EVERY:
            self._drawn_at = now
            self._draw(text)

    def _draw(self, text: str) -> None:
        if not self._active or not (text or self._width):
            return
        end = "" if text else "\r"
        say(self._stream, f"\r{text.ljust(self._width)}{end}")
        self._width = len(text)
