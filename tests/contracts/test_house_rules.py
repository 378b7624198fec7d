"""What the house asks of every file: a sentence at its top, a size, a name that says something, honest tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.contracts.source import PACKAGE, ROOT, files, name, tree

OURS = [*files(PACKAGE), *files(ROOT / "tools"), *files(ROOT / "bench")]
TESTS = list(files(ROOT / "tests"))
NAMELESS = {"utils", "util", "helpers", "helper", "misc"}
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LONGEST_TEST_FILE = 500


@pytest.mark.parametrize("path", [p for p in (*OURS, *TESTS) if p.read_text(encoding="utf-8").strip()], ids=name)
def test_a_file_opens_with_a_sentence(path: Path) -> None:
    text = ast.get_docstring(tree(path)) or ""
    assert len(text.split()) >= 3, f"{name(path)} does not say what it is for"


@pytest.mark.parametrize(
    "path", [p for p in files(PACKAGE) if p.name == "__init__.py" and p.parent != PACKAGE], ids=name
)
def test_a_package_has_a_charter(path: Path) -> None:
    text = ast.get_docstring(tree(path)) or ""
    assert "Belongs here:" in text and "Never here:" in text, f"{name(path)} must say what belongs and what never does"


def test_no_module_is_a_drawer_for_everything() -> None:
    found = [name(p) for p in OURS for part in p.relative_to(ROOT).with_suffix("").parts if part in NAMELESS]
    assert found == [], "these modules lack a noun"


@pytest.mark.parametrize("path", [*OURS, *TESTS], ids=name)
def test_files_stay_small(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    longest = LONGEST_TEST_FILE if path in TESTS else LONGEST_FILE
    assert lines <= longest, f"{name(path)} has {lines} lines; its second noun wants its own file"


@pytest.mark.parametrize("path", OURS, ids=name)
def test_functions_stay_small(path: Path) -> None:
    functions = (n for n in ast.walk(tree(path)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
    long = [f"{f.name}: {_lines(f)} lines" for f in functions if _lines(f) > LONGEST_FUNCTION]
    assert long == [], f"{name(path)} has functions that do more than one thing"


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


# Patched tests pass whatever the code does; ours inject.
_PATCHES = re.compile(r"mock\.patch|@patch\b|unittest\.mock|mocker\.|monkeypatch\.setattr\(\s*[\"']?kubectl_eksdoc")


@pytest.mark.parametrize("path", [p for p in TESTS if p != Path(__file__).resolve()], ids=name)
def test_tests_patch_nothing_of_ours(path: Path) -> None:
    assert _PATCHES.findall(path.read_text(encoding="utf-8")) == [], f"{name(path)} patches instead of injecting"


def _sleeps(path: Path) -> list[str]:
    """Calls of a sleep over 0.2 s in the test's own process; a script that hangs in another one may say more."""
    calls = (node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and node.args)
    return [
        f"line {call.lineno}: {ast.unparse(call)}"
        for call in calls
        if ast.unparse(call.func).split(".")[-1] == "sleep"
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value > 0.2
    ]


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_tests_do_not_sleep_long(path: Path) -> None:
    assert _sleeps(path) == []
