"""``check`` with symptoms of a fault, and with suppressed findings, on the demo."""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.check.checking import Gate
from kubectl_eksdoc.check.command.request import GATES, SEVERITIES, SYMPTOMS, ChangedSince, parse_since, resolve_since
from kubectl_eksdoc.check.symptoms import Symptom
from kubectl_eksdoc.model.findings import Severity
from tests.check.command import cached_runs
from tests.cli.running import Ran

NOW = datetime(2026, 11, 20, 8, 51, tzinfo=timezone.utc)
"""Of the demo."""


def check(*argv: str) -> Ran:
    return cached_runs.check("--demo", "--target", "1.34", *argv)


def document(*argv: str) -> dict[str, Any]:
    return cached_runs.document("--demo", "--target", "1.34", *argv)


def test_the_words_of_the_command_line_are_those_of_the_plan() -> None:
    assert tuple(each.value for each in Symptom) == SYMPTOMS
    assert tuple(each.value for each in Gate) == GATES
    assert tuple(each.value for each in Severity) == SEVERITIES


def test_a_stuck_drain_on_the_demo_is_about_its_budgets() -> None:
    found = document("--symptom", "drain-stuck")["diagnosis"]
    assert [each["code"] for each in found["suspects"]][:3] == [
        "pod-several-budgets",
        "budget-never-allows",
        "budget-unhealthy",
    ]
    assert found["suspects"][1]["undo"] == "Undo: kubectl scale deployment sale -n shop --replicas=2"


def test_unknown_is_said_and_exits_with_5(tmp_path: Path) -> None:
    seen = {"reason": "seen", "until": "2027-01-01"}
    failing = {each["code"] for each in document("--symptom", "dns")["findings"] if each["status"] == "fail"}
    ran = check(
        "--symptom", "dns", "--suppressions", suppressions(tmp_path, *({"code": code, **seen} for code in failing))
    )
    assert ran.code == 5
    assert "Nothing was found that explains dns." in ran.out
    assert "NOT KNOWN: 1 ANSWER" in ran.out


@pytest.mark.parametrize("other", [("--gate", "after"), ("--only", "kubelet-skew")])
def test_a_symptom_chooses_by_itself(other: tuple[str, ...]) -> None:
    ran = check("--symptom", "dns", *other)
    assert ran.code == 2
    assert other[0] in ran.err


def test_changes_of_the_time_to_come_are_refused() -> None:
    ran = check("--changed-since", "2027-01-01T00:00:00Z")
    assert ran.code == 2
    assert "after the cluster was observed, at 2026-11-20T08:51:00Z" in ran.err


def test_what_has_changed_is_listed_the_newest_first() -> None:
    found = document("--changed-since", "40d")
    moments = [each["at"] for each in found["changes"]]
    assert moments == sorted(moments, reverse=True)
    assert {each["source"] for each in found["changes"]} == {"nodes", "revisions", "EKS"}
    assert found["changedSince"] == "2026-10-11T08:51:00Z"
    assert any(each.startswith("Events: ") for each in found["changesUnread"])


def suppressions(tmp_path: Path, *entries: dict[str, str]) -> str:
    path = tmp_path / "accepted.json"
    path.write_text(json.dumps(entries))
    return str(path)


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("3d", NOW - timedelta(days=3)),
        ("2026-11-20t10:00:00.123456789+02:00", datetime(2026, 11, 20, 8, 0, 0, 123456, tzinfo=timezone.utc)),
        ("2026-11-20 08:00Z", datetime(2026, 11, 20, 8, tzinfo=timezone.utc)),
    ],
)
def test_a_time_is_before_the_observation_or_a_moment(text: str, then: datetime) -> None:
    assert resolve_since(parse_since(text), NOW) == then


@pytest.mark.parametrize("text", ["", "0", "-2h", "400d", "2026-11-20", "2026-11-20T08:00:00"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_since(text)


@given(
    st.text(max_size=30)
    | st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([Zz]|[+-][0-9]{2}:[0-9]{2})", fullmatch=True
    )
)
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert isinstance(parse_since(text), ChangedSince)
    except argparse.ArgumentTypeError as error:
        assert str(error)
