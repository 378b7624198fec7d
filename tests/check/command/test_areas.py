"""``check --area``: the areas are recorded and reported as given, and only the facts for their codes are requested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.check.registry import codes_of_areas
from tests.cli.running import run_cli

WORKLOADS = ("check", "--demo", "--area", "workloads")


def test_the_answer_has_it_as_it_was_given(tmp_path: Path) -> None:
    ran = run_cli(*WORKLOADS, "-o", "json")
    told = json.loads(ran.out)
    assert told["metadata"]["options"] == {"area": ["workloads"]}
    assert {code for each in told["checks"] for code in each["codes"]} == set(codes_of_areas(("workloads",)))
    assert "(--area workloads):" in run_cli(*WORKLOADS, "-o", "html").out
    (saved := tmp_path / "before.json").write_text(ran.out, encoding="utf-8")
    again = json.loads(run_cli(*WORKLOADS, "--since", str(saved), "-o", "json").out)["since"]
    assert again["unchanged"] and not again["new"] and not again["fixed"] and not again["notJudgedThisTime"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*WORKLOADS, "--gate", "before-control-plane"), "none of workloads has to be fixed before"),
        ((*WORKLOADS, "--symptom", "dns"), "--symptom selects what is checked, and --area does so, too"),
        (("check", "-f", ".", "--from", "1.33", "--area", "apis"), "--from judges manifests alone"),
    ],
)
def test_errors_name_it(words: tuple[str, ...], said: str) -> None:
    ran = run_cli(*words)
    assert ran.code == 2 and said in ran.err and "--only" not in ran.err
