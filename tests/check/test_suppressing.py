"""Suppressed findings and their expiry date; with ``--no-aws``, findings that need AWS are left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest

from kubectl_eksdoc.check.checking import Area, Gate, UpgradeCheck
from kubectl_eksdoc.check.plan import CheckPlan, CheckScope, apply_suppressions, matches, plan_check
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject, Suppression
from kubectl_eksdoc.model.kinds import AwsUnavailable, Unknown
from tests.builders import NOW
from tests.check.healthy import healthy

CODE = Code.of("kubelet-skew")
TODAY = NOW.date()
RULE = Suppression(CODE.name, "agreed with the platform team", TODAY, where="accepted.yaml, entry 1")


def a_finding(name: str = "blue", status: Status = Status.FAIL, **more: str) -> Finding:
    subject = Subject(more.get("kind", "Nodegroup"), name, more.get("namespace", ""))
    return Finding(CODE, Severity.HIGH, status, subject, "too old")


def planned(
    *rules: Suppression, found: tuple[Finding, ...] = (a_finding(),), wish: CheckScope = CheckScope()
) -> CheckPlan:
    check = UpgradeCheck((CODE,), Area.NODES, Gate.BEFORE_CONTROL_PLANE, lambda _: found)
    return plan_check(healthy(), [check], replace(wish, suppressions=rules))


def test_a_finding_that_is_suppressed_does_not_count_and_is_kept_with_its_reason() -> None:
    plan = planned(RULE)
    assert plan.findings == ()
    assert plan.findings_at(Gate.BEFORE_CONTROL_PLANE, Status.FAIL) == ()
    assert [(each.finding.subject.name, each.rule.reason) for each in plan.suppressed] == [("blue", RULE.reason)]
    assert plan.notes == ()


def test_the_last_day_still_holds_and_the_next_does_not() -> None:
    assert planned(RULE).findings == ()
    plan = planned(replace(RULE, until=TODAY - timedelta(days=1)))
    assert len(plan.findings) == 1
    (note,) = plan.notes
    assert "accepted.yaml, entry 1" in note
    assert f"expired on {(TODAY - timedelta(days=1)).isoformat()} (1 day ago)" in note
    assert "counts again" in note


def test_one_that_matches_nothing_is_noted() -> None:
    plan = planned(replace(RULE, name="red"))
    assert len(plan.findings) == 1
    assert plan.notes == (
        "the suppression accepted.yaml, entry 1 matches nothing: there is no such finding of kubelet-skew",
    )


def test_one_of_a_code_that_nobody_looked_for_is_not_called_needless() -> None:
    assert planned(Suppression("check-addon-unfit", "why", TODAY)).notes == ()
    wish = CheckScope(only=frozenset(["check-addon-unfit"]))
    assert planned(replace(RULE, name="red"), wish=wish).notes == ()


def test_the_unknown_is_suppressed_by_the_same_rule_and_never_without_one() -> None:
    unknown = a_finding(status=Status.UNKNOWN)
    assert planned(found=(unknown,)).findings == (unknown,)
    assert planned(RULE, found=(unknown,)).suppressed[0].finding == unknown


@pytest.mark.parametrize(
    ("rule", "hit"),
    [
        ({}, True),
        ({"kind": "Node*"}, True),
        ({"kind": "nodegroup"}, False),
        ({"name": "bl?e"}, True),
        ({"name": "blue-*"}, False),
        ({"namespace": ""}, True),
        ({"namespace": "shop"}, False),
        ({"code": "support-ends"}, False),
    ],
)
def test_subjects_are_named_by_globs(rule: dict[str, str], hit: bool) -> None:
    assert matches(replace(RULE, **rule), a_finding()) is hit


def test_the_day_is_that_of_the_observation_in_utc() -> None:
    late = datetime(2026, 11, 20, 23, 30, tzinfo=timezone(timedelta(hours=-5)))  # the 21st in UTC
    rule = replace(RULE, until=date(2026, 11, 20))
    assert apply_suppressions([a_finding()], [rule], late).suppressed == ()
    assert apply_suppressions([a_finding()], [rule], late - timedelta(hours=5)).counted == ()


LEFT_OUT = AwsUnavailable("AWS is left out (--no-aws)")
FORBIDDEN = Unknown("pods are forbidden", "list pods")
REFUSED = Unknown("IAM does not allow it", "eks:DescribeCluster")


def left_of(found: Finding) -> tuple[list[Finding], ...]:
    check = UpgradeCheck((CODE,), Area.NODES, Gate.BEFORE_NODES, lambda _: (found,))
    plan = plan_check(healthy(eks=LEFT_OUT), [check], CheckScope(no_aws=True))
    return tuple(list(judged.findings) for judged in plan.judged)


@pytest.mark.parametrize(
    ("lacks", "stays"),
    [
        ((LEFT_OUT,), False),
        ((replace(LEFT_OUT, why=f"which role it has is not known: {LEFT_OUT}"),), False),
        ((LEFT_OUT, FORBIDDEN), True),
        ((FORBIDDEN,), True),
        ((REFUSED,), True),
        ((Unknown(LEFT_OUT.why),), True),
        ((), True),
    ],
)
def test_only_what_lacks_nothing_but_aws_is_left_out(lacks: tuple[Unknown, ...], stays: bool) -> None:
    message = f"who runs is not known: {LEFT_OUT}"
    found = Finding(CODE, Severity.MEDIUM, Status.UNKNOWN, Subject("Cluster", "prod"), message, unknowns=lacks)
    assert left_of(found) == ([found],) * stays, "a check that is left with nothing was not made"


def test_of_a_check_that_asks_aws_no_other_code_is_said_to_pass() -> None:
    lacking = Finding(CODE, Severity.MEDIUM, Status.UNKNOWN, Subject("Cluster", "prod"), "it", unknowns=(LEFT_OUT,))
    other = Finding(Code.of("ami-al2"), Severity.LOW, Status.FAIL, Subject("NodeGroup", "blue"), "old")
    both = UpgradeCheck((CODE, other.code), Area.NODES, None, lambda _: (lacking, other))
    (judged,) = plan_check(healthy(eks=LEFT_OUT), [both], CheckScope(no_aws=True)).judged
    assert judged.findings == (other,) and judged.check.codes == (other.code,)
    wish = CheckScope(no_aws=True, only=frozenset({"cgroup-v1"}))
    assert plan_check(healthy(eks=LEFT_OUT), [both], wish).judged == ()


def test_what_fails_stays() -> None:
    found = Finding(CODE, Severity.HIGH, Status.FAIL, Subject("Cluster", "prod"), f"it is old: {LEFT_OUT}")
    assert left_of(found) == ([found],)
