"""Run a command and measure its duration and peak memory; small statistics on these."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Run:
    """`peak` in MiB: of the process and the children it waited for, and never below our own (see `run`). `cpu`: seconds
    of both, by user and system."""

    wall: float
    peak: float
    code: int
    stdout: bytes
    cpu: float = 0.0


@dataclass(frozen=True, slots=True)
class Series:
    """Several runs of one command."""

    runs: tuple[Run, ...]

    @property
    def wall(self) -> float:
        return median(r.wall for r in self.runs)

    @property
    def peak(self) -> float:
        return median(r.peak for r in self.runs)

    @property
    def cpu(self) -> float:
        return median(r.cpu for r in self.runs)


class Unexpected(Exception):
    """A command ended with an unexpected exit code."""


def run(command: Sequence[str], env: Mapping[str, str], codes: Sequence[int] = (0,), keep: bool = False) -> Run:
    """Run `command` to its end; `keep` its output, else discard it.

    Linux counts the memory of the parent process until the child has replaced it by its own program, so this
    process must stay small.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = time.perf_counter()
        target = out if keep else subprocess.DEVNULL
        child = subprocess.Popen(list(command), env=dict(env), stdin=subprocess.DEVNULL, stdout=target, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - before
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in codes:
            err.seek(0)
            said = err.read().decode(errors="replace").strip()[-2000:]
            raise Unexpected(f"{' '.join(command)}: exit {child.returncode}\n{said}")
        out.seek(0)
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # bytes there, KiB elsewhere
        cpu = usage.ru_utime + usage.ru_stime
        return Run(wall, usage.ru_maxrss / unit, child.returncode, out.read(), cpu)


def in_turn(times: int, *commands: Callable[[], Run]) -> tuple[Series, ...]:
    """Run all `commands` one after the other, `times` over: a disturbance of the machine affects all of them."""
    rounds = [[command() for command in commands] for _ in range(times)]
    return tuple(Series(tuple(column)) for column in zip(*rounds, strict=True))
