"""A probe of the metadata service compared with an earlier one: the nodes and pods of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.baseline.side import complete_kinds
from kubectl_eksdoc.imds_probe.plan import compare_with_earlier
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from tests.imds_probe.report.made import plan

PLAN = plan(2)
CLUSTER = PLAN.facts.cluster
GONE = FindingOutline("imds-pods-broken", Subject("Deployment", "gone", "shop"), Severity.HIGH, Status.FAIL, "2 pods")


def changes(options: dict[str, Any], now: dict[str, Any], *found: Finding, gone: FindingOutline = GONE) -> list[str]:
    """The changes that result for `gone`."""
    earlier = SavedResult(
        "x", CLUSTER.identity, CLUSTER.source, CLUSTER.observed_at, "1", options, complete_kinds(CLUSTER), (gone,)
    )
    told = compare_with_earlier(earlier, CLUSTER, replace(PLAN, findings=found), now)
    return [each.kind.value for each in told.changes if each.before == gone]


def added(options: dict[str, Any], found: Finding) -> list[tuple[str, str]]:
    of = CLUSTER.identity, CLUSTER.source, CLUSTER.observed_at
    earlier = SavedResult("x", *of, "1", options, complete_kinds(CLUSTER), ())
    told = compare_with_earlier(earlier, CLUSTER, replace(PLAN, findings=(found,)), WHOLE)
    return [(each.kind.value, each.why) for each in told.changes]


def unknown(code: str, kind: str = "Cluster") -> Finding:
    return Finding(Code.of(code), Severity.LOW, Status.UNKNOWN, Subject(kind, "prod"), "not known", missing="x")


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        ({}, {}, "fixed"),
        ({"hops": 2}, {"hops": 3}, "not-judged-this-time"),
        ({"assume": "hops=1"}, {}, "not-judged-this-time"),
        ({}, {"intent": "hops=1"}, "not-judged-this-time"),
        ({}, {"accept-unknown": ["imds-pods-unread"]}, "fixed"),
        ({}, {"nodegroup": ["blue"]}, "not-judged-this-time"),
        ({"nodegroup": ["blue"]}, {"nodegroup": ["blue", "green"]}, "fixed"),
        ({"nodegroup": ["blue"]}, {}, "fixed"),
        ({"node": ["a"]}, {"node": ["b"]}, "not-judged-this-time"),
        ({"node": ["a"], "nodegroup": ["blue"]}, {"node": ["a"], "nodegroup": ["blue"]}, "fixed"),
        ({"node": ["a"], "nodegroup": ["blue"]}, {"node": ["a"]}, "not-judged-this-time"),
        ({}, {"pod": "cart-1", "namespace": "shop"}, "not-judged-this-time"),
        ({"node": "a", "nodegroup": 7}, {}, "fixed"),
        ({}, {"workload": "Deployment/cart", "namespace": "shop"}, "not-judged-this-time"),
        ({}, {"workload": "Deployment/gone", "namespace": "shop"}, "fixed"),
        ({}, {"workload": "Deployment/gone"}, "not-judged-this-time"),
        ({"workload": "Deployment/gone"}, {"workload": "Deployment/gone"}, "fixed"),
    ],
)
def test_a_narrower_look_fixes_nothing(then: dict[str, Any], now: dict[str, Any], expected: str) -> None:
    assert changes(then, now) == [expected]


WHOLE = {"assume": "", "intent": "hops=1", "evidence": "cloudwatch,cloudtrail,iam"}


@pytest.mark.parametrize(
    ("code", "lacks"),
    [
        ("imds-v1-counted", {"evidence": "iam"}),
        ("imds-v1-rejected", {"evidence": ""}),
        ("imds-role-used", {"evidence": "cloudwatch"}),
        ("imds-evidence-unknown", {"evidence": ""}),
    ],
)
def test_what_only_a_flag_looks_for_is_not_fixed_without_it(code: str, lacks: dict[str, str]) -> None:
    gone = replace(GONE, code=code)
    assert changes(WHOLE, WHOLE, gone=gone) == ["fixed"]
    assert changes(WHOLE, {**WHOLE, **lacks}, gone=gone) == ["not-judged-this-time"]
    found = replace(unknown(code), status=Status.FAIL)
    assert added(WHOLE, found) == [("new", "")]
    assert added({**WHOLE, **lacks}, found) == [("new", "its check was not made")]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (unknown("imds-nodes-unknown", "NodeGroup"), "not-known-any-more"),
        (unknown("imds-pods-unread"), "not-known-any-more"),
        (unknown("imds-roles-unknown"), "not-known-any-more"),
        (unknown("imds-pods-possible"), "fixed"),
    ],
)
def test_nodes_that_are_not_known_hide_who_suffers(found: Finding, expected: str) -> None:
    assert changes({}, {}, found) == [expected]
