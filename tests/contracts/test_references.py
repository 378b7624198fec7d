"""Every name of this project in a docstring or comment, as `module.name`, exists."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.contracts.source import PACKAGE, files, name, text

REFERENCE = re.compile(r"`([a-z]\w*(?:\.\w+)+)(?:\(\))?`")
FIELDS = {"metadata", "status"}
"""Modules of this project that are also fields of every API object and of every result."""
ELSEWHERE = {
    "deployments.apps": "a resource and its group",
    "duration.HumanDuration": "a function of Go",
    "events.amazonaws.com": "a service of AWS",
    "plugins.yaml": "a file",
    "roles.rbac.authorization.k8s.io": "a resource and its group",
    "tools.demo": "beside the package",
}


@cache
def places() -> dict[str, list[Path]]:
    """The paths of each package and module of this project, by name."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in files(PACKAGE):
        found[path.parent.name if path.stem == "__init__" else path.stem].append(path)
    return found


def resolves(words: list[str], path: Path) -> bool:
    """Whether the names after `path` exist below it: packages and modules, then a name in the last module."""
    if not words:
        return True
    folder = path.parent
    if path.stem == "__init__":
        for below in (folder / f"{words[0]}.py", folder / words[0] / "__init__.py"):
            if below.exists():
                return resolves(words[1:], below)
    return bool(re.search(rf"^[ \t]*(?:def |class |async def )?(?:\w+, )*{words[0]}\b", text(path), re.MULTILINE))


def dangling(said: str) -> Iterator[str]:
    """A first word that is not a module of this project must be a name in the file: a parameter, a field, a library."""
    bare = re.sub(r"`[^`\n]*`", "", said)
    for reference in REFERENCE.findall(said):
        first, *rest = reference.split(".")
        if first in FIELDS or reference in ELSEWHERE:
            continue
        found = places().get(first)
        if not (any(resolves(rest, path) for path in found) if found else re.search(rf"\b{first}\b", bare)):
            yield reference


def test_names_in_docstrings_and_comments_are_there() -> None:
    wrong = [f"{name(path)}: {reference}" for path in files(PACKAGE) for reference in dangling(text(path))]
    assert wrong == []


@pytest.mark.parametrize(
    "said", ["`drain.orders.soonest_first`", "`tui.tables`", "`nodes.Pod`", "`status.phase`", "a = `a.b`"]
)
def test_what_is_there_or_not_ours_is_passed(said: str) -> None:
    assert [*dangling(said)] == []


@pytest.mark.parametrize(
    "said", ["as `drain.orders.latest_first`", "by `tui.sheets`, which", "`nodes.Pods()`", "`believing.believed`"]
)
def test_a_name_that_is_gone_is_seen(said: str) -> None:
    assert [*dangling(said)] != []
