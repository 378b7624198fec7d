"""The terminal that the screens are in, which may go away under them: Textual by itself would wait for it for ever, and
a run would go on that nobody sees."""

from __future__ import annotations

import os
import select
from typing import IO, Any, cast

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """What is written after nobody holds the other end any more is written to nothing."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        output: Any = Output(cast("IO[str]", self._file))
        self._file = output

    def start_application_mode(self) -> None:
        """From here on somebody must tidy up: whoever is told to stop is heard before the terminal is touched."""
        hear = getattr(self._app, "hear_signals", None)
        if hear is not None:
            hear()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    @property
    def is_left(self) -> bool:
        """Whether nobody holds the other end: not everybody whose terminal goes away is told so by a signal."""
        if not hasattr(select, "poll"):
            return False
        asked = select.poll()
        asked.register(self.fileno, 0)  # what goes wrong is told unasked
        return any(told & (select.POLLHUP | select.POLLERR) for _, told in asked.poll(0))


class Output:
    """The stream of a terminal. It never fails: the thread that writes would end, and whoever writes wait for it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        try:
            return self._file.write(text)
        except OSError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._drop()

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        return self._file.fileno()

    def _drop(self) -> None:
        """From now on it leads nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)
