"""Completion answers, computed in the test's process and by a separate process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubectl_eksdoc.cli.completion_command import complete
from kubectl_eksdoc.cli.completion_names import OFFLINE_VARIABLE
from tests import required_programs
from tests.contracts.source import ROOT

LINE = re.compile(r"[^\x00-\x1f\x7f]+(\t[^\x00-\x1f\x7f]+)?\n")
LAST = re.compile(r":([0-9]+)\n")


@dataclass(frozen=True)
class Answered:
    """`offers`: each with its description; `seconds`: the time it took."""

    offers: dict[str, str]
    directive: int
    seconds: float = 0.0

    @property
    def values(self) -> list[str]:
        return list(self.offers)


def read(text: str, seconds: float = 0.0) -> Answered:
    """Parse the answer; malformed output fails the test."""
    *lines, last = text.split("\n")[:-1]
    directive = LAST.fullmatch(f"{last}\n")
    assert text.endswith("\n") and directive, text
    assert all(LINE.fullmatch(f"{line}\n") for line in lines), text
    parts = [line.partition("\t") for line in lines]
    assert len({value for value, _, _ in parts}) == len(parts), text
    return Answered({value: about for value, _, about in parts}, int(directive[1]), seconds)


def at(*words: str, **environ: str) -> Answered:
    """Complete offline and without a home."""
    return read(complete(words, {OFFLINE_VARIABLE: "1", "HOME": "/nowhere", **environ}))


def process(*words: str, home: Path, environ: Mapping[str, str] | None = None) -> Answered:
    """Complete in a process, which must exit with 0 and print nothing on stderr."""
    around = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        **required_programs.BYTECODE,
        **(environ or {}),
    }
    command = [sys.executable, "-m", "kubectl_eksdoc", "__complete", *words]
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=around, timeout=60, check=False)
    seconds = time.monotonic() - begun
    assert (done.returncode, done.stderr) == (0, "")
    return read(done.stdout, seconds)
