"""Runs the tests worth running for what changed since main, the nearest first, for at most some 45 seconds.

    python -m tools.quick [--base REF] [--seconds N] [--list] [FILE…]

A changed test file is run whole; of a changed module the test files that import it, then those that import what
imports it, and so on; of other changed files those whose folder they lie in or whose text names them. FILE…: as if
these had changed. Exit code: that of pytest; 0 if nothing changed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE)
_ENOUGH = 40
"""Test files; those of one more import's distance are added while there are fewer."""
_ITS_OWN = 2
"""Words of its path that a test shares with the file that it tests."""


def changed(base: str) -> list[str]:
    """Files that differ from where this branch left `base`, also untracked ones."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout

    since = git("merge-base", "HEAD", base).strip() or "HEAD"
    names = git("diff", "--name-only", since) + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(names.splitlines()))


def imports(path: str, text: str) -> set[str]:
    """Every module of this project that the file imports, and every imported name, as it may be a module."""
    found: set[str] = set()
    package = ".".join(Path(path).parent.parts)
    for start, names, plain in _IMPORT.findall(text):
        module = resolve_name(start or plain, package)
        if module.split(".")[0] in ("kubectl_eksdoc", "tests", "tools"):
            found.add(module)
            found |= {f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", names))}
    return found


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def distances(start: Iterable[str], importers: Mapping[str, set[str]]) -> dict[str, int]:
    """For each module the number of imports from it to the nearest of `start`."""
    found = dict.fromkeys(start, 0)
    edge = list(found)
    while edge:
        following = {by for module in edge for by in importers.get(module, ())} - found.keys()
        found |= dict.fromkeys(following, found[edge[0]] + 1)
        edge = sorted(following)
    return found


def chosen(files: Sequence[str]) -> list[str]:
    """The test files for `files`, the nearest first; those of equal distance by how much of the path they share."""
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in _sources()}
    importers: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for module in imports(path, text):
            importers[module].add(module_of(path))
    modules = [module_of(path) for path in files if path.endswith(".py") and not path.endswith("conftest.py")]
    ranks = distances(modules, importers)
    for path in files:
        if (path.startswith("tests/") and not path.endswith(".py")) or path.endswith("conftest.py"):
            folder, name = str(Path(path).parent), Path(path).name
            near = [one for one, text in texts.items() if one.startswith(f"{folder}/") or name in text]
            ranks |= {module_of(one): 1 for one in near}
    tests = [path for path in texts if Path(path).name.startswith("test_") and module_of(path) in ranks]
    own = {f"tests/{Path(path).parts[1]}" for path in files if path.startswith("kubectl_eksdoc/")}
    for path in tests:  # its own tests may reach it only through a complete plan
        if _likeness(path, files) >= _ITS_OWN or str(Path(path).parent) in own:
            ranks[module_of(path)] = min(1, ranks[module_of(path)])
    tests.sort(key=lambda path: (ranks[module_of(path)], -_likeness(path, files), path))
    farthest = ranks[module_of(tests[min(_ENOUGH, len(tests)) - 1])] if tests else 0
    return [path for path in tests if ranks[module_of(path)] <= farthest][: 2 * _ENOUGH]


def _sources() -> list[Path]:
    return [path for folder in ("kubectl_eksdoc", "tests", "tools") for path in (ROOT / folder).rglob("*.py")]


def _likeness(path: str, files: Sequence[str]) -> int:
    """How many words of the path a test shares with a changed file, in the singular or the plural."""
    return max((len((_words(path) & _words(file)) - {"test", "py"}) for file in files), default=0)


def _words(path: str) -> set[str]:
    return {word.removesuffix("s") for word in re.split(r"\W|_", path)}


class Limit:
    """A pytest plugin: runs the tests in the order of their files, and stops after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._process = os.getpid()  # workers are forked; they continue until they are ended

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self._until and os.getpid() == self._process:
            pytest.exit("the time is over; the tests that are farther away did not run: make test runs all", 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--base", default="main")
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--list", action="store_true", help="print the test files, and run nothing")
    args = parser.parse_args()
    files = args.files or changed(args.base)
    tests = chosen(files)
    if args.list or not tests:
        print("\n".join(tests) if tests else f"no test is near what changed since {args.base}; make test runs all")
        return 0
    return int(
        pytest.main(
            ["-q", "--assert=plain", "-m", "not long", "-p", "tests.workers", "--workers", "2", *tests],
            plugins=[Limit(args.seconds)],
        )
    )


if __name__ == "__main__":
    sys.exit(main())
