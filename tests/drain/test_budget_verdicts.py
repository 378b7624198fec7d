"""Verdicts on budgets: fits, serial, and every way of not letting a pod go."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Status
from tests.builders import a_budget, a_cluster, a_job, a_node, a_pod, a_workload, ago, pods
from tests.drain.planning import WEB, codes, finding, headroom, plan_of, target, verdict_of


def web(replicas: int, **more: object) -> tuple[object, ...]:
    """Deployment web with that many replicas, and its ReplicaSet."""
    return (
        a_workload("ReplicaSet/web", replicas=replicas, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=replicas, **more),  # type: ignore[arg-type]
    )


def test_fits() -> None:
    plan = plan_of(budgets=[a_budget(max_unavailable=3, allowed=3)])
    assert headroom(plan).verdict is BudgetVerdict.FITS
    assert plan.rounds == 1
    assert plan.findings == ()


def test_serial_says_how_many_rounds() -> None:
    plan = plan_of(budgets=[a_budget()])
    assert (headroom(plan).verdict, headroom(plan).rounds) == (BudgetVerdict.SERIAL, 3)
    assert [e.round for e in plan.evictions] == [1, 2, 3]
    assert plan.evictions[1].reason == "budget default/web lets 1 go at once: 2 of 3"


@pytest.mark.parametrize(
    ("replicas", "rule"),
    [
        (3, {"max_unavailable": 0}),
        (3, {"max_unavailable": "0%"}),
        (3, {"min_available": 3}),
        (3, {"min_available": "100%"}),
        (2, {"min_available": "75%"}),
        (3, {"min_available": "67%"}),
        (1, {"min_available": 1}),
    ],
    ids=str,
)
def test_blocked_for_ever(replicas: int, rule: dict[str, object]) -> None:
    budget = a_budget(allowed=0, expected=replicas, **rule)  # type: ignore[arg-type]
    plan = plan_of(pods=pods(replicas), workloads=web(replicas), budgets=[budget])
    assert headroom(plan).verdict is BudgetVerdict.BLOCKED_FOREVER
    assert finding(plan, "budget-never-allows").status is Status.FAIL
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    assert target(plan).verdict is TargetVerdict.SKIPPED
    assert target(plan).freed_by


def test_rounding_is_explained_and_the_right_number_of_replicas_advised() -> None:
    budget = a_budget(min_available="75%", allowed=0, expected=2)
    plan = plan_of(pods=pods(2), workloads=web(2), budgets=[budget])
    found = finding(plan, "budget-never-allows")
    assert "75% of 2 rounds up to 2" in found.message
    # 75 % of 3 is 3 again; 4 is the first that leaves one.
    assert found.remedy[0].command == "kubectl scale deployment web -n default --replicas=4"


def test_sync_failed_is_for_ever_though_the_api_says_wait() -> None:
    budget = a_budget(
        allowed=0, expected=0, condition_reason="SyncFailed", condition_message="no scale", observed_generation=0
    )
    job_pod = a_pod("web-x", owner="Job/web")
    plan = plan_of(pods=[job_pod], budgets=[budget], jobs=[a_job("web")])
    assert headroom(plan).verdict is BudgetVerdict.BLOCKED_FOREVER
    assert "Waiting does not help" in finding(plan, "budget-sync-failed").remedy[0].text


def test_unhealthy_pods_block_with_the_default_policy() -> None:
    budget = a_budget(min_available=2, allowed=0, current=0, desired=2)
    sick = pods(3, ready=False, not_ready_because="CrashLoopBackOff")
    plan = plan_of(pods=sick, budgets=[budget])
    assert headroom(plan).verdict is BudgetVerdict.UNHEALTHY
    assert any("CrashLoopBackOff" in line for line in finding(plan, "budget-unhealthy").evidence)


def test_unhealthy_pods_go_where_the_policy_always_allows() -> None:
    budget = a_budget(min_available=2, allowed=0, current=0, desired=2, unhealthy_policy="AlwaysAllow")
    plan = plan_of(pods=pods(3, ready=False), budgets=[budget])
    assert headroom(plan).verdict is BudgetVerdict.FITS
    assert plan.rounds == 1
    assert "allows it without counting it" in plan.evictions[0].reason


def test_an_unhealthy_pod_of_a_healthy_enough_application_goes_uncounted() -> None:
    budget = a_budget(min_available=2, allowed=0, current=2, desired=2)
    several = [*pods(2), a_pod("web-sick", ready=False)]
    plan = plan_of(pods=several, budgets=[budget], policy=DrainPolicy(partial=True))
    assert verdict_of(plan, "web-sick") is PodVerdict.EVICT
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    assert headroom(plan).verdict is BudgetVerdict.UNHEALTHY


def test_a_status_behind_its_spec_is_stale() -> None:
    plan = plan_of(budgets=[a_budget(generation=2)])
    assert headroom(plan).verdict is BudgetVerdict.STALE
    assert "generation 1" in finding(plan, "budget-stale").message


def test_granted_evictions_under_way_block_for_now() -> None:
    budget = a_budget(allowed=0, current=2, disrupted={"web-0": ago(10)})
    plan = plan_of(budgets=[budget])
    assert headroom(plan).verdict is BudgetVerdict.BLOCKED_NOW
    assert finding(plan, "budget-exhausted").remedy[0].command.endswith("-w")


def test_a_status_that_allows_less_than_its_pods_do_blocks_and_is_told() -> None:
    plan = plan_of(budgets=[a_budget(allowed=0, current=0, desired=2)])
    assert headroom(plan).verdict is BudgetVerdict.DISAGREES
    assert finding(plan, "budget-disagrees").status is Status.FAIL
    assert "eksdoc.io/touched" in finding(plan, "budget-disagrees").remedy[0].command


def test_a_status_that_allows_more_than_its_pods_do_is_not_believed() -> None:
    plan = plan_of(budgets=[a_budget(max_unavailable=1, allowed=3, current=3, desired=0)])
    assert headroom(plan).verdict is BudgetVerdict.DISAGREES
    assert headroom(plan).per_round == 1
    assert finding(plan, "budget-disagrees").status is Status.PASS
    assert plan.rounds == 3


def test_two_budgets_on_a_pod_are_refused_with_500() -> None:
    plan = plan_of(budgets=[a_budget("web"), a_budget("web-b", selector={"app": "web"})])
    assert {headroom(plan, name).verdict for name in ("web", "web-b")} == {BudgetVerdict.SEVERAL_BUDGETS}
    assert "500" in finding(plan, "pod-several-budgets").message
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED


def test_only_the_pods_under_both_budgets_are_refused() -> None:
    several = [*pods(2), *pods(1, app="other")]
    wide = a_budget("wide", selector="app in (web,other)", min_available=1, allowed=2, expected=3, desired=1)
    plan = plan_of(
        pods=several,
        workloads=[*WEB, a_workload("ReplicaSet/other", replicas=1)],
        budgets=[wide, a_budget(min_available=1, allowed=1, expected=2)],
        policy=DrainPolicy(partial=True),
    )
    assert verdict_of(plan, "other-0") is PodVerdict.EVICT
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED


def test_finished_and_starting_pods_do_not_use_the_budget() -> None:
    several = [a_pod("web-0", phase="Pending", ready=False), a_pod("web-1", phase="Failed", ready=False), *pods(1)]
    budget = a_budget(min_available=0, allowed=1, expected=3, current=1, desired=0)
    plan = plan_of(pods=several[:2], budgets=[budget])
    assert plan.rounds == 1
    assert headroom(plan).to_evict == 0


def test_budgets_that_were_not_read_make_their_pods_unknown_and_nothing_else() -> None:
    plan = plan_of(a_cluster(nodes=[a_node("old-0")], pods=pods(2), workloads=WEB, unread=[kinds.BUDGETS]))
    assert verdict_of(plan, "web-0") is PodVerdict.UNKNOWN
    assert target(plan).verdict is TargetVerdict.UNKNOWN
    assert codes(plan) == {"pod-budget"}
    assert plan.evictions == ()


def test_bare_pods_use_their_budget_up_for_good() -> None:
    bare = [a_pod(f"web-{i}", owner=None, labels={"app": "web"}) for i in range(3)]
    budget = a_budget(min_available=1, allowed=2, expected=3, desired=1)
    policy = DrainPolicy(force=True, partial=True)
    plan = plan_of(pods=bare, budgets=[budget], policy=policy)
    assert [e.round for e in plan.evictions] == [1, 1]
    assert verdict_of(plan, "web-2") is PodVerdict.BLOCKED
    assert "used up for good" in finding(plan, "budget-exhausted").message


def test_a_node_freed_of_a_skipped_neighbour_keeps_the_budget_for_itself() -> None:
    """A skipped node's pods are not evicted, so they take nothing of the budget they share."""
    several = [a_pod("web-0"), a_pod("web-1", node="old-1"), a_pod("web-2", node="new-0")]
    several.append(a_pod("stuck", owner=None, node="old-1"))
    plan = plan_of(nodes=[a_node("old-0"), a_node("old-1")], pods=several, budgets=[a_budget(expected=3, allowed=1)])
    assert [(e.pod.name, e.round) for e in plan.evictions] == [("web-0", 1)]
    assert verdict_of(plan, "web-1") is PodVerdict.HELD
    assert headroom(plan).to_evict == 1
