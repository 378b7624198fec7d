"""The page of the demo: causes and not findings, on a terminal of an ordinary size."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.check.asked import check, document
from tests.cli.running import run_cli

ROW = re.compile(r"  [✗?] (?:critical|high|medium|low) +(\S.*?)  +(\S.*)")


@cache
def page(columns: int) -> tuple[str, ...]:
    return tuple(run_cli("check", "--demo", environ={"COLUMNS": str(columns)}).out.splitlines())


@cache
def causes() -> list:  # type: ignore[type-arg]
    found: list = document("--demo")["causes"]  # type: ignore[type-arg]
    return found


@pytest.mark.parametrize("columns", [80, 100])
def test_no_column_is_cut_to_nothing(columns: int) -> None:
    rows = [found for line in page(columns) if (found := ROW.fullmatch(line))]
    assert len(rows) == len(causes()) - 3
    assert all(len(said) >= 25 or not said.endswith("…") for row in rows for said in row.groups())
    assert not [line for line in page(columns) if len(line) > columns and " kubectl " not in line]


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
    """Each line with what it is about; what follows ``#`` says why it is there."""
    lines = (each.partition("#")[0].strip() for each in PLANTED.read_text(encoding="utf-8").splitlines())
    return [each for each in lines if each]


def test_everything_that_is_planted_and_nothing_else() -> None:
    told = document("--demo", "--target", "1.33")
    assert sorted(map(line, told["findings"])) == sorted(planted())
    assert len({each["code"] for each in told["findings"]}) >= 25
    assert check("--demo", "--target", "1.33", "-o", "json").code == 1


def test_no_area_has_a_sign_and_no_reason() -> None:
    said = " ".join(page(100)).partition("AREAS: ")[2].partition("UPGRADE STEPS")[0]
    assert "✗ container runtime (cause elsewhere) ·" in " ".join(said.split())


def test_a_ticket_leaves_out_no_finding() -> None:
    told, text = document("--demo")["findings"], check("--demo", "-o", "markdown").out
    head, _, others = text.partition("### Findings that block nothing\n")
    pattern = r"^(?:<summary>|- )[✗?!] \w+ [a-z0-9-]+: "
    passing = sum(each["status"] == "pass" or each["severity"] == "info" for each in told)
    assert len(re.findall(pattern, others.partition("\n### ")[0], re.MULTILINE)) == passing > 0
    assert len(re.findall(pattern, head, re.MULTILINE)) == len(told) - passing


def test_the_areas_count_each_cause_once() -> None:
    said = " ".join(page(100)).partition("AREAS: ")[2].partition("UPGRADE STEPS")[0]
    fails, unknown = (sum(map(int, re.findall(pattern, said))) for pattern in (r"✗ \D+ (\d+)", r"(\d+) unknown"))
    told = [each["status"] for each in causes()]
    assert (fails, unknown) == (told.count("fail"), told.count("unknown"))
    html = run_cli("check", "--demo", "-o", "html").out
    assert sum(map(int, re.findall(r"<span>(\d+) causes?, worst", html))) == fails
