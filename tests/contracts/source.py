"""The project's own source as these tests see it: files, modules, syntax trees, import contracts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "kubectl_eksdoc"

_LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def files(top: Path) -> Iterator[Path]:
    """Every Python file under `top`, sorted."""
    return iter(sorted(top.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name(path: Path) -> str:
    """``kubectl_eksdoc/core/model/pods.py``: how a failure names a file."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def lint_imports(folder: Path) -> tuple[int, str]:
    """Run the import contracts of `folder`/setup.cfg; the exit code, and the text with each space once."""
    done = subprocess.run(
        [sys.executable, "-c", _LINT, "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "400", "NO_COLOR": "1", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)
