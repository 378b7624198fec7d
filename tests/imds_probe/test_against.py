"""A probe of the metadata service beside an earlier one: which nodes and pods either was about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.baseline.side import read_of
from kubectl_eksdoc.imds_probe.plan import against
from kubectl_eksdoc.model.earlier import FindingOutline, SavedResult
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from tests.render.metadata.made import plan

PLAN = plan(2)
CLUSTER = PLAN.facts.cluster
GONE = FindingOutline("imds-pods-broken", Subject("Deployment", "gone", "shop"), Severity.HIGH, Status.FAIL, "2 pods")


def changes(options: dict[str, Any], now: dict[str, Any], *found: Finding) -> list[str]:
    """What becomes of `GONE`."""
    earlier = SavedResult(
        "x", CLUSTER.identity, CLUSTER.source, CLUSTER.observed_at, "1", options, read_of(CLUSTER), (GONE,)
    )
    told = against(earlier, CLUSTER, replace(PLAN, findings=found), now)
    return [each.became.value for each in told.changes if each.before == GONE]


def unknown(code: Code, kind: str = "Cluster") -> Finding:
    return Finding(code, Severity.LOW, Status.UNKNOWN, Subject(kind, "prod"), "not known", missing="x")


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        ({}, {}, "fixed"),
        ({}, {"hops": 3}, "fixed"),
        ({}, {"nodegroup": ["blue"]}, "not-judged-this-time"),
        ({"nodegroup": ["blue"]}, {"nodegroup": ["blue", "green"]}, "fixed"),
        ({"nodegroup": ["blue"]}, {}, "fixed"),
        ({"node": ["a"]}, {"node": ["b"]}, "not-judged-this-time"),
        ({"node": ["a"], "nodegroup": ["blue"]}, {"node": ["a"], "nodegroup": ["blue"]}, "fixed"),
        ({"node": ["a"], "nodegroup": ["blue"]}, {"node": ["a"]}, "not-judged-this-time"),
        ({}, {"pod": "cart-1", "namespace": "shop"}, "not-judged-this-time"),
        ({"node": "a", "nodegroup": 7}, {}, "fixed"),
    ],
)
def test_a_narrower_look_fixes_nothing(then: dict[str, Any], now: dict[str, Any], expected: str) -> None:
    assert changes(then, now) == [expected]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (unknown(Code.of("imds-nodes-unknown"), "NodeGroup"), "not-known-any-more"),
        (unknown(Code.of("imds-pods-unread")), "not-known-any-more"),
        (unknown(Code.of("imds-roles-unknown")), "not-known-any-more"),
        (unknown(Code.of("imds-pods-possible")), "fixed"),
    ],
)
def test_nodes_that_are_not_known_hide_who_suffers(found: Finding, expected: str) -> None:
    assert changes({}, {}, found) == [expected]
