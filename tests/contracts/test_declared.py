"""Every library that is imported is declared in setup.cfg and pinned in constraints.txt."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distributions, requires
from pathlib import Path

import pytest

from tests.contracts.source import PACKAGE, ROOT, files, outline

CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg", encoding="utf-8")

# The pool, its errors and its CAs come from the official client, which pins their versions. Only type
# checkers import typing_extensions.
COMES_WITH = {
    "urllib3": "kubernetes",
    "certifi": "kubernetes",
    "websocket-client": "kubernetes",
    "rich": "textual",
    "typing-extensions": "textual",
    "botocore": "boto3",
}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(lines: str) -> set[str]:
    """The distributions in requirement lines."""
    found = (re.match(r"\s*([A-Za-z0-9._-]+)", line.partition("#")[0]) for line in lines.splitlines())
    return {normal(match.group(1)) for match in found if match}


RUNTIME = names(CONFIG["options"]["install_requires"])
TEST = names(CONFIG["options.extras_require"]["test"])


@cache
def brought() -> dict[str, set[str]]:
    """The distributions that provide each module; the library of Python 3.10 finds only those with a top_level.txt."""
    found: dict[str, set[str]] = {}
    for one in distributions():
        for module in set(_MODULE.findall(one.read_text("RECORD") or "")):
            found.setdefault(module, set()).add(one.metadata["Name"])
    return found


_MODULE = re.compile(r"^([^/,]+?)(?:/[^,]*)?\.py,", re.MULTILINE)
"""The first part of the path of each .py file in a RECORD; parsing its lines as paths takes ten times as long."""


def imported(paths: Iterable[Path]) -> set[str]:
    """The distributions whose modules `paths` import, without the standard library and the folders of this project."""
    modules = set[str]().union(*(outline(path).modules for path in paths))
    ours = {
        "kubectl_eksdoc",
        *(p.stem for top in ("tests", "tools", "bench") for p in (ROOT / top, *files(ROOT / top))),
    }
    known = brought()
    return {normal(d) for m in modules - ours - sys.stdlib_module_names for d in known.get(m, [m])}


def test_what_the_package_imports_is_declared() -> None:
    assert imported(files(PACKAGE)) - COMES_WITH.keys() <= RUNTIME
    assert set(COMES_WITH.values()) <= RUNTIME
    for name, bringer in COMES_WITH.items():
        assert name in names("\n".join(requires(bringer) or ())), f"{bringer} no longer brings {name}"


@pytest.mark.long
def test_what_tests_and_tools_import_is_declared() -> None:
    paths = [path for top in ("tests", "tools", "bench") for path in files(ROOT / top)]
    assert imported(paths) - COMES_WITH.keys() <= RUNTIME | TEST


def test_what_is_declared_is_pinned_to_one_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [
        line for line in pins if not re.match(r"[a-z0-9-]+==[0-9][0-9a-z.]*(; python_version \S+ \S+)?$", line)
    ] == []
    assert RUNTIME | TEST | COMES_WITH.keys() <= {normal(line.partition("==")[0]) for line in pins}
