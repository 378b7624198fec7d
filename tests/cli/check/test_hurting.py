"""``check`` when something hurts, and what one has decided to live with, on the demo."""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.check.checking import Gate
from kubectl_eksdoc.check.symptoms import Symptom
from kubectl_eksdoc.cli.check.request import GATES, SEVERITIES, SYMPTOMS, Since, moment, since
from kubectl_eksdoc.model.findings import Severity
from tests.cli.check import asked
from tests.cli.running import Ran
from tests.examples import one_in

NOW = datetime(2026, 11, 20, 8, 51, tzinfo=timezone.utc)
"""Of the demo."""


def check(*argv: str) -> Ran:
    return asked.check("--demo", "--target", "1.34", *argv)


def document(*argv: str) -> dict[str, Any]:
    return asked.document("--demo", "--target", "1.34", *argv)


def test_the_words_of_the_command_line_are_those_of_the_plan() -> None:
    assert tuple(each.value for each in Symptom) == SYMPTOMS
    assert tuple(each.value for each in Gate) == GATES
    assert tuple(each.value for each in Severity) == SEVERITIES


@pytest.mark.long
def test_dns_on_the_demo_is_about_its_spot_node() -> None:
    ran = check("--symptom", "dns")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert next(filter(None, lines[2:])).startswith("Most likely: CoreDNS ends with its Spot node")
    assert not any("cloudformation" in line for line in lines), "nothing hurts now: no stack is made for it"
    assert "kubectl eksdoc interruption" in ran.out


def test_a_stuck_drain_on_the_demo_is_about_its_budgets() -> None:
    found = document("--symptom", "drain-stuck")["diagnosis"]
    assert [each["code"] for each in found["suspects"]][:3] == [
        "pod-several-budgets",
        "budget-never-allows",
        "budget-unhealthy",
    ]
    assert found["suspects"][1]["undo"] == "Undo: kubectl scale deployment sale -n shop --replicas=2"


def test_targets_on_the_demo_suffer_as_their_controller_has_no_credentials_and_lack_a_readiness_gate() -> None:
    suspects = document("--symptom", "targets")["diagnosis"]["suspects"]
    assert [each["code"] for each in suspects] == ["imds-pods-broken", "pods-bouncing", "no-readiness-gate"]
    assert suspects[2]["undo"].startswith("Undo: kubectl label namespace edge ")


@pytest.mark.long
def test_a_cause_that_stops_no_upgrade_is_one_all_the_same(tmp_path: Path) -> None:
    seen = [{"code": each, "reason": "seen", "until": "2027-01-01"} for each in ("imds-pods-broken", "pods-bouncing")]
    ran = check("--symptom", "targets", "--suppressions", suppressions(tmp_path, *seen))
    assert ran.code == 1
    assert "Most likely: pods count as Ready before" in ran.out


def test_only_what_a_symptom_needs_is_read() -> None:
    plurals = {each["resource"] for each in document("--symptom", "credentials")["metadata"]["kindsRead"]}
    assert "leases.coordination.k8s.io" not in plurals


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


def test_a_choice_that_leaves_nothing_to_judge_is_refused() -> None:
    ran = check("--gate", "after", "--only", "subnet-addresses-nodes")
    assert ran.code == 2
    assert "has to be fixed before" in ran.err and "--gate before-nodes" in ran.err
    assert check("--only", "").code == 2


def test_changes_of_the_time_to_come_are_refused() -> None:
    ran = check("--changed-since", "2027-01-01T00:00:00Z")
    assert ran.code == 2
    assert "after the cluster was observed, at 2026-11-20T08:51:00Z" in ran.err


def test_what_has_changed_is_listed_the_newest_first() -> None:
    found = document("--changed-since", "40d")
    moments = [each["at"] for each in found["changes"]]
    assert moments == sorted(moments, reverse=True)
    assert {each["source"] for each in found["changes"]} == {"nodes", "pods", "revisions", "EKS"}
    assert found["changedSince"] == "2026-10-11T08:51:00Z"
    assert any(each.startswith("Events: ") for each in found["changesUnread"])


@pytest.mark.long
def test_nothing_is_said_of_changes_unless_it_is_asked() -> None:
    assert (document()["changedSince"], document()["changes"]) == (None, [])
    assert "CHANGED" not in check("-o", "table", "--ascii").out


def suppressions(tmp_path: Path, *entries: dict[str, str]) -> str:
    path = tmp_path / "accepted.json"
    path.write_text(json.dumps(entries))
    return str(path)


@pytest.mark.long
def test_suppressed_findings_do_not_count_and_are_listed(tmp_path: Path) -> None:
    entry = {"code": "kubelet-skew", "reason": "x", "until": "2027-01-01"}
    behind = {"code": "nodes-behind", "kind": "Nodegroup", "name": "b*", "reason": "agreed", "until": "2026-11-20"}
    path = suppressions(tmp_path, behind, entry)
    found = document("--suppressions", path, "--only", "nodes-behind,kubelet-skew")
    assert [each["finding"]["subject"]["name"] for each in found["suppressed"]] == ["blue"]
    left = [each["subject"]["name"] for each in found["findings"] if each["code"] == "nodes-behind"]
    assert left == ["general", "green"]
    assert found["notes"] == [
        f"the suppression {path}, entry 2 matches nothing: there is no such finding of kubelet-skew"
    ]


def test_one_that_has_expired_counts_again(tmp_path: Path) -> None:
    path = suppressions(tmp_path, {"code": "nodes-behind", "reason": "agreed", "until": "2026-11-19"})
    found = document("--suppressions", path, "--only", "nodes-behind")
    assert len(found["findings"]) == 3
    assert "expired on 2026-11-19 (1 day ago): 3 findings of nodes-behind count again" in found["notes"][0]


def test_all_suppressed_exits_with_0(tmp_path: Path) -> None:
    path = suppressions(tmp_path, {"code": "nodes-behind", "reason": "agreed", "until": "2027-01-01"})
    assert check("--only", "nodes-behind", "--suppressions", path).code == 0
    assert check("--only", "nodes-behind").code == 1


def test_an_entry_without_an_end_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    ran = check("--suppressions", suppressions(tmp_path, {"code": "nodes-behind", "reason": "x"}))
    assert ran.code == 2
    assert "entry 1 has no until" in ran.err


EVERY_FORMAT = [*(pytest.param(each, marks=pytest.mark.long) for each in ("wide", "markdown")), "table"]


@pytest.mark.parametrize("output", one_in(3, [*EVERY_FORMAT, "junit", "sarif"]))
@pytest.mark.long
def test_every_format_has_something_to_say(output: str) -> None:
    ran = check("-o", output, "--ascii")
    assert ran.code == 1
    assert "kube-proxy" in ran.out
    assert ran.out.isascii()


@pytest.mark.long
def test_junit_and_sarif_of_the_demo_can_be_read() -> None:
    root = ElementTree.fromstring(check("-o", "junit", "--ascii").out)
    assert int(root.get("failures", "0")) > 0
    (run,) = json.loads(check("-o", "sarif", "--ascii").out)["runs"]
    assert {each["kind"] for each in run["results"]} == {"fail", "open", "pass"}


@pytest.mark.long
def test_the_way_of_the_demo_leads_to_its_end() -> None:
    steps = document()["checklist"]
    assert steps[0]["phase"] == "prepare"
    assert steps[-1]["title"] == "See that nothing was left behind"
    assert [each["title"] for each in steps if each["phase"] == "control plane"] == [
        "Upgrade the control plane to 1.34"
    ]
    ours = [each for step in steps for each in step["commands"] if each.startswith("kubectl eksdoc")]
    assert all("--demo" in each for each in ours if "drain run" not in each)
    assert not any("--demo" in each for each in ours if "drain run" in each)


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("90m", NOW - timedelta(minutes=90)),
        ("3d", NOW - timedelta(days=3)),
        ("2026-11-20T08:00:00Z", datetime(2026, 11, 20, 8, tzinfo=timezone.utc)),
        ("2026-11-20t10:00:00.123456789+02:00", datetime(2026, 11, 20, 8, 0, 0, 123456, tzinfo=timezone.utc)),
        ("2026-11-20 08:00Z", datetime(2026, 11, 20, 8, tzinfo=timezone.utc)),
    ],
)
def test_a_time_is_before_the_observation_or_a_moment(text: str, then: datetime) -> None:
    assert moment(since(text), NOW) == then


@pytest.mark.parametrize(
    "text", ["", "0", "soon", "-2h", "400d", "2026-11-20", "2026-11-20T08:00:00", "2026-13-01T00:00:00Z"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        since(text)


@given(
    st.text(max_size=30)
    | st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([Zz]|[+-][0-9]{2}:[0-9]{2})", fullmatch=True
    )
)
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert isinstance(since(text), Since)
    except argparse.ArgumentTypeError as error:
        assert str(error)
