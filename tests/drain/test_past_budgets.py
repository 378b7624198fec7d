"""Pods that are deleted past their budgets, because the user named them: they and no others."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy, Means
from kubectl_eksdoc.drain.verdicts.budgets import check_deleted
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.findings import Severity, Status
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_workload, pods
from tests.drain.planning import codes, finding, headroom, plan_of, target, verdict_of

NEVER = a_budget(min_available=1, allowed=0, expected=1)


def naming(*names: str) -> DrainPolicy:
    return DrainPolicy(delete_past_budget=frozenset(f"default/{name}" for name in names))


def test_a_named_pod_is_deleted_and_what_it_costs_is_said() -> None:
    facts = {"pods": pods(1), "workloads": [a_workload(replicas=1)], "budgets": [NEVER]}
    assert verdict_of(plan_of(**facts), "web-0") is PodVerdict.BLOCKED
    plan = plan_of(policy=naming("web-0"), **facts)
    (deleted,) = plan.past_budgets
    assert (deleted.pod.name, deleted.manner.means, deleted.limits) == ("web-0", Means.DELETION, ())
    found = finding(plan, "past-budget")
    assert (found.status, found.severity) == (Status.PASS, Severity.HIGH)
    assert "past its budget default/web" in found.message
    assert "0 of 1 are healthy then, default/web wants 1" in found.message
    assert "budget-never-allows" not in codes(plan) and not plan.blockers
    assert target(plan).verdict is TargetVerdict.DRAINS


def test_no_other_pod_of_the_budget_goes() -> None:
    budget = a_budget(max_unavailable=0, allowed=0)
    plan = plan_of(budgets=[budget], policy=naming("web-1"))
    assert verdict_of(plan, "web-0") is verdict_of(plan, "web-2") is PodVerdict.BLOCKED
    assert not plan.evictions and target(plan).verdict is TargetVerdict.SKIPPED
    assert headroom(plan).verdict is BudgetVerdict.BLOCKED_FOREVER
    nodes = [a_node("old-0"), a_node("old-1")]
    spread = [a_pod("web-0"), a_pod("web-1", node="old-1"), a_pod("web-2", node="roomy")]
    plan = plan_of(nodes=nodes, pods=spread, workloads=[a_workload()], budgets=[budget], policy=naming("web-1"))
    assert [e.pod.name for e in plan.evictions] == ["web-1"] == [e.pod.name for e in plan.past_budgets]
    assert "2 of 3 are healthy then" in finding(plan, "past-budget").message


def test_under_two_budgets_both_are_named() -> None:
    both = [a_budget("one", selector={"app": "web"}), a_budget("two", selector={"app": "web"})]
    plan = plan_of(pods=pods(1), workloads=[a_workload(replicas=1)], budgets=both, policy=naming("web-0"))
    assert "its budgets default/one and default/two" in finding(plan, "past-budget").message
    assert len(plan.past_budgets) == 1 and not plan.blockers


def test_a_budget_that_lets_it_go_is_respected() -> None:
    plan = plan_of(budgets=[a_budget()], policy=naming("web-1"))
    assert not plan.past_budgets
    assert {e.budget for e in plan.evictions} == {"default/web"}


def test_what_blocks_besides_its_budget_still_blocks() -> None:
    bare = a_pod("bare", owner=None, labels={"app": "web"})
    plan = plan_of(pods=[bare], budgets=[NEVER], policy=naming("bare"))
    assert verdict_of(plan, "bare") is PodVerdict.BLOCKED
    assert "pod-unmanaged" in codes(plan)


def test_a_rollout_is_better_than_a_deletion() -> None:
    workloads = [
        a_workload("ReplicaSet/web", replicas=1, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=1, surges=True),
    ]
    policy = DrainPolicy(surge_singles=True, delete_past_budget=frozenset({"default/web-0"}))
    plan = plan_of(pods=pods(1), workloads=workloads, budgets=[NEVER], policy=policy)
    assert plan.restarts and not plan.past_budgets


def test_its_own_grace_period_counts() -> None:
    slow = a_pod("web-0", grace_seconds=3)
    policy = DrainPolicy(grace_seconds=600, delete_past_budget=frozenset({"default/web-0"}))
    plan = plan_of(pods=[slow], workloads=[a_workload(replicas=1)], budgets=[NEVER], policy=policy)
    assert plan.estimate is not None and 1 <= plan.estimate.moves[0].gone_s < 3


def test_a_name_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="default/web-9") as error:
        check_deleted(a_cluster(pods=pods(2)), naming("web-9"))
    assert "default/web-" in str(error.value.hint)
    check_deleted(a_cluster(pods=pods(2)), naming("web-1"))
