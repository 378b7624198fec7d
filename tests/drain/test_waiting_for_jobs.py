"""Pods of Jobs that may finish before they are evicted (--wait-jobs): what the plan says of them and of the time."""

from __future__ import annotations

from kubectl_eksdoc.drain.outcome import PodVerdict
from kubectl_eksdoc.drain.policy import EVICTED, DrainPolicy, EvictionMode, Means
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Status
from tests.builders import a_cluster, a_job, a_node, a_pod, pods
from tests.drain.planning import WEB, finding, plan_of, verdict_of

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
