"""The page of the demo: it lists causes instead of findings, on a terminal of ordinary size."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tests.check.command.cached_runs import check, document


@cache
def causes() -> list:  # type: ignore[type-arg]
    found: list = document("--demo")["causes"]  # type: ignore[type-arg]
    return found


def test_one_api_is_one_cause_and_each_finding_has_one() -> None:
    (api,) = (each for each in causes() if each["subject"]["kind"] == "API")
    assert api["subject"]["name"] == "admissionregistration.k8s.io/v1beta1" and len(api["findings"]) == 7
    told = document("--demo")
    rank = ["critical", "high", "medium", "low"]
    counting = [each for each in told["findings"] if each["status"] != "pass" and each["severity"] in rank]
    assert sum(len(each["findings"]) for each in causes()) == len(counting)
    before = [each for each in causes() if each["gate"] == "before-control-plane"]
    assert f"Not yet: {len(before)} causes before the control plane's step" in told["verdict"]


PLANTED = Path(__file__).parent / "planted.txt"


def line(finding: dict[str, Any]) -> str:
    of = finding["subject"]
    name = f"{of['namespace']}/{of['name']}" if "namespace" in of else of["name"]
    return f"{finding['status']} {finding['severity']} {finding['code']} {of['kind']} {name}"


def planted() -> list[str]:
    """The planted defects, each with its subject; the text after ``#`` is the reason."""
    lines = (each.partition("#")[0].strip() for each in PLANTED.read_text(encoding="utf-8").splitlines())
    return [each for each in lines if each]


def test_everything_that_is_planted_and_nothing_else() -> None:
    told = document("--demo", "--target", "1.33")
    assert sorted(map(line, told["findings"])) == sorted(planted())
    assert len({each["code"] for each in told["findings"]}) >= 25
    assert check("--demo", "--target", "1.33", "-o", "json").code == 1
