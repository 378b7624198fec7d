"""What-if: assumed budgets and codes that stop nothing, each marked as assumed."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.verdicts.said import with_assumed_budgets
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.findings import Status
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_workload, an_emptydir, pods
from tests.drain.planning import finding, headroom, plan_of, target, verdict_of


def test_an_assumed_budget_halves_the_rounds() -> None:
    policy = DrainPolicy(assume_budgets=(("default/web", 2),))
    budgets = [a_budget(expected=4)]
    cluster = a_cluster(nodes=[a_node("old-0")], pods=pods(4), workloads=[a_workload(replicas=4)], budgets=budgets)
    assert plan_of(cluster).rounds == 4
    assumed = with_assumed_budgets(cluster, policy)
    assert plan_of(assumed, policy=policy).rounds == 2
    assert assumed.notes == ("assumed: budget default/web lets 2 of its pods be away",)


def test_pods_that_are_not_ready_still_count_against_an_assumed_budget() -> None:
    sick = [*pods(2), a_pod("web-2", ready=False)]
    cluster = a_cluster(nodes=[a_node("old-0")], pods=sick, workloads=[a_workload()], budgets=[a_budget(expected=3)])
    policy = DrainPolicy(assume_budgets=(("default/web", 2),))
    assert headroom(plan_of(with_assumed_budgets(cluster, policy), policy=policy)).per_round == 1


def test_a_budget_that_is_not_there_cannot_be_assumed() -> None:
    with pytest.raises(UsageError, match="no budget shop/nope"):
        with_assumed_budgets(a_cluster(), DrainPolicy(assume_budgets=(("shop/nope", 1),)))


def test_a_code_assumed_fixed_stops_nothing_and_says_so() -> None:
    policy = DrainPolicy(assume_fixed=frozenset({"pod-emptydir"}))
    plan = plan_of(pods=[a_pod(volumes=(an_emptydir(),))], policy=policy)
    assert verdict_of(plan, "web-1") is PodVerdict.EVICT
    found = finding(plan, "pod-emptydir")
    assert found.status is Status.PASS
    assert found.message.startswith("assumed fixed: ")
    assert target(plan).verdict is TargetVerdict.DRAINS


def test_a_budget_assumed_fixed_lets_one_go_at_a_time() -> None:
    policy = DrainPolicy(assume_fixed=frozenset({"budget-never-allows"}))
    plan = plan_of(budgets=[a_budget(max_unavailable=0, allowed=0)], policy=policy)
    assert [e.round for e in plan.evictions] == [1, 2, 3]
    assert finding(plan, "budget-never-allows").message.startswith("assumed fixed: ")
    assert plan.blockers == ()
