"""A test for want of kubectl is skipped on a desk and fails in CI, whichever test it is."""

from __future__ import annotations

import pytest

from tests import needed
from tests.contracts.source import ROOT, files, name, outline, text

NOWHERE = {"PATH": "/nowhere"}


@pytest.mark.parametrize("ci", [{}, {"EKSDOC_CI": ""}, {"EKSDOC_CI": "0"}], ids=str)
def test_on_a_desk_it_is_skipped(ci: dict[str, str]) -> None:
    with pytest.raises(pytest.skip.Exception, match="no kubectl here"):
        needed.found("kubectl", {**NOWHERE, **ci})


def test_in_ci_it_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="CI must have kubectl"):
        needed.found("kubectl", {**NOWHERE, "EKSDOC_CI": "1"})


def test_so_it_is_with_a_browser() -> None:
    with pytest.raises(pytest.skip.Exception, match="no chromium here"):
        needed.chromium(NOWHERE)
    with pytest.raises(pytest.fail.Exception, match="CI must have chromium"):
        needed.chromium({**NOWHERE, "EKSDOC_CI": "1"})


def test_nobody_else_looks_for_kubectl() -> None:
    found = [
        f"{name(path)}:{line}"
        for path in files(ROOT / "tests")
        if path.name != "needed.py" and "which" in text(path)
        for line, call in outline(path).searches
        if "'kubectl'" in call
    ]
    assert found == [], "ask tests/needed.py for it"
