"""Programs that tests write to disk, which run wherever the interpreter is installed.

A `#!` line ends at the first space and may be cut off by the kernel, so an interpreter in "my projects/.venv" cannot
stand in one; a quoted word of a shell script can.
"""

from __future__ import annotations

import shlex
from pathlib import Path


def program(path: Path, *command: str) -> Path:
    """Write an executable at `path` that runs `command`, with its own arguments after those given here."""
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path
