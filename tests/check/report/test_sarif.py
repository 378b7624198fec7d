"""``-o sarif``: SARIF 2.1.0, with any names in the cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.check.plan import CheckScope
from kubectl_eksdoc.check.report.formats import CheckReport
from kubectl_eksdoc.model.findings import Severity, Subject
from kubectl_eksdoc.report.text import is_unsafe
from tests.check.report.checked import LOOK, SKEW, accepted, usual, view

_LEVELS = {"error", "warning", "note", "none"}
_KINDS = {"fail", "pass", "open"}


def the_run(of: CheckReport) -> dict[str, Any]:
    """The run, compared with SARIF's requirements for a run and its results (3.14, 3.27, 3.49)."""
    log = json.loads(of.render("sarif", LOOK))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
    for result in run["results"]:
        assert result["kind"] in _KINDS
        assert result["level"] in _LEVELS
        assert result["kind"] == "fail" or result["level"] == "none"
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["logicalLocations"][0]["fullyQualifiedName"]
        assert location["physicalLocation"]["artifactLocation"]["uri"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
    lines = [each["partialFingerprints"]["primaryLocationLineHash"] for each in run["results"]]
    assert len(set(lines)) == len(lines)
    return dict(run)


def results(of: CheckReport) -> dict[str, dict[str, Any]]:
    return {each["ruleId"]: each for each in the_run(of)["results"]}


def test_what_fails_has_a_level_and_the_unknown_is_open() -> None:
    found = results(view())
    assert {name: (each["kind"], each["level"]) for name, each in found.items()} == {
        "kubelet-skew": ("fail", "error"),
        "check-addon-unfit": ("open", "none"),
        "support-ends": ("pass", "none"),
    }


def test_levels_go_by_severity() -> None:
    levels = {each: results(view(usual(replace(SKEW, severity=each))))["kubelet-skew"]["level"] for each in Severity}
    assert [levels[each] for each in Severity] == ["error", "error", "warning", "note", "note"]


def test_a_result_says_where_what_shows_it_and_what_to_do() -> None:
    of = replace(SKEW, subject=Subject("Deployment", "web", "shop"))
    result = results(view(usual(of)))["kubelet-skew"]
    (logical,) = result["locations"][0]["logicalLocations"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "shop/Deployment/web"}
    assert logical == {"name": "web", "fullyQualifiedName": "shop/Deployment/web", "kind": "resource"}
    assert result["message"]["text"].splitlines() == [
        "Deployment shop/web: 2 nodes are too old",
        "- blue-1, blue-2",
        "Upgrade them. kubectl get nodes",
        "Think.",
    ]
    assert result["properties"]["gate"] == "before-control-plane"


def test_a_manifest_has_its_file_and_its_line() -> None:
    path = "deploy/my web.yaml"
    of = replace(SKEW, subject=Subject("File", path), evidence=("as the guide says", f"{path}:12 Deployment web"))
    (location,) = results(view(usual(of)))["kubelet-skew"]["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "deploy/my%20web.yaml"},
        "region": {"startLine": 12},
    }
    absolute = replace(of, subject=Subject("File", "/srv/web.yaml"), evidence=("/srv/web.yaml:x",))
    (location,) = results(view(usual(absolute)))["kubelet-skew"]["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///srv/web.yaml"},
        "region": {"startLine": 1},
    }
    dotted = replace(of, subject=Subject("File", "./deploy/web.yaml"), evidence=("./deploy/web.yaml:3 x",))
    (location,) = results(view(usual(dotted)))["kubelet-skew"]["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "deploy/web.yaml"}, "region": {"startLine": 3}}


def test_the_same_finding_of_another_day_has_the_same_fingerprint() -> None:
    one, other = (results(view(usual(replace(SKEW, message=each))))["kubelet-skew"] for each in ("2 nodes", "3 nodes"))
    assert one["partialFingerprints"] == other["partialFingerprints"]
    both = the_run(view(usual(SKEW, replace(SKEW, message="3 nodes are too new"))))["results"]
    assert sum(each["ruleId"] == "kubelet-skew" for each in both) == 2


def test_what_is_suppressed_says_so_and_why() -> None:
    found = results(view(wish=CheckScope(suppressions=(accepted(SKEW),))))["kubelet-skew"]
    assert found["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "agreed (until 2027-01-31)"}
    ]


@given(st.text(max_size=40), st.text(max_size=40))
def test_hostile_names_leave_it_well_formed(name: str, message: str) -> None:
    hostile = replace(SKEW, subject=Subject("File", name, name), message=message, evidence=(message, f"{name}:1 x"))
    text = view(usual(hostile)).render("sarif", LOOK)
    assert not any(is_unsafe(char) for char in text if char != "\n")
    the_run(view(usual(hostile)))
