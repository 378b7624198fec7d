"""Verdicts on budgets: fits, serial, and every reason why a budget allows no eviction."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_budget, a_job, a_node, a_pod, a_workload, ago, pods
from tests.drain.planning import WEB, finding, headroom, plan_of, target, verdict_of


def web(replicas: int, **more: object) -> tuple[object, ...]:
    """Deployment web with that many replicas, and its ReplicaSet."""
    return (
        a_workload("ReplicaSet/web", replicas=replicas, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=replicas, **more),  # type: ignore[arg-type]
    )


def test_serial_says_how_many_rounds() -> None:
    plan = plan_of(budgets=[a_budget()])
    assert (headroom(plan).verdict, headroom(plan).rounds) == (BudgetVerdict.SERIAL, 3)
    assert [e.round for e in plan.evictions] == [1, 2, 3]
    assert plan.evictions[1].reason == "budget default/web lets 1 go at once: 2 of 3"


@pytest.mark.parametrize(
    ("replicas", "rule"),
    [
        (3, {"max_unavailable": "0%"}),
        (3, {"min_available": 3}),
        (2, {"min_available": "75%"}),
        (1, {"min_available": 1}),
    ],
    ids=str,
)
def test_blocked_for_ever(replicas: int, rule: dict[str, Any]) -> None:
    plan = plan_of(
        pods=pods(replicas), workloads=web(replicas), budgets=[a_budget(allowed=0, expected=replicas, **rule)]
    )
    assert headroom(plan).verdict is BudgetVerdict.BLOCKED_FOREVER
    assert finding(plan, "budget-never-allows").status is Status.FAIL
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    assert target(plan).verdict is TargetVerdict.SKIPPED and target(plan).freed_by


def test_rounding_is_explained_and_the_right_number_of_replicas_advised() -> None:
    budget = a_budget(min_available="75%", allowed=0, expected=2)
    found = finding(plan_of(pods=pods(2), workloads=web(2), budgets=[budget]), "budget-never-allows")
    assert "75% of 2 rounds up to 2" in found.message
    # 75 % of 3 is 3 again; 4 is the first that leaves one.
    assert found.remedy[0].command == "kubectl scale deployment web -n default --replicas=4"


SYNC_FAILED = a_budget(
    allowed=0, expected=0, condition_reason="SyncFailed", condition_message="no scale", observed_generation=0
)
SICK = pods(3, ready=False, not_ready_because="CrashLoopBackOff")
NONE_HEALTHY: dict[str, Any] = {"min_available": 2, "allowed": 0, "current": 0, "desired": 2}


@pytest.mark.parametrize(
    ("budget", "of", "verdict", "code", "status", "says"),
    [
        (
            SYNC_FAILED,
            (a_pod("web-x", owner="Job/web"),),
            "blocked-forever",
            "budget-sync-failed",
            "fail",
            "Waiting does",
        ),
        (a_budget(**NONE_HEALTHY), SICK, "unhealthy", "budget-unhealthy", "fail", "CrashLoopBackOff"),
        (a_budget(generation=2), pods(3), "stale", "budget-stale", "fail", "generation 1"),
        (
            a_budget(allowed=0, current=2, disrupted={"web-0": ago(10)}),
            pods(3),
            "blocked-now",
            "budget-exhausted",
            "fail",
            " -w",
        ),
        (
            a_budget(allowed=0, current=0, desired=2),
            pods(3),
            "disagrees",
            "budget-disagrees",
            "fail",
            "eksdoc.io/touched",
        ),
        (a_budget(allowed=3, current=3, desired=0), pods(3), "disagrees", "budget-disagrees", "pass", ""),
    ],
    ids=str,
)
def test_what_lets_none_go_for_now_or_ever_is_told(
    budget: Budget, of: tuple[Pod, ...], verdict: str, code: str, status: str, says: str
) -> None:
    plan = plan_of(pods=of, budgets=[budget], jobs=[a_job("web")])
    found = finding(plan, code)
    assert (headroom(plan).verdict.value, found.status.value) == (verdict, status)
    assert says in f"{found.message} {found.remedy} {found.evidence}"
    if status == "pass":
        assert headroom(plan).per_round == 1 and plan.rounds == 3, "a status that allows more is not believed"


def test_unhealthy_pods_go_where_the_policy_always_allows() -> None:
    plan = plan_of(pods=SICK, budgets=[a_budget(unhealthy_policy="AlwaysAllow", **NONE_HEALTHY)])
    assert (headroom(plan).verdict, plan.rounds) == (BudgetVerdict.FITS, 1)
    assert "allows it without counting it" in plan.evictions[0].reason


def test_an_unhealthy_pod_of_a_healthy_enough_application_goes_uncounted() -> None:
    budget = a_budget(min_available=2, allowed=0, current=2, desired=2)
    several = [*pods(2), a_pod("web-sick", ready=False)]
    plan = plan_of(pods=several, budgets=[budget], policy=DrainPolicy(partial=True))
    assert (verdict_of(plan, "web-sick"), verdict_of(plan, "web-0")) == (PodVerdict.EVICT, PodVerdict.BLOCKED)
    assert headroom(plan).verdict is BudgetVerdict.UNHEALTHY
    assert headroom(plan).why.endswith("; 1 of its 3 pods not Ready")


def test_only_the_pods_under_both_budgets_are_refused() -> None:
    wide = a_budget("wide", selector="app in (web,other)", min_available=1, allowed=2, expected=3, desired=1)
    plan = plan_of(
        pods=[*pods(2), *pods(1, app="other")],
        workloads=[*WEB, a_workload("ReplicaSet/other", replicas=1)],
        budgets=[wide, a_budget(min_available=1, allowed=2, expected=2)],
        policy=DrainPolicy(partial=True),
    )
    assert (headroom(plan).also, headroom(plan, "wide").also) == ((BudgetVerdict.DISAGREES,), ())
    assert {headroom(plan, name).verdict for name in ("web", "wide")} == {BudgetVerdict.SEVERAL_BUDGETS}
    assert "500" in finding(plan, "pod-several-budgets").message
    assert (verdict_of(plan, "other-0"), verdict_of(plan, "web-0")) == (PodVerdict.EVICT, PodVerdict.BLOCKED)


def test_finished_and_starting_pods_do_not_use_the_budget() -> None:
    several = [a_pod("web-0", phase="Pending", ready=False), a_pod("web-1", phase="Failed", ready=False)]
    plan = plan_of(pods=several, budgets=[a_budget(min_available=0, allowed=1, expected=3, current=1, desired=0)])
    assert (plan.rounds, headroom(plan).to_evict) == (1, 0)


def test_bare_pods_use_their_budget_up_for_good() -> None:
    bare = [a_pod(f"web-{i}", owner=None, labels={"app": "web"}) for i in range(3)]
    budget = a_budget(min_available=1, allowed=2, expected=3, desired=1)
    plan = plan_of(pods=bare, budgets=[budget], policy=DrainPolicy(force=True, partial=True))
    assert [e.round for e in plan.evictions] == [1, 1]
    assert verdict_of(plan, "web-2") is PodVerdict.BLOCKED
    assert "used up for good" in finding(plan, "budget-exhausted").message


def test_a_node_freed_of_a_skipped_neighbour_keeps_the_budget_for_itself() -> None:
    """A skipped node's pods are not evicted, so they use no slot of the budget that they share."""
    several = [a_pod("web-0"), a_pod("web-1", node="old-1"), a_pod("web-2", node="new-0")]
    several.append(a_pod("stuck", owner=None, node="old-1"))
    plan = plan_of(nodes=[a_node("old-0"), a_node("old-1")], pods=several, budgets=[a_budget(expected=3, allowed=1)])
    assert [(e.pod.name, e.round) for e in plan.evictions] == [("web-0", 1)]
    assert verdict_of(plan, "web-1") is PodVerdict.HELD and headroom(plan).to_evict == 1
