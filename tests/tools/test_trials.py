"""CONTRIBUTING's recipes work: each is tried in a copy of this tree."""

from __future__ import annotations

import pytest

from tools import trials


@pytest.mark.long
def test_one_declaration_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert trials.tried(list(trials.TRIALS)), capsys.readouterr().out


def test_a_name_that_is_no_trial_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert trials.main(["chek"]) == 2
    assert capsys.readouterr().err.startswith("there is no trial chek, but check, verdict")
