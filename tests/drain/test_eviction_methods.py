"""Pods that are not evicted within their budget: they are restarted, deleted past the budget, or waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.budget_verdicts import check_past_budget_pods
from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import PLAIN_EVICTION, DrainPolicy, EvictionMethod, EvictionMode
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.drain.report.verdict import estimate_lines
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.placement import (
    PersistentVolumeClaim,
    Placement,
    PodAffinityTerm,
    ResourceRequests,
    StorageClass,
)
from kubectl_eksdoc.model.selectors import from_parts
from kubectl_eksdoc.model.workloads import Workload
from tests.builders import a_budget, a_claimed, a_cluster, a_job, a_node, a_pod, a_roomy_node, a_workload, ago, pods
from tests.drain.planning import WEB, codes, finding, headroom, plan_of, target, verdict_of
from tests.drain.small_clusters import small, targets_of

SURGES = DrainPolicy(surge_singles=True)
ZONE = "topology.kubernetes.io/zone"
MINE = from_parts({"app": "web"})


def of_one(**deployment: Any) -> tuple[Workload, Workload]:
    """Deployment web of one replica, and its ReplicaSet."""
    return (
        a_workload("ReplicaSet/web", replicas=1, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=1, **({"surges": True} | deployment)),
    )


def single(policy: DrainPolicy = SURGES, pod: Pod | None = None, more: Any = None, **deployment: Any) -> DrainPlan:
    """Deployment web of one replica under a budget of minAvailable 1."""
    facts = {"budgets": [a_budget(min_available=1, allowed=0, expected=1)]} | (more or {})
    return plan_of(pods=[pod or a_pod("web-0")], workloads=of_one(**deployment), policy=policy, **facts)


def test_without_the_flag_its_budget_blocks_and_the_flag_is_advised() -> None:
    plan = single(DrainPolicy())
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    for code in ("budget-never-allows", "single-replica"):
        assert any("--surge-singles" in remedy.text for remedy in finding(plan, code).remedy)


def test_it_is_restarted_and_its_budget_is_in_the_way_of_nothing() -> None:
    plan = single()
    (eviction,) = plan.evictions
    assert plan.restarts == (eviction,)
    assert eviction.eviction_mode.means is EvictionMethod.RESTART
    assert eviction.eviction_mode.restarts is not None and eviction.eviction_mode.restarts.key == "default/web"
    assert (eviction.budget, eviction.limits, eviction.lands_on) == ("", (), "roomy")
    assert "restart of Deployment web" in eviction.reason
    assert target(plan).verdict is TargetVerdict.DRAINS
    assert (headroom(plan).verdict, headroom(plan).to_evict) == (BudgetVerdict.FITS, 0)
    assert codes(plan) == {"single-replica"} and not plan.blockers
    assert finding(plan, "single-replica").severity is Severity.LOW


def test_the_new_pod_starts_first_and_nobody_is_away() -> None:
    moment = {"scheduled_at": ago(3600), "ready_at": ago(3561)}  # it took 40 s to start
    plan = single(pod=a_pod("web-0", **moment))
    estimate = plan.estimate
    assert estimate is not None
    (moved,) = estimate.moves
    assert moved.ready_s is not None and moved.gone_s > moved.ready_s + 1
    assert estimate.peak_away == 0
    assert estimate.p50_s == moved.gone_s + 10 == estimate.bounds[0].seconds
    assert estimate.bounds[0].subject == "default/web-0"


def test_with_an_absolute_rule_over_several_workloads_only_it_goes_uncounted() -> None:
    both = {"role": "shop"}
    others = [
        a_workload("ReplicaSet/api", replicas=3, owner="Deployment/api"),
        a_workload("Deployment/api", replicas=3, surges=True),
        a_workload("ReplicaSet/web", replicas=1, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=1, surges=True),
    ]
    every = [a_pod("web-0", labels=both), *pods(3, "api", labels=both)]
    budget = a_budget(selector=both, min_available=3, allowed=1, expected=4)
    plan = plan_of(pods=every, workloads=others, budgets=[budget], policy=SURGES)
    assert (headroom(plan).to_evict, headroom(plan).rounds) == (3, 3)
    assert [e.pod.name for e in plan.restarts] == ["web-0"]


@pytest.mark.parametrize(
    ("deployment", "why"),
    [
        ({"surges": False}, "Recreate, or maxSurge 0"),
        ({"rollout_unavailable": 1}, "maxUnavailable 1"),
        ({"paused": True}, "paused"),
    ],
)
def test_what_cannot_surge_stays_what_it_is(deployment: dict[str, Any], why: str) -> None:
    plan = single(**deployment)
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    assert why in finding(plan, "single-replica").message
    assert not plan.restarts


def test_a_stateful_set_starts_nothing_first() -> None:
    pod = a_pod("db-0", owner="StatefulSet/db")
    plan = plan_of(pods=[pod], workloads=[a_workload("StatefulSet/db", replicas=1)], policy=SURGES)
    assert verdict_of(plan, "db-0") is PodVerdict.EVICT and not plan.restarts
    assert "StatefulSet starts the new pod only after" in finding(plan, "single-replica").message


@pytest.mark.parametrize(("shared", "goes"), [(True, True), (False, False)])
def test_a_volume_for_one_node_at_a_time_would_keep_the_new_pod_waiting(shared: bool, goes: bool) -> None:
    facts = {
        "claims": [PersistentVolumeClaim("default", "data", storage_class="gp3", shared=shared)],
        "storage_classes": [StorageClass("gp3", binding_mode="WaitForFirstConsumer")],
    }
    plan = single(pod=a_pod("web-0", volumes=(a_claimed("data"),)), more=facts)
    assert bool(plan.restarts) is goes
    if not goes:
        assert "claim data is for one node at a time" in finding(plan, "single-replica").message


@pytest.mark.parametrize(("of", "elsewhere", "goes"), [("web", "a", False), ("web", "b", True), ("api", "a", True)])
def test_one_that_bears_none_of_its_kind_in_its_zone_needs_another(of: str, elsewhere: str, goes: bool) -> None:
    pod = a_pod("web-0", placement=Placement(anti_affinity=(PodAffinityTerm(ZONE, from_parts({"app": of})),)))
    nodes = [a_node("old-0", labels={ZONE: "a"}), replace(a_roomy_node(), labels={ZONE: elsewhere})]
    assert bool(single(pod=pod, more={"nodes": nodes, "roomy": False}).restarts) is goes


def test_claims_that_were_not_read_are_no_pass() -> None:
    cluster = a_cluster(
        nodes=[a_node("old-0")],
        pods=[a_pod("web-0", volumes=(a_claimed("data"),))],
        workloads=of_one(),
        unread=[kinds.CLAIMS],
    )
    plan = plan_of(cluster, policy=SURGES)
    assert not plan.restarts
    assert "persistentvolumeclaims were not read" in finding(plan, "single-replica").message


def test_one_that_is_not_ready_is_not_worth_a_rollout() -> None:
    plan = single(pod=a_pod("web-0", ready=False), more={"budgets": ()})
    assert not plan.restarts and verdict_of(plan, "web-0") is PodVerdict.EVICT


def test_it_lands_while_the_old_one_is_still_there() -> None:
    """There are two zones; in the old pod's zone the only node takes no second pod of its kind."""
    alone = Placement(ResourceRequests(cpu=100), anti_affinity=(PodAffinityTerm(ZONE, MINE),))
    room = {"cpu": 10_000, "memory": 1 << 40, "ephemeral-storage": 1 << 40, "pods": 50}
    beside = a_node("a-0", group="green", labels={ZONE: "a"}, allocatable=room | {"cpu": 90_000})
    apart = a_node("b-0", group="green", labels={ZONE: "b"}, allocatable=room)
    old = a_node("old-0", labels={ZONE: "a"})
    facts: dict[str, Any] = {
        "nodes": [old, beside, apart],
        "pods": [a_pod("web-0", placement=alone)],
        "workloads": of_one(),
        "roomy": False,
    }
    assert [e.lands_on for e in plan_of(**facts).evictions] == ["a-0"], "an evicted one has gone by then"
    assert [e.lands_on for e in plan_of(policy=SURGES, **facts).evictions] == ["b-0"]


def with_deployments(seed: int) -> Cluster:
    """A small cluster whose ReplicaSets all belong to Deployments with maxSurge."""
    cluster = small(seed)
    made = [w for w in cluster.workloads if w.kind == "ReplicaSet"]
    above = [a_workload(f"Deployment/{w.name}", w.namespace, replicas=w.replicas, surges=True) for w in made]
    below = [
        replace(w, owner=ControllerOwner("Deployment", w.name, top.uid, "apps"))
        for w, top in zip(made, above, strict=True)
    ]
    others = [w for w in cluster.workloads if w.kind != "ReplicaSet"]
    return replace(cluster, workloads=(*others, *below, *above))


@settings(max_examples=20)
@given(seed=st.integers(0, 400))
@example(331)
@example(375)
@pytest.mark.long
def test_singles_are_all_that_differs(seed: int) -> None:
    """In any small cluster the flag changes only how single replicas are evicted, and blocks no pod that was evicted
    without it."""
    cluster = with_deployments(seed)
    with_flag = build_plan(cluster, targets_of(cluster), SURGES)
    for eviction in with_flag.evictions:
        restarts = eviction.eviction_mode.restarts
        assert (restarts is not None) == (eviction.eviction_mode.means is EvictionMethod.RESTART)
        if restarts is not None:
            assert restarts.replicas == 1 and not eviction.limits
    without = build_plan(cluster, targets_of(cluster), DrainPolicy())
    if not with_flag.restarts:
        assert with_flag.evictions == without.evictions
    assert all(f.status is not Status.FAIL or f.code.name != "single-replica" for f in with_flag.findings)


def test_a_single_that_finds_no_place_beside_itself_is_evicted_and_the_plan_says_why() -> None:
    cluster = with_deployments(331)
    plan = build_plan(cluster, targets_of(cluster), SURGES)
    (single,) = [e for e in plan.evictions if e.pod.name == "app0-0"]
    (said,) = [f.message for f in plan.findings if f.code.name == "single-replica"]
    assert single.eviction_mode.means is EvictionMethod.EVICT
    assert said.endswith("it is not restarted instead: no node has a place for a second one while it is there")


NEVER = a_budget(min_available=1, allowed=0, expected=1)


def naming(*names: str) -> DrainPolicy:
    return DrainPolicy(delete_past_budget=frozenset(f"default/{name}" for name in names))


def test_a_named_pod_is_deleted_and_what_it_costs_is_said() -> None:
    facts = {"pods": pods(1), "workloads": [a_workload(replicas=1)], "budgets": [NEVER]}
    assert verdict_of(plan_of(**facts), "web-0") is PodVerdict.BLOCKED
    plan = plan_of(policy=naming("web-0"), **facts)
    (deleted,) = plan.past_budgets
    assert (deleted.pod.name, deleted.eviction_mode.means, deleted.limits) == ("web-0", EvictionMethod.DELETE, ())
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
        check_past_budget_pods(a_cluster(pods=pods(2)), naming("web-9"))
    assert "default/web-" in str(error.value.hint)
    check_past_budget_pods(a_cluster(pods=pods(2)), naming("web-1"))


def softly(percent: int | None, replicas: int = 8, **facts: object) -> DrainPlan:
    """Plan with a soft budget: all replicas of a Deployment without a budget are on one node."""
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
    """Pods of Jobs run to their end, and a pod that is not Ready serves no traffic."""
    unready = softly(1, replicas=3, pods=pods(3, ready=False))
    jobs = softly(1, pods=[a_pod(f"etl-{i}", owner="Job/etl") for i in range(3)], jobs=[a_job("etl", backoff_limit=6)])
    assert [plan.rounds for plan in (unready, jobs)] == [1, 1]


WAITS = DrainPolicy(wait_jobs=1800)
ETL = a_pod("etl-x", owner="Job/etl")


def test_its_time_counts_in_full_and_is_said() -> None:
    plan = plan_of(pods=[ETL, *pods(1)], jobs=[a_job()], workloads=WEB, policy=WAITS)
    manners = {e.pod.name: e.eviction_mode for e in plan.evictions}
    assert manners == {"etl-x": EvictionMode(waits_s=1800.0), "web-0": PLAIN_EVICTION}
    estimate = plan.estimate
    assert estimate is not None
    moved = {each.uid: each for each in estimate.moves}
    assert moved[ETL.uid].evicted_s == 1800
    assert estimate.p50_s == moved[ETL.uid].gone_s + 10 == estimate.bounds[0].seconds
    assert estimate.lower_bounds[0].seconds == 10, "it may have finished at once"
    assert any("1 pod of a Job takes all of the 30m00s of --wait-jobs" in said for said in estimate.assumptions)
    assert "may finish, for up to 30m00s" in finding(plan, "job-loses-work").message
    assert "may finish for up to 30m00s first" in next(e.reason for e in plan.evictions if e.pod.name == "etl-x")


def test_without_the_flag_nothing_waits_and_it_is_advised() -> None:
    plan = plan_of(pods=[ETL], jobs=[a_job()])
    assert [e.eviction_mode for e in plan.evictions] == [PLAIN_EVICTION]
    assert any("--wait-jobs 30m" in remedy.text for remedy in finding(plan, "job-loses-work").remedy)


def test_one_whose_job_would_fail_is_only_waited_for() -> None:
    plan = plan_of(pods=[ETL], jobs=[a_job(backoff_limit=0)], policy=WAITS)
    (eviction,) = plan.evictions
    assert eviction.eviction_mode == EvictionMode(EvictionMethod.WAIT, 1800.0)
    assert (eviction.limits, eviction.lands_on) == ((), "")
    found = finding(plan, "job-would-fail")
    assert found.status is Status.PASS and "never evicted" in found.message
    assert plan.estimate is not None and plan.estimate.p50_s == 1810
    assert not plan.blockers


def test_of_other_pods_and_finished_ones_nothing_is_waited_for() -> None:
    done = a_pod("etl-y", owner="Job/etl", phase="Succeeded")
    plan = plan_of(pods=[done, *pods(1)], jobs=[a_job()], workloads=WEB, policy=WAITS)
    assert {e.eviction_mode for e in plan.evictions} == {PLAIN_EVICTION}


def test_a_job_that_was_not_read_is_waited_for_too() -> None:
    cluster = a_cluster(nodes=[a_node("old-0")], pods=[ETL], unread=[kinds.JOBS])
    plan = plan_of(cluster, policy=WAITS)
    assert [e.eviction_mode.waits_s for e in plan.evictions] == [1800.0]
    assert verdict_of(plan, "etl-x") is PodVerdict.EVICT
