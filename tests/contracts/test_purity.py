"""Modules that decide are pure, and their dataclasses are frozen and have slots: properties that import contracts
cannot check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.contracts.source import PACKAGE, ROOT, contracts, files, name, text, tree

PURE = [ROOT.joinpath(*module.split(".")) for module in contracts()["pure"]["source_modules"].split()]
TOUCHING = {"command", "apply"}
"""Calls that read or change the world; `read` modules may use only the session."""
DECIDING = [
    path
    for each in PURE
    for path in (*files(each), each.with_suffix(".py"))
    if path.exists() and not TOUCHING.intersection(path.relative_to(PACKAGE).with_suffix("").parts)
]

FORBIDDEN_CALLS = {"print", "open", "input", "exec", "eval", "__import__", "breakpoint"}
FORBIDDEN_ATTRIBUTES = {
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("time", "time"),
    ("time", "monotonic"),
    ("time", "sleep"),
    ("os", "environ"),
    ("os", "getenv"),
    ("random", "random"),
    ("random", "choice"),
    ("random", "shuffle"),
}


_CALLS, _NAMES = "|".join(FORBIDDEN_CALLS), "|".join(name for _, name in FORBIDDEN_ATTRIBUTES)
MAY_BE_IMPURE = re.compile(rf"\b(?:{_CALLS})\(|\.(?:{_NAMES})\b|\bglobal |\basync ")
"""Only files whose text has a match are parsed."""
LOOSE = re.compile(r"^\s*@[\w.]*dataclass\b(?!\(eq=False\)).*\n+class (\w+)", re.MULTILINE)
"""A dataclass without ``frozen``. A class that is compared by identity is no fact."""


def impurities(module: ast.Module) -> Iterator[str]:
    """Each statement in `module` that reads or changes the world, as ``line 12: print``."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            yield f"line {node.lineno}: calls {node.func.id}"
        if isinstance(node, ast.Attribute):
            owner = node.value
            last = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if (last, node.attr) in FORBIDDEN_ATTRIBUTES:
                yield f"line {node.lineno}: uses {last}.{node.attr}"
        if isinstance(node, (ast.Global, ast.AsyncFunctionDef)):
            yield f"line {node.lineno}: {type(node).__name__}"


@cache
def found() -> tuple[list[str], list[str]]:
    """Impurities in modules that must be pure, and their dataclasses that are not frozen."""
    impure, loose = [], []
    for path in DECIDING:
        if MAY_BE_IMPURE.search(text(path)):
            impure += [f"{name(path)} {what}" for what in impurities(tree(path))]
        loose += [f"{name(path)} {what}" for what in LOOSE.findall(text(path))]
    return impure, loose


def test_what_decides_reads_and_changes_nothing() -> None:
    assert found()[0] == [], "what decides must be pure"


def test_its_facts_are_frozen() -> None:
    assert found()[1] == [], "these hold facts that could change"


def test_frozen_makes_every_frozen_class() -> None:
    """The decorator of the standard library compiles six methods of each class at import; the DNS load generator is
    packed without `kubectl_eksdoc.frozen`."""
    own = (path for path in files(PACKAGE) if path.name != "frozen.py" and "dns_load" not in path.parts)
    assert [name(path) for path in own if "@dataclass(frozen" in text(path)] == []


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("def f():\n    return open('x')", "calls open"),
        ("from datetime import datetime\nnow = datetime.now", "uses datetime.now"),
        ("def f():\n    global x", "Global"),
    ],
)
def test_the_purity_check_sees(code: str, seen: str) -> None:
    assert MAY_BE_IMPURE.search(code)
    (impurity,) = impurities(ast.parse(code))
    assert impurity.endswith(seen)


@pytest.mark.parametrize("mark", ["@dataclass(frozen=True)", "@dataclasses.dataclass(slots=True)"])
def test_the_dataclass_check_sees(mark: str) -> None:
    assert LOOSE.findall(f"{mark}\nclass Fact:\n    x: int") == ["Fact"]
