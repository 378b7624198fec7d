"""``--soft-budget``: a percentage of a workload's replicas stands for the budget that it does not have."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.drain.verdict import estimate_lines
from tests.builders import a_budget, a_cluster, a_job, a_pod, a_workload, pods
from tests.drain.planning import codes, plan_of


def softly(percent: int | None, replicas: int = 8, **facts: object) -> DrainPlan:
    """All replicas of a Deployment without a budget are on one node."""
    owners = (
        a_workload("ReplicaSet/web", owner="Deployment/web", replicas=replicas),
        a_workload("Deployment/web", replicas=replicas, surges=True),
    )
    given = {"workloads": owners, "pods": pods(replicas)} | facts
    return plan_of(policy=DrainPolicy(soft_budget=percent), **given)


@pytest.mark.parametrize(
    ("percent", "rounds"), [(None, 1), (100, 1), (99, 2), (50, 2), (25, 4), (24, 8), (12, 8), (1, 8)]
)
def test_so_many_go_at_once_and_one_always_does(percent: int | None, rounds: int) -> None:
    plan = softly(percent)
    assert (len(plan.evictions), plan.rounds) == (8, rounds)


def test_then_not_all_go_at_once() -> None:
    assert "all-replicas-at-once" in codes(softly(None))
    assert "all-replicas-at-once" not in codes(softly(50))


def test_each_eviction_says_its_turn() -> None:
    assert [e.reason for e in softly(50, replicas=2).evictions] == [
        "no budget guards it, --soft-budget does: 1 of 2",
        "no budget guards it, --soft-budget does: 2 of 2",
    ]
    assert {e.reason for e in softly(None, replicas=2).evictions} == {"no budget guards it"}


def test_what_binds_is_named_in_words() -> None:
    plan = softly(50, replicas=2)
    said = " ".join(estimate_lines(DrainView(plan, a_cluster())))
    assert "soft budget of Deployment/web in default lets 1 of its 2 pods be away at a time" in said


def test_a_budget_that_is_there_is_the_one_that_counts() -> None:
    guarded = softly(1, budgets=[a_budget("web", max_unavailable=4, expected=8, allowed=4)])
    assert guarded.rounds == 2
    assert {e.budget for e in guarded.evictions} == {"default/web"}


def test_only_ready_copies_are_counted() -> None:
    """Jobs run to their end, and a pod that is not Ready serves nobody."""
    unready = softly(1, replicas=3, pods=pods(3, ready=False))
    jobs = softly(1, pods=[a_pod(f"etl-{i}", owner="Job/etl") for i in range(3)], jobs=[a_job("etl", backoff_limit=6)])
    assert [plan.rounds for plan in (unready, jobs)] == [1, 1]
