"""``-o junit``: the format that CI servers read, with any names in the cluster."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.check.checking import Area, Gate
from kubectl_eksdoc.check.plan import CheckScope
from kubectl_eksdoc.check.report.formats import CheckReport
from kubectl_eksdoc.model.findings import Code, Severity, Subject
from kubectl_eksdoc.report.text import Appearance
from tests.check.report.checked import GONE, LOOK, SKEW, SLIGHT, accepted, check, usual, view

_CASE = {"failure", "skipped", "error", "system-out", "system-err"}
_OUTCOME = {"message", "type"}
_ATTRIBUTES: dict[str, set[str]] = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {
        *("name", "time", "tests", "failures", "errors", "skipped", "timestamp", "hostname", "id", "package"),
        *("group", "file", "log", "url"),
    },
    "testcase": {"name", "time", "classname", "group"},
    **dict.fromkeys(("failure", "skipped", "error"), _OUTCOME),
    "system-out": set(),
    "system-err": set(),
}
"""All that Jenkins' schema allows (xunit-plugin src/main/resources/…/model/xsd/junit-10.xsd, 031e285)."""


def parsed(of: CheckReport, look: Appearance = LOOK) -> ElementTree.Element:
    """The parsed document, compared with junit-10.xsd: names, figures, one outcome per test case."""
    root = ElementTree.fromstring(of.render("junit", look))
    assert root.tag == "testsuites"
    assert [(each.tag, each.attrib) for each in root.iter() if not {*each.keys()} <= _ATTRIBUTES[each.tag]] == []
    for suite in root:
        assert suite.tag == "testsuite"
        cases = list(suite)
        assert {case.tag for case in cases} == {"testcase"}
        assert suite.get("tests") == str(len(cases))
        for kind, figure in (("failure", "failures"), ("skipped", "skipped"), ("error", "errors")):
            assert suite.get(figure) == str(sum(case.find(kind) is not None for case in cases))
        for case in cases:
            assert case.get("name")
            assert case.get("classname")
            tags = [each.tag for each in case]
            assert set(tags) <= _CASE
            assert sum(tag in ("failure", "skipped", "error") for tag in tags) <= 1
    assert root.get("skipped") is None, "Jenkins' schema has none of the whole"
    for figure in ("tests", "failures", "errors"):
        assert root.get(figure) == str(sum(int(suite.get(figure, "0")) for suite in root))
    return root


def the_case(of: CheckReport, name: str) -> ElementTree.Element:
    (found,) = (case for case in parsed(of).iter("testcase") if case.get("name") == name)
    return found


def test_each_code_is_a_case_in_the_suite_of_its_area() -> None:
    root = parsed(view())
    assert [(suite.get("name"), [case.get("name") for case in suite]) for suite in root] == [
        ("support", ["support-ends"]),
        ("add-ons and controllers", ["check-addon-unfit"]),
        ("nodes", ["kubelet-skew"]),
    ]


LACKED = "unknown: whether it fits is not known (missing: eks:DescribeAddonVersions)"
DRAIN = check(Area.DISRUPTION, Gate.BEFORE_NODES, GONE, of=(Code.of("check-drain"), Code.of("budget-never-allows")))


@pytest.mark.parametrize(
    ("of", "name", "tag", "said"),
    [
        (view(), "kubelet-skew", "failure", "Nodegroup blue: 2 nodes are too old"),
        # As the exit code is not 0: servers that read the file alone count failures and errors.
        (view(), "check-addon-unfit", "error", LACKED),
        (
            view(wish=CheckScope(accepted=frozenset({"check-addon-unfit"}))),
            "check-addon-unfit",
            "skipped",
            f"accepted: {LACKED}",
        ),
        (
            view(wish=CheckScope(suppressions=(accepted(SKEW),))),
            "kubelet-skew",
            "skipped",
            "suppressed until 2027-01-31: agreed",
        ),
        (view([DRAIN]), "budget-never-allows", "error", f"unknown: {GONE.message}"),
    ],
)
def test_what_becomes_of_a_code(of: CheckReport, name: str, tag: str, said: str) -> None:
    (told,) = (each for each in the_case(of, name) if each.tag != "system-out")
    assert (told.tag, told.get("message")) == (tag, said)
    if tag == "failure":
        assert told.get("type") == "high" and "blue-1, blue-2" in (told.text or "")
        assert "kubectl get nodes" in (told.text or "")


def test_what_does_not_count_is_told_and_passes() -> None:
    slight = replace(SKEW, severity=Severity.LOW)
    case = the_case(view(usual(slight), CheckScope(fail_on=Severity.HIGH)), "kubelet-skew")
    assert [each.tag for each in case] == ["system-out"]
    assert case[0].text is not None
    assert case[0].text.startswith("does not count")
    assert [each.tag for each in the_case(view([check(Area.SUPPORT, None, SLIGHT)]), "support-ends")] == ["system-out"]


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_hostile_names_leave_it_well_formed(name: str, message: str, reason: str) -> None:
    hostile = replace(SKEW, subject=Subject("Pod", name, name), message=message, evidence=(message, name))
    parsed(view(usual(hostile)))
    parsed(view(usual(hostile), CheckScope(suppressions=(accepted(hostile, reason),))))


def test_markup_and_control_characters_stay_text() -> None:
    bad = replace(SKEW, subject=Subject("Pod", ']]></failure><x a="1">&'), message="\x00\x1b[2J\ud800\uffff'\"<")
    failure = the_case(view(usual(bad)), "kubelet-skew").find("failure")
    assert failure is not None
    assert ']]></failure><x a="1">&' in failure.get("message", "")
