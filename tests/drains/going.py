"""A run by the command line as a process that a test follows, event by event, while it changes the world around it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence

from kubectl_eksdoc.model.api_objects import Doc


class Going:
    """Mutable. `events`: the documents it has printed so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.events: list[Doc] = []

    def until(self, what: str, times: int = 1) -> None:
        """It has told that so often."""
        for event in self._told():
            times -= event.get("what") == what
            if times <= 0:
                return
        raise AssertionError(f"it ended before: {self.events} {self.said}")

    def to_the_end(self, longest_s: float = 60.0) -> int:
        """Its exit code."""
        list(self._told())
        self._listener.join(longest_s)
        return self._process.wait(longest_s)

    @property
    def said(self) -> str:
        """On stderr, when it is over."""
        return "".join(self._said)

    @property
    def answer(self) -> Doc:
        return self.events[-1]

    def _told(self) -> Iterator[Doc]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.append(json.loads(line))
            yield self.events[-1]

    def _listen(self) -> None:
        assert self._process.stderr is not None
        self._said += self._process.stderr


@contextlib.contextmanager
def going(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[Going]:
    """It must print JSON lines (``-o json``); if it is not over when the block ends, it is killed."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environ, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield Going(process)
        finally:
            process.kill()
