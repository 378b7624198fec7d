"""Nodes and budgets become the facts they should."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Amount, Budget, BudgetStatus
from kubectl_eksdoc.model.nodes import REBOOT_IN_PROGRESS, Node, RunNote, Taint
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Requirement, from_parts
from kubectl_eksdoc.objects.collector import BadObject
from tests.objects.observing import T0, T0_TEXT, observed


def test_a_node() -> None:
    (node,) = observed(
        kinds.NODES,
        meta={"labels": {"a": "b"}, "creationTimestamp": T0_TEXT, "deletionTimestamp": T0_TEXT},
        spec={
            "unschedulable": True,
            "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": T0_TEXT}],
            "providerID": "aws:///a/i-1",
        },
        status={
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}],
            "nodeInfo": {"kubeletVersion": "v1.33.1-eks-1b3e656", "osImage": "Amazon Linux 2"},
            "allocatable": {"pods": "58", "cpu": "8"},
        },
    ).nodes
    assert node == Node(
        name="x",
        uid="u",
        labels={"a": "b"},
        unschedulable=True,
        taints=(Taint("k", "", "NoSchedule"),),
        ready="Unknown",
        kubelet=Version(1, 33, 1),
        kubelet_text="v1.33.1-eks-1b3e656",
        os_image="Amazon Linux 2",
        provider_id="aws:///a/i-1",
        created_at=T0,
        deletion_at=T0,
        pods_allocatable=58,
        allocatable={"pods": 58, "cpu": 8000},
    )


def test_of_a_nodes_annotations_only_those_are_kept_that_are_judged() -> None:
    notes = {"weave.works/kured-reboot-in-progress": T0_TEXT, "weave.works/kured-most-recent-reboot-needed": T0_TEXT}
    (node,) = observed(kinds.NODES, meta={"annotations": notes}).nodes
    assert node.annotations == {REBOOT_IN_PROGRESS: T0_TEXT}
    assert not observed(kinds.NODES, meta={"annotations": None}).nodes[0].annotations


def test_a_node_without_a_ready_condition_is_unknown() -> None:
    assert observed(kinds.NODES).nodes[0].ready == "Unknown"


def test_a_budget() -> None:
    (budget,) = observed(
        kinds.BUDGETS,
        meta={"generation": 3},
        spec={
            "maxUnavailable": "30%",
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {
                "matchLabels": {"app": "x"},
                "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a", "b"]}],
            },
        },
        status={
            "currentHealthy": 4,
            "desiredHealthy": 3,
            "disruptionsAllowed": 1,
            "expectedPods": 5,
            "observedGeneration": 2,
            "disruptedPods": {"x-1": T0_TEXT},
            "conditions": [
                {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}
            ],
        },
    ).budgets
    assert budget == Budget(
        namespace="shop",
        name="x",
        uid="u",
        selector=from_parts({"app": "x"}, (Requirement("tier", "NotIn", ("a", "b")),)),
        status=BudgetStatus(allowed=1, current=4, desired=3, expected=5),
        max_unavailable=Amount(30, percent=True),
        unhealthy_policy="AlwaysAllow",
        generation=3,
        observed_generation=2,
        condition_status="False",
        condition_reason="SyncFailed",
        condition_message="no scale",
        disrupted={"x-1": T0},
    )


@pytest.mark.parametrize(
    ("spec", "selector"), [({}, NOTHING), ({"selector": None}, NOTHING), ({"selector": {}}, EVERYTHING)]
)
def test_no_selector_matches_nothing_and_an_empty_one_everything(spec: dict[str, Any], selector: Any) -> None:
    assert observed(kinds.BUDGETS, spec=spec).budgets[0].selector == selector


def test_an_unknown_operator_makes_a_selector_invalid() -> None:
    spec = {"selector": {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}}
    assert not observed(kinds.BUDGETS, spec=spec).budgets[0].selector.valid


@pytest.mark.parametrize(("given", "amount"), [(0, Amount(0)), ("0%", Amount(0, True)), ("100%", Amount(100, True))])
def test_amounts(given: int | str, amount: Amount) -> None:
    assert observed(kinds.BUDGETS, spec={"minAvailable": given}).budgets[0].min_available == amount


@pytest.mark.parametrize("given", ["", "1.5%", "%", True, []])
def test_amounts_that_cannot_be(given: Any) -> None:
    with pytest.raises(BadObject, match=r"\$\.spec\.minAvailable"):
        observed(kinds.BUDGETS, spec={"minAvailable": given})


@pytest.mark.parametrize(
    ("run", "prior", "note"),
    [
        ("r-1", '{"journal":"ops","unschedulable":false}', RunNote("r-1", "ops")),
        ("r-1", '{"skipped":true,"unschedulable":false}', RunNote("r-1", skipped=True)),
        ("r-1", '{"skipped":1,"unschedulable":false}', RunNote("r-1")),
        ("r-1", '{"protected":["a"]}', RunNote("r-1", "", drains=False, protects=True)),
        ("r-1", '{"labels":["a"],"protected":["b"],"journal":"ops"}', RunNote("r-1", "ops", protects=True)),
        ("r-1", '{"unschedulable":true,"journal":"../../secrets"}', RunNote("r-1")),
        ("r-1", '{"unschedulable":true,"journal":7}', RunNote("r-1")),
        ("No Id", '{"unschedulable":true}', None),
        (None, '{"unschedulable":true}', None),
    ],
)
def test_what_a_run_noted_on_a_node(run: str | None, prior: str | None, note: RunNote | None) -> None:
    """People may have written anything."""
    annotations = {"eksdoc.io/run": run, "eksdoc.io/prior": prior, "other": "x"}
    (node,) = observed(kinds.NODES, meta={"annotations": annotations}).nodes
    assert node.note == note
