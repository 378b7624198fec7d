"""The judgement of many clusters; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.fleet.clusters import summarize
from kubectl_eksdoc.fleet.report import FleetReport
from kubectl_eksdoc.model.cluster import FleetMember, Identity, JudgedMember, MemberFinding, MemberOutcome
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.report.text import Appearance, is_unsafe
from tests.fleet.answers import a_finding, a_member, an_answer, refused
from tests.report.golden import TABLES, AnswerFormats

ARN = "arn:aws:eks:ap-northeast-2:111122223333:cluster/checkout-production"


def answered(*findings: MemberFinding, exit_code: int | None = None) -> JudgedMember:
    """A member that answered with a document that has so many findings."""
    told = {
        **dict.fromkeys(("code", "title", "message"), "so"),
        "severity": "low",
        "status": "fail",
        "subject": {"kind": "Nodegroup"},
        "evidence": [],
        "remedy": [],
    }
    document = {"apiVersion": "eksdoc.io/v1alpha1", "kind": "UpgradeCheck", "metadata": {}}
    return replace(an_answer(*findings, exit_code=exit_code), document={**document, "findings": [told] * len(findings)})


UNCONFIRMED = replace(refused(2), who=Identity(cluster="shop", unverified=("cluster",)))
UNSURE = a_finding("insight-error", Severity.MEDIUM, Status.UNKNOWN)
OUTCOMES: dict[str, MemberOutcome] = {
    "prod-us": answered(a_finding("kubelet-skew", Severity.CRITICAL, gate="before-nodes"), a_finding(), UNSURE),
    ARN: answered(a_finding(), UNSURE, a_finding("x", Severity.LOW)),
    "staging": answered(UNSURE),
    "sandbox": answered(),
    "gone": refused(3, "cannot reach https://gone:443: Connection refused"),
    "closed": refused(4, "AWS does not accept the credentials (ExpiredToken)"),
}


def view(outcomes: dict[str, MemberOutcome] | None = None, command: str = "check") -> FleetReport:
    plan = summarize((a_member(name), outcome) for name, outcome in (outcomes or OUTCOMES).items())
    return FleetReport(plan, command, options={"fleet": "prod-*", "target": "1.34"}, tool_version="0.0.0")


def document(of: FleetReport) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(of.render("json", Appearance()))
    return found


ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    {"all": view, "one": lambda: view({"a": refused(2)}), "unconfirmed": lambda: view({"a": UNCONFIRMED})},
    TABLES
    | {
        "table-colour.txt": ("table", Appearance(120, colour=True)),
        "fleet.json": ("json", Appearance(120)),
        "markdown.md": ("markdown", Appearance(120)),
    },
    free=("members.*.result", "findings.*"),
    widths=(60, 80, 120, 200),
)


def test_names_that_nothing_confirmed_are_marked() -> None:
    assert document(view({"a": UNCONFIRMED}))["members"][0]["unverified"] == ["cluster"]


def test_every_cluster_has_its_row_however_many_there_are() -> None:
    many: dict[str, MemberOutcome] = {f"c{number:03}": answered(a_finding()) for number in range(120)}
    text = view(many).render("table", Appearance())
    assert [name for name in many if f" {name} " not in text] == []


def test_a_symptom_without_a_failing_finding_is_told_by_its_verdict() -> None:
    found = replace(answered(exit_code=1), verdict="dns: 1 possible cause.")
    assert document(view({"a": found}))["members"][0]["first"] == "dns: 1 possible cause."


@pytest.mark.parametrize(("members", "flag"), [("ab", "--snapshot FILE"), ("a", "--context NAME")])
def test_how_one_of_them_is_asked_alone(members: str, flag: str) -> None:
    """A member of files has no context; a member of both has one."""
    plan = summarize((FleetMember(n, n, snapshot=f"{n}.snap" if n in members else ""), answered()) for n in "ab")
    assert f"kubectl eksdoc check {flag}" in FleetReport(plan, "check", options={}).render("table", Appearance(120))


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_steers_a_terminal(name: str, reason: str) -> None:
    plan = summarize(
        [(FleetMember(name), refused(3, reason or "x")), (FleetMember(f"{name}b", "c"), answered(a_finding()))]
    )
    made = FleetReport(plan, "check", options={"fleet": name})
    for output in ("table", "wide", "json", "yaml", "markdown"):
        text = made.render(output, Appearance())
        assert not any(is_unsafe(char) for char in text if char != "\n")
