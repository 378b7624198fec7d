"""``check --tables``: the tables with their age, and rows that a user has added."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.model.knowledge import subjects
from tests.check.command.clusters import CURRENT, a_dump
from tests.cli.running import run_cli
from tests.contracts.source import PACKAGE
from tests.model.test_knowledge import OWN

WIDGET = "apiVersion: example.com/v1beta1\nkind: Widget\nmetadata:\n  name: x\n"
WAY = ("--from", "1.33", "--target", "1.34")
UP, DOWN = ["3.5", "1.33", "1.36"], ["3.4", "1.36", "1.33"]
TODAY = datetime(2026, 12, 1, tzinfo=timezone.utc)


def test_each_table_is_shown_with_its_age() -> None:
    ran = run_cli("check", "--tables", now=lambda: TODAY, environ={"COLUMNS": "140"})
    lines = [line.split() for line in ran.out.splitlines()]
    assert ran.code == 0 and ["removed_apis", "101", "2026-11-20", "11d", "to", "1.36"] in [each[:6] for each in lines]
    assert {each.stem for each in (PACKAGE / "knowledge").glob("*.json")} - OWN == set(subjects())
    narrow = run_cli("check", "--tables", now=lambda: TODAY, environ={"COLUMNS": "100"}).out
    assert "supported, 3 tested, 1 none" in ran.out and "supported, 3 tested, 1 none" in narrow, "the kind of promise"


def own(tmp_path: Path, rows: object) -> str:
    path = tmp_path / "tables.yaml"
    path.write_text(json.dumps(rows))
    return str(path)


def test_a_row_of_ones_own_is_judged_by(tmp_path: Path) -> None:
    (tmp_path / "widget.yaml").write_text(WIDGET)
    files = ("check", "-f", str(tmp_path / "widget.yaml"), *WAY)
    assert run_cli(*files).code == 0, "nothing is known of it"
    row = {"api_version": "example.com/v1beta1", "kind": "Widget", "removed": "1.34", "replacement": "example.com/v1"}
    ran = run_cli(*files, "--tables", own(tmp_path, {"removed_apis": [row]}), "-o", "json")
    (found,) = json.loads(ran.out)["findings"]
    assert ran.code == 1 and found["remedy"][0]["text"] == "Write example.com/v1 instead."
    assert found["evidence"][-1] == str(tmp_path / "tables.yaml"), "whence it is known"
    again = json.loads(ran.out)["causes"][0]["do"]["command"]
    assert run_cli(*again.split()[2:]).code == 1, "the command that is proposed finds the same"


def test_a_compatibility_row_of_ones_own_replaces_that_of_the_package(tmp_path: Path) -> None:
    words = ("check", "--snapshot", a_dump(tmp_path, CURRENT), "--target", "1.34", "--no-aws", "-o", "json")

    def told(*more: str) -> list[str]:
        found = json.loads(run_cli(*words, *more).out)["findings"]
        fails = [each for each in found if each["status"] == "fail"]
        return [each["code"] for each in fails if each["subject"].get("namespace") == "argocd"]

    assert "program-before-control-plane" not in told()
    rows = [["3.0", "1.30", "1.33"], ["3.3", "1.31", "1.34"]]
    given = own(tmp_path, {"compatibility": [{"name": "Argo CD", "promise": "supported", "rows": rows}]})
    assert told("--tables", given) == ["program-before-control-plane"], "its three workloads are one installation"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "holds no tables"),
        ({"removed_apis": [{"api_version": "x/v1", "kind": "X"}]}, "is not as it must be: it lacks removed"),
        ({"removed_apis": [{"api_version": "x/v1", "kind": "X", "removed": 1.3}]}, "write a version in quotes"),
        ({"removed_apis": [{"api_version": "x/v1", "kind": "X", "removed": "1.35"}] * 2}, "entry 2 is about the same"),
        ({"custom_apis": [{"api_version": "x/v1", "wrong": 1, "software": "X"}]}, "has no field wrong"),
        (
            {"compatibility": [{"name": "Argo CD", "promise": "maybe", "rows": []}]},
            "is none of supported, tested, none",
        ),
        ({"compatibility": [{"name": "Argo CD", "promise": "tested", "rows": [UP, DOWN[:1] + UP[1:]]}]}, "their order"),
    ],
)
def test_a_row_that_is_wrong_is_refused_and_named(rows: object, why: str, tmp_path: Path) -> None:
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "--tables", own(tmp_path, rows))
    assert ran.code == 2 and why in ran.err, ran.err
