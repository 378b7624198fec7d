"""Run the command line as a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.contracts.source import ROOT

LONGEST_S = 120.0


@contextmanager
def started(home: Path, *argv: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process without any AWS variables; it always ends with the block."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    around = {**plain, "PYTHONPATH": str(ROOT), "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", **environ}
    command = [sys.executable, "-m", "kubectl_eksdoc", *argv]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env=around) as process:
        try:
            yield process
        finally:
            process.kill()


def until(holds: Callable[[], object], longest_s: float = LONGEST_S) -> None:
    ends_s = time.monotonic() + longest_s
    while not holds():
        assert time.monotonic() < ends_s, "it never was so"
        time.sleep(0.02)
