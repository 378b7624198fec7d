"""Pages as a user gets them: by the command line, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.contracts.source import ROOT

_ANSWERED = (0, 1, 5)


def written(path: Path, *argv: str) -> Path:
    """What the command says with ``-o html``, in that file."""
    with path.open("wb") as out:
        command = [sys.executable, "-m", "kubectl_eksdoc", *argv, "-o", "html"]
        done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in _ANSWERED, done.stderr
    return path
