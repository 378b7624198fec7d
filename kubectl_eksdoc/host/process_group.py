"""A process with all that it has started: how it is ended."""

from __future__ import annotations

import os
import signal
import subprocess

KILL_S = 2.0
"""So long it may take to end once it was told to."""


def end(process: subprocess.Popen[bytes], kill_s: float = KILL_S) -> None:
    """Told to end first, and made to if it does not; what it left behind as well. It must have been begun with
    `start_new_session`."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says so of what has ended
            return
        try:
            process.wait(kill_s)
        except subprocess.TimeoutExpired:
            continue
