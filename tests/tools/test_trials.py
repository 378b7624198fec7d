"""CONTRIBUTING's recipes are true: each is tried in a copy of this tree."""

from __future__ import annotations

import pytest

from tools import trials


@pytest.mark.long
@pytest.mark.parametrize("name", trials.TRIALS)
def test_one_declaration_is_enough(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert trials.tried(name), capsys.readouterr().out
