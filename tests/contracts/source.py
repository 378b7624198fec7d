"""The source of this project for the contract tests: files, modules, syntax trees, import contracts."""

from __future__ import annotations

import ast
import configparser
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "kubectl_eksdoc"

_LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def files(top: Path) -> Iterator[Path]:
    """Every Python file under `top`, sorted."""
    return iter(sorted(top.rglob("*.py")))


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def tree(path: Path) -> ast.Module:
    """Not cached: with some thousand trees in memory, each garbage collection takes longer than parsing them again."""
    return ast.parse(text(path), str(path))


@dataclass(frozen=True, slots=True)
class Outline:
    """The facts about a file that the house rules need: of a function its name and length, of a call its line and
    text."""

    docstring: str
    modules: frozenset[str]
    functions: tuple[tuple[str, int], ...]
    sleeps: tuple[tuple[int, str, float], ...]
    searches: tuple[tuple[int, str], ...]


@cache
def outline(path: Path) -> Outline:
    """Each file is parsed once for all rules, and only the statements of its syntax tree are visited, unless it may
    sleep."""
    module = tree(path)
    modules: set[str] = set()
    functions = []
    for node in _statements(module):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append((node.name, (node.end_lineno or node.lineno) - node.lineno + 1))
    sleeps, searches = _calls(module) if re.search(r"sleep|which", text(path)) else ([], [])
    return Outline(
        ast.get_docstring(module) or "", frozenset(modules), tuple(functions), tuple(sleeps), tuple(searches)
    )


def _statements(top: ast.AST) -> Iterator[ast.AST]:
    """All statements below `top`, in branches and functions too; no expression has one inside."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(top, part, ()):
            yield node
            yield from _statements(node)


def _calls(module: ast.Module) -> tuple[list[tuple[int, str, float]], list[tuple[int, str]]]:
    sleeps, searches = [], []
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            given = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            if called == "sleep" and isinstance(given, (int, float)):
                sleeps.append((node.lineno, ast.unparse(node), float(given)))
            if called == "which":
                searches.append((node.lineno, ast.unparse(node)))
    return sleeps, searches


def first_sentence(path: Path) -> str:
    """The docstring of the file up to the first empty line; "" without one. Read without a syntax tree."""
    found = re.match(r'(?:#[^\n]*\n|\s)*"""(.*?)(?:"""|\n\n)', text(path), re.DOTALL)
    return found[1] if found else ""


def name(path: Path) -> str:
    """The file in the message of a failure: ``kubectl_eksdoc/model/nodes.py``."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


@cache
def contracts() -> dict[str, configparser.SectionProxy]:
    """The import contracts of setup.cfg."""
    config, before = configparser.ConfigParser(), "importlinter:contract:"
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return {each.removeprefix(before): config[each] for each in config.sections() if each.startswith(before)}


def lint_imports(folder: Path) -> tuple[int, str]:
    """Run the import contracts of `folder`/setup.cfg; the exit code, and the output with runs of spaces made one."""
    done = subprocess.run(
        [sys.executable, "-c", _LINT, "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "400", "NO_COLOR": "1", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)
