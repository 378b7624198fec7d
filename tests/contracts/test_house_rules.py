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
LONGEST_FUNCTION = 60


# One test per rule, and not one per rule and file: there are thousands of files, and a failure names its own.


def test_a_file_opens_with_a_sentence() -> None:
    filled = (p for p in (*OURS, *TESTS) if p.read_text(encoding="utf-8").strip())
    silent = [name(p) for p in filled if len((ast.get_docstring(tree(p)) or "").split()) < 3]
    assert silent == [], "these files do not say what they are for"


def test_a_package_has_a_charter() -> None:
    packages = (p for p in files(PACKAGE) if p.name == "__init__.py" and p.parent != PACKAGE)
    texts = {name(p): ast.get_docstring(tree(p)) or "" for p in packages}
    loose = [at for at, text in texts.items() if "Belongs here:" not in text or "Never here:" not in text]
    assert loose == [], "these packages must say what belongs and what never does"


def test_no_module_is_a_drawer_for_everything() -> None:
    found = [name(p) for p in OURS for part in p.relative_to(ROOT).with_suffix("").parts if part in NAMELESS]
    assert found == [], "these modules lack a noun"


@pytest.mark.parametrize(("those", "longest"), [(OURS, 400), (TESTS, 500)], ids=["ours", "tests"])
def test_files_stay_small(those: list[Path], longest: int) -> None:
    lines = {name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in those}
    assert {at: n for at, n in lines.items() if n > longest} == {}, "the second noun of these files wants its own file"


def test_functions_stay_small() -> None:
    long = [
        f"{name(path)}: {f.name}: {_lines(f)} lines"
        for path in OURS
        for f in ast.walk(tree(path))
        if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and _lines(f) > LONGEST_FUNCTION
    ]
    assert long == [], "these functions do more than one thing"


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


# Patched tests pass whatever the code does; ours inject.
_PATCHES = re.compile(r"mock\.patch|@patch\b|unittest\.mock|mocker\.|monkeypatch\.setattr\(\s*[\"']?kubectl_eksdoc")


def test_tests_patch_nothing_of_ours() -> None:
    others = (p for p in TESTS if p != Path(__file__).resolve())
    assert [name(p) for p in others if _PATCHES.search(p.read_text(encoding="utf-8"))] == [], "these patch; inject"


def _sleeps(path: Path) -> list[str]:
    """Calls of a sleep over 0.2 s in the test's own process; a script that hangs in another one may say more."""
    calls = (node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and node.args)
    return [
        f"{name(path)} line {call.lineno}: {ast.unparse(call)}"
        for call in calls
        if ast.unparse(call.func).split(".")[-1] == "sleep"
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value > 0.2
    ]


def test_tests_do_not_sleep_long() -> None:
    assert [sleep for path in TESTS for sleep in _sleeps(path)] == []
