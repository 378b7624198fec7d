"""Fixtures for the browser tests: one browser, the pages, and axe-core, which is downloaded and never committed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import required_programs
from tests.browser.chromium import Tab, started
from tests.browser.written import long_names, written

AXE = "axe-core@4.14.1"
"""Its rules change with its version, so to the last digit."""

_COMMANDS = {
    "check": ("check", "--demo", "--target", "1.34"),
    "two steps": ("check", "--demo", "--target", "1.35"),
    "symptom": ("check", "--demo", "--symptom", "dns", "--changed-since", "60d"),
    "plan": ("drain", "plan", "--demo"),
    "lenient": ("check", "--demo", "--target", "1.34", "--fail-on", "critical"),
}
_OF_LONG_NAMES = {
    "long names": ("check", "--target", "1.34"),
    "plan of long names": ("drain", "plan", "--older-than", "v1.40"),
}
PAGES = (*_COMMANDS, *_OF_LONG_NAMES)


@pytest.fixture(scope="session")
def tab() -> Iterator[Tab]:
    with started(required_programs.chromium()) as one:
        yield one


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages by their names in `PAGES`."""
    folder = tmp_path_factory.mktemp("pages")
    dump = long_names(folder / "dump")
    of_dump = {name: (*argv, "--snapshot", str(dump)) for name, argv in _OF_LONG_NAMES.items()}
    every = {**_COMMANDS, **of_dump}
    return {name: written(folder / f"{name.replace(' ', '-')}.html", *argv) for name, argv in every.items()}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core."""
    folder = tmp_path_factory.mktemp("axe")
    npm = [
        required_programs.found("npm"),
        "install",
        "--prefix",
        str(folder),
        "--no-save",
        "--ignore-scripts",
        "--no-audit",
    ]
    done = subprocess.run(
        [*npm, "--no-fund", AXE], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        required_programs.missing(f"{AXE} ({done.stderr.strip()[-200:]})")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
