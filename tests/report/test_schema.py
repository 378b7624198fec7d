"""The document of a plan: an unknown value is null, and the order of the facts changes nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.result import PlanResult
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.plans import CLUSTER, PLAN, a_view
from tests.yaml_reader import printed

render = DrainReport.render


def document(view: DrainReport) -> Any:
    return printed(PlanResult.of(view))


def places(node: Any, path: str = "") -> list[tuple[str, Any, str]]:
    """Every (path, object, key) in a document, except in the options: their content is the user's."""
    found: list[tuple[str, Any, str]] = []
    if isinstance(node, dict):
        for key, value in node.items():
            found.append((f"{path}/{key}", node, key))
            if key != "options":
                found += places(value, f"{path}/{key}")
    elif isinstance(node, list):
        for value in node:
            found += places(value, path)
    return found


def test_what_is_not_known_is_null_and_never_zero_or_empty() -> None:
    doc: Any = document(a_view())
    assert doc["metadata"]["cluster"]["account"] is None
    bare = next(t for t in doc["targets"] if t["name"] == "bare-1")
    unknown = ("group", "capacityType", "instanceType", "zone", "kubelet", "osImage", "createdAt", "providerID")
    assert {key: bare[key] for key in unknown} == dict.fromkeys(unknown)
    assert bare["order"] is None and bare["finishRound"] is None
    reindex = next(b for b in doc["budgets"] if b["name"] == "reindex")
    assert [reindex[key] for key in ("current", "desired", "expected", "owner")] == [None] * 4
    services = next(k for k in doc["metadata"]["kindsRead"] if k["resource"] == "services")
    assert services == {
        "resource": "services",
        "state": "not-held",
        "count": None,
        "detail": "the dump has no services",
    }
    assert [path for path, holder, key in places(doc) if holder[key] == ""] == []


def test_lists_are_sorted_and_the_order_of_the_facts_changes_nothing() -> None:
    turned = replace(
        PLAN,
        targets=PLAN.targets[::-1],
        evictions=PLAN.evictions[::-1],
        left=PLAN.left[::-1],
        budgets=PLAN.budgets[::-1],
        findings=PLAN.findings[::-1],
        handoffs=PLAN.handoffs[::-1],
    )
    cluster = replace(CLUSTER, reads=CLUSTER.reads[::-1])
    assert render(a_view(turned, cluster), "json", Appearance()) == render(a_view(), "json", Appearance())


def test_the_grace_period_given_replaces_each_pods_own() -> None:
    doc: Any = document(a_view(replace(PLAN, policy=replace(PLAN.policy, grace_seconds=7))))
    assert {e["graceSeconds"] for e in doc["evictions"]} == {7}


def test_options_stand_as_given_and_nothing_without_a_json_form_passes() -> None:
    given = {
        "selector": "a=b",
        "force": True,
        "nodes": ("n1", "n2"),
        "accept": frozenset({"b", "a"}),
        "by": Source.DEMO,
    }
    doc: Any = document(a_view(options=given))
    assert doc["metadata"]["options"] == {
        "accept": ["a", "b"],
        "by": "demo",
        "force": True,
        "nodes": ["n1", "n2"],
        "selector": "a=b",
    }
    with pytest.raises(TypeError):
        document(a_view(options={"when": datetime(2026, 1, 1)}))  # noqa: DTZ001
