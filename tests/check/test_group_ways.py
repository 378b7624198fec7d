"""The drain that blocks the update of a group, by name, and many groups with many findings at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.amazon.amis import GroupUpdateKind
from kubectl_eksdoc.check.checking import CheckFacts
from kubectl_eksdoc.check.checks.release_notes import group_nodes
from kubectl_eksdoc.check.karpenter_steps import choose_group_update
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import CheckNeed
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_budget, a_node, a_pod
from tests.check.healthy import a_healthy_cluster, healthy

AL2023 = "Amazon Linux 2023.7.20250609"


def stuck(kind: str, name: str, namespace: str = "shop") -> Finding:
    return Finding(
        Code.of("pod-stuck-terminating"), Severity.HIGH, Status.FAIL, Subject(kind, name, namespace), "it stays"
    )


def given(*found: Finding, **cluster: Any) -> CheckFacts:
    nodes = [a_node("a", group="blue", os_image=AL2023), a_node("b", group="green", os_image=AL2023)]
    pod = a_pod("web-api-5d8f-x2", "shop", node="a", labels={"app": "web"})
    facts = {"nodes": nodes, "pods": [pod], "budgets": [a_budget("web", "shop", selector={"app": "web"})]} | cluster
    return replace(healthy(), cluster=a_healthy_cluster(**facts), command_findings={CheckNeed.PLAN_DRAIN: found})


@pytest.mark.parametrize(
    "finding",
    [
        stuck("PodDisruptionBudget", "web"),
        stuck("Deployment", "web-api"),
        stuck("Pod", "web-api-5d8f-x2"),
        Finding(Code.of("node-slow"), Severity.MEDIUM, Status.FAIL, Subject("NodeGroup", "blue"), "it is slow"),
    ],
    ids=lambda each: each.subject.kind,
)
def test_what_holds_a_pod_or_a_node_of_the_group_makes_a_new_group(finding: Finding) -> None:
    facts = given(finding)
    blue, green = group_nodes(facts.cluster.nodes)
    chosen = choose_group_update(facts, blue, Version(1, 34))
    slow = finding.subject.kind == "NodeGroup"
    held = "pods that take longer" if slow else f"{finding.subject.kind} {finding.subject}"
    assert (chosen.kind, chosen.blockers) == (GroupUpdateKind.NEW_GROUP, (held,))
    assert chosen.reason == f"an update in place waits 15 minutes for each node and fails on {held}"
    assert choose_group_update(facts, green, Version(1, 34)).kind is GroupUpdateKind.IN_PLACE


@pytest.mark.parametrize(
    "finding",
    [
        stuck("Deployment", "web-ap"),
        stuck("Deployment", "web-api", "other"),
        stuck("PodDisruptionBudget", "web", "other"),
        stuck("PodDisruptionBudget", "gone"),
        replace(stuck("Deployment", "web-api"), status=Status.UNKNOWN),
    ],
)
def test_what_holds_others_does_not(finding: Finding) -> None:
    facts = given(finding)
    assert choose_group_update(facts, group_nodes(facts.cluster.nodes)[0], Version(1, 34)).blockers == ()
