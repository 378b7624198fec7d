"""House rules for every file: a sentence at its top, a maximum size, a meaningful name, honest tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import required_programs
from tests.contracts.source import PACKAGE, ROOT, files, first_sentence, name, outline, text

OURS = [*files(PACKAGE), *files(ROOT / "tools"), *files(ROOT / "bench")]
TESTS = list(files(ROOT / "tests"))
NAMELESS = {"utils", "util", "helpers", "helper", "misc"}
LONGEST_FUNCTION = 70  # names that say what they are fill lines


# One test per rule, and not one per rule and file: there are thousands of files, and a failure names its file.


def test_a_file_opens_with_a_sentence() -> None:
    filled = (p for p in (*OURS, *TESTS) if text(p).strip())
    silent = [name(p) for p in filled if len(first_sentence(p).split()) < 3]
    assert silent == [], "these files do not say what they are for"


def test_a_package_has_a_charter() -> None:
    packages = (p for p in files(PACKAGE) if p.name == "__init__.py" and p.parent != PACKAGE)
    texts = {name(p): outline(p).docstring for p in packages}
    loose = [at for at, text in texts.items() if "Belongs here:" not in text or "Never here:" not in text]
    assert loose == [], "these packages must say what belongs and what never does"


def test_no_module_is_a_drawer_for_everything() -> None:
    found = [name(p) for p in OURS for part in p.relative_to(ROOT).with_suffix("").parts if part in NAMELESS]
    assert found == [], "these modules lack a noun"


@pytest.mark.parametrize(("those", "longest"), [(OURS, 540), (TESTS, 500)], ids=["ours", "tests"])
def test_files_stay_small(those: list[Path], longest: int) -> None:
    lines = {name(p): len(text(p).splitlines()) for p in those}
    assert {at: n for at, n in lines.items() if n > longest} == {}, "the second noun of these files wants its own file"


def test_functions_stay_small() -> None:
    long = [
        f"{name(path)}: {function}: {lines} lines"
        for path in OURS
        for function, lines in outline(path).functions
        if lines > LONGEST_FUNCTION
    ]
    assert long == [], "these functions do more than one thing"


# Patched tests pass whatever the code does; ours inject.
_PATCHES = re.compile(r"mock\.patch|@patch\b|unittest\.mock|mocker\.|monkeypatch\.setattr\(\s*[\"']?kubectl_eksdoc")


def test_tests_patch_nothing_of_ours() -> None:
    others = (p for p in TESTS if p != Path(__file__).resolve())
    assert [name(p) for p in others if _PATCHES.search(text(p))] == [], "these patch; inject"


def test_tests_do_not_sleep_long() -> None:
    """Over 0.2 s in the process of the test itself; a script that hangs in another process may sleep longer."""
    found = [
        f"{name(p)} line {line}: {call}"
        for p in TESTS
        if "sleep" in text(p)
        for line, call, s in outline(p).sleeps
        if s > 0.2
    ]
    assert found == []


# A test for want of kubectl is skipped on a desk and fails in CI, whichever test it is.


NOWHERE = {"PATH": "/nowhere"}


@pytest.mark.parametrize("ci", [{}, {"EKSDOC_CI": ""}, {"EKSDOC_CI": "0"}], ids=str)
def test_on_a_desk_it_is_skipped(ci: dict[str, str]) -> None:
    with pytest.raises(pytest.skip.Exception, match="no kubectl here"):
        required_programs.found("kubectl", {**NOWHERE, **ci})


def test_in_ci_it_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="CI must have kubectl"):
        required_programs.found("kubectl", {**NOWHERE, "EKSDOC_CI": "1"})


def test_so_it_is_with_a_browser() -> None:
    with pytest.raises(pytest.skip.Exception, match="no chromium here"):
        required_programs.chromium(NOWHERE)
    with pytest.raises(pytest.fail.Exception, match="CI must have chromium"):
        required_programs.chromium({**NOWHERE, "EKSDOC_CI": "1"})


def test_nobody_else_looks_for_kubectl() -> None:
    found = [
        f"{name(path)}:{line}"
        for path in files(ROOT / "tests")
        if path.name != "needed.py" and "which" in text(path)
        for line, call in outline(path).searches
        if "'kubectl'" in call
    ]
    assert found == [], "ask tests/required_programs.py for it"
