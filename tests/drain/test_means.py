"""Pods that do not simply go by an eviction within their budget: past it, under a soft one, when a Job is over."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import EVICTED, DrainPolicy, EvictionMode, Means
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.verdicts.budgets import check_deleted
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.drain.verdict import estimate_lines
from tests.builders import a_budget, a_cluster, a_job, a_node, a_pod, a_workload, pods
from tests.drain.planning import WEB, codes, finding, headroom, plan_of, target, verdict_of

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


WAITS = DrainPolicy(wait_jobs=1800)
ETL = a_pod("etl-x", owner="Job/etl")


def test_its_time_counts_in_full_and_is_said() -> None:
    plan = plan_of(pods=[ETL, *pods(1)], jobs=[a_job()], workloads=WEB, policy=WAITS)
    manners = {e.pod.name: e.manner for e in plan.evictions}
    assert manners == {"etl-x": EvictionMode(waits_s=1800.0), "web-0": EVICTED}
    estimate = plan.estimate
    assert estimate is not None
    moved = {each.uid: each for each in estimate.moves}
    assert moved[ETL.uid].evicted_s == 1800
    assert estimate.p50_s == moved[ETL.uid].gone_s + 10 == estimate.bounds[0].seconds
    assert estimate.least[0].seconds == 10, "it may have finished at once"
    assert any("1 pod of a Job takes all of the 30m00s of --wait-jobs" in said for said in estimate.assumptions)
    assert "may finish, for up to 30m00s" in finding(plan, "job-loses-work").message
    assert "may finish for up to 30m00s first" in next(e.reason for e in plan.evictions if e.pod.name == "etl-x")


def test_without_the_flag_nothing_waits_and_it_is_advised() -> None:
    plan = plan_of(pods=[ETL], jobs=[a_job()])
    assert [e.manner for e in plan.evictions] == [EVICTED]
    assert any("--wait-jobs 30m" in remedy.text for remedy in finding(plan, "job-loses-work").remedy)


def test_one_whose_job_would_fail_is_only_waited_for() -> None:
    plan = plan_of(pods=[ETL], jobs=[a_job(backoff_limit=0)], policy=WAITS)
    (eviction,) = plan.evictions
    assert eviction.manner == EvictionMode(Means.PATIENCE, 1800.0)
    assert (eviction.limits, eviction.lands_on) == ((), "")
    found = finding(plan, "job-would-fail")
    assert found.status is Status.PASS and "never evicted" in found.message
    assert plan.estimate is not None and plan.estimate.p50_s == 1810
    assert not plan.blockers


def test_of_other_pods_and_finished_ones_nothing_is_waited_for() -> None:
    done = a_pod("etl-y", owner="Job/etl", phase="Succeeded")
    plan = plan_of(pods=[done, *pods(1)], jobs=[a_job()], workloads=WEB, policy=WAITS)
    assert {e.manner for e in plan.evictions} == {EVICTED}


def test_a_job_that_was_not_read_is_waited_for_too() -> None:
    cluster = a_cluster(nodes=[a_node("old-0")], pods=[ETL], unread=[kinds.JOBS])
    plan = plan_of(cluster, policy=WAITS)
    assert [e.manner.waits_s for e in plan.evictions] == [1800.0]
    assert verdict_of(plan, "etl-x") is PodVerdict.EVICT
