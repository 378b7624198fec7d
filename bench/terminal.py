"""Run a command on a pseudo-terminal: send keys, and record the arrival time of every byte of output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

COLUMNS, ROWS = 120, 36
LONGEST_S = 120.0

_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
"""What steers a terminal and shows nothing."""

_SCREENFUL = 1 << 15
"""More bytes than one screen takes."""

_TICKS = os.sysconf("SC_CLK_TCK")


class Silent(Exception):
    """The expected output did not arrive."""


class Terminal:
    """Mutable: all output so far. Leaving the block kills the command."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], columns: int = COLUMNS, rows: int = ROWS
    ) -> None:
        self._end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        around = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        around |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
        self.begun = time.perf_counter()
        self._process = subprocess.Popen(
            list(command), stdin=theirs, stdout=theirs, stderr=theirs, env=around, start_new_session=True
        )
        os.close(theirs)
        self.sent = bytearray()
        self.last = self.begun  # when the last byte came

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._end)

    @property
    def pid(self) -> int:
        return self._process.pid

    def until(self, shown: Callable[[str], object], since: int = 0, longest_s: float = LONGEST_S) -> float:
        """When what was sent from place `since` on showed it: the time of the byte that completed it.

        Raises:
            Silent: it was not shown.
        """
        end = time.perf_counter() + longest_s
        while not shown(self.text(since)):
            if time.perf_counter() > end or not self._read(1.0):
                raise Silent(" ".join(self.text(since).split())[-600:])
        return self.last

    def press(self, key: bytes, shown: Callable[[str], object], longest_s: float = LONGEST_S) -> float:
        """Seconds from the key to the bytes that complete the answer to it."""
        since = len(self.sent)
        before = time.perf_counter()
        os.write(self._end, key)
        return self.until(shown, since, longest_s) - before

    def burst(self, keys: bytes, shown: Callable[[str], object], longest_s: float = LONGEST_S) -> float:
        """Seconds, the longest without a byte, while `keys` that are written at once are answered; what its thread
        waited for a core is not counted."""
        since, at, longest = len(self.sent), time.perf_counter(), 0.0
        end, waited = at + longest_s, self.screens_waited_s()
        os.write(self._end, keys)
        while not shown(self.text(max(since, len(self.sent) - _SCREENFUL))):
            if at > end or not self._read(1.0):
                raise Silent(" ".join(self.text(since).split())[-600:])
            before, waited = waited, self.screens_waited_s()
            longest, at = max(longest, self.last - at - (waited - before)), max(at, self.last)
        return longest

    def settle(self, quiet_s: float = 0.1, longest_s: float = LONGEST_S) -> None:
        """Until it has sent nothing for so long.

        Raises:
            Silent: it never stops.
        """
        end = time.perf_counter() + longest_s
        quiet_from = time.perf_counter()
        while time.perf_counter() - quiet_from < quiet_s:
            came = len(self.sent)
            self._read(quiet_s / 5)
            if len(self.sent) != came:
                quiet_from = time.perf_counter()
            if quiet_from > end:
                raise Silent("it never stops sending")

    def watch(self, seconds: float) -> int:
        """The number of bytes that it sends in that time."""
        end, before = time.perf_counter() + seconds, len(self.sent)
        while (left := end - time.perf_counter()) > 0:
            self._read(left)
        return len(self.sent) - before

    def text(self, since: int = 0) -> str:
        """The output from there on, without control sequences."""
        return _CONTROL.sub(b"", bytes(self.sent[since:])).decode(errors="ignore")

    def cpu_s(self) -> float:
        """The CPU time of the process so far, including the kernel's work for it."""
        told = _of_process(self.pid, "stat").rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / _TICKS

    def screens_cpu_s(self) -> float:
        """The CPU time of the drawing thread alone, in nanosecond precision; planning in other threads is not in it."""
        return int(_of_process(self.pid, "schedstat").split()[0]) / 1e9

    def screens_waited_s(self) -> float:
        """How long that thread was ready to run, and no core was free for it."""
        return int(_of_process(self.pid, "schedstat").split()[1]) / 1e9

    def memory_mib(self) -> tuple[float, float]:
        """(now, at most so far) of the process alone."""
        told = dict(line.split(":", 1) for line in _of_process(self.pid, "status").splitlines() if ":" in line)
        now, most = (int(told[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
        return now, most

    def _read(self, seconds: float) -> bool:
        """Read; returns whether more output can come."""
        ready, _, _ = select.select([self._end], [], [], seconds)
        if not ready:
            return self._process.poll() is None
        try:
            told = os.read(self._end, 1 << 16)
        except OSError:  # no process holds the other end any more
            return False
        self.last = time.perf_counter()
        self.sent += told
        return bool(told)


def knows_processes() -> bool:
    """Whether the system reports the CPU use of a process, as Linux does."""
    return os.path.exists(f"/proc/{os.getpid()}/status")


def _of_process(pid: int, name: str) -> str:
    with open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
        return file.read()
