"""A budget still counts a pod as evicted after a pod of the same name returned: the run reports when that ends, waits
for it, and includes it in the estimate."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.progress import run_progress
from kubectl_eksdoc.drain.run.remaining import RemainingTime
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.kubernetes.budgets import DELETION_TIMEOUT, SameNameHold, same_name_holds
from kubectl_eksdoc.kubernetes.updates import BudgetChanged, PodChanged, PodRemoved, RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Evict
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status as Verdict
from kubectl_eksdoc.model.options import ALL
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, an_owner
from tests.drain.planning import codes, finding, plan_of
from tests.drain.run.instant_engine import Driven

DB = an_owner("StatefulSet/db")


def a_world(budget: Budget | None = None, created_s: float = 100.0) -> Cluster:
    pods = [a_pod(f"db-{i}", node="old-0", owner=DB, created_at=NOW - timedelta(days=1)) for i in (1, 2)]
    pods.append(a_pod("db-0", node="new-0", owner=DB, created_at=NOW - timedelta(seconds=created_s)))
    nodes = [a_node("old-0"), a_roomy_node("new-0")]
    held = budget or a_budget("db", allowed=1)
    return a_cluster(nodes=nodes, pods=pods, workloads=[a_workload("StatefulSet/db")], budgets=[held])


def held(granted_s: float) -> Budget:
    """The budget has counted db-0 as evicted since that time."""
    granted = NOW - timedelta(seconds=granted_s)
    return a_budget("db", allowed=0, current=2, desired=2, disrupted={"db-0": granted})


@pytest.mark.parametrize(
    ("granted_s", "created_s", "deleting", "holds"),
    [
        (30, 20, False, True),
        (30, 40, False, False),  # the pod itself, which is about to go
        (130, 20, False, False),  # over
        (30, 20, True, False),
    ],
)
def test_a_hold_is_a_pod_that_is_younger_than_the_grant(
    granted_s: float, created_s: float, deleting: bool, holds: bool
) -> None:
    deadline = NOW + timedelta(seconds=30) if deleting else None
    pod = a_pod("db-0", owner=DB, created_at=NOW - timedelta(seconds=created_s), deletion_deadline=deadline)
    until = NOW - timedelta(seconds=granted_s) + DELETION_TIMEOUT
    assert same_name_holds(held(granted_s), (pod,), NOW) == ((SameNameHold("db-0", until),) if holds else ())
    other = replace(pod, namespace="other")
    assert same_name_holds(held(granted_s), (other,), NOW) == ()


class Holding(Driven):
    """Evicts db-1; the budget counts the next db-1 as evicted for 2 minutes."""

    def __init__(self, limits: RunLimits = RunLimits()) -> None:
        super().__init__(a_world(), limits=limits, Evict=self._evict)

    def _evict(self, act: ClusterAction) -> list[RunUpdate]:
        assert isinstance(act, Evict)
        self._version += 3
        now, version = NOW + timedelta(seconds=self.now_s), self._version
        gone = [RequestAnswered(act, ApiStatus(201)), PodRemoved(act.pod.uid, version)]
        if act.pod.name != "db-1":
            return gone
        self.until_s = self.now_s + 120
        known = replace(held(0), disrupted={"db-1": now})
        back = replace(act.pod, uid="db-1-new", node="new-0", created_at=now + timedelta(seconds=2))
        return [*gone, BudgetChanged(known, version), PodChanged(back, version)]

    def freed(self) -> None:
        self._version += 1
        status = BudgetStatus(1, 3, 2, 3)
        self.hear(BudgetChanged(a_budget("db", allowed=1), self._version))
        assert self.engine.observed.budgets["default/db"].status == status


def test_it_is_told_once_with_its_end_and_waited_for() -> None:
    driven = Holding(RunLimits(blocked_s=30.0))
    driven.until(100)
    told = driven.told(DrainEventKind.HELD_BY_NAME)
    assert [subject for subject, _ in told] == ["default/db"]
    assert "counts db-1 as evicted" in told[0][1] and f"until {NOW + timedelta(seconds=120):%H:%M:%S}Z" in told[0][1]
    assert len(driven.of(Evict)) == 1 and not driven.told(DrainEventKind.KEPT), "it is not given up after 30 s"
    stood = run_progress(driven.engine, RemainingTime(driven.engine.plan), driven.now_s)
    assert [(each.pod, each.budget) for each in stood.waiting_pods] == [("default/db-2", "default/db")]
    assert "only time helps" in stood.waiting_pods[0].reason and "for 20s more" in stood.waiting_pods[0].reason
    assert [each.reason for each in stood.reasons] == [stood.waiting_pods[0].reason], "what a log says every minute"
    driven.until(121)
    driven.freed()
    driven.to_the_end()
    assert len(driven.of(Evict)) == 2 and driven.engine.not_drained == {}
    assert len(driven.told(DrainEventKind.HELD_BY_NAME)) == 1


def test_a_budget_that_stays_at_0_behind_its_hold_is_given_up_as_any() -> None:
    driven = Holding(RunLimits(blocked_s=30.0))
    driven.until(149)
    assert not driven.told(DrainEventKind.KEPT)
    driven.until(300)
    assert [subject for subject, _ in driven.told(DrainEventKind.KEPT)] == ["default/db-2"]


def test_what_is_left_of_the_hold_is_in_the_estimate() -> None:
    driven = Holding()
    driven.until(1)
    course = RemainingTime(driven.engine.plan)
    at_1_s, at_61_s = (run_progress(driven.engine, course, at_s).remaining_s for at_s in (1.0, 61.0))
    planned_s = course.planned_s
    assert at_1_s is not None and at_61_s is not None and planned_s is not None
    assert at_1_s > 119 and 59 < at_61_s < at_1_s


def test_a_plan_waits_for_the_hold_and_does_not_count_it_as_blocked() -> None:
    free, late = plan_of(a_world(), roomy=False), plan_of(a_world(held(30), created_s=20), roomy=False)
    assert [each.node.name for each in late.targets if each.order] == ["old-0"] and len(late.evictions) == 2
    assert finding(late, "budget-exhausted").status is Verdict.PASS
    assert "counts db-0 as evicted" in finding(late, "budget-exhausted").message
    assert "budget-exhausted" not in codes(free)
    assert free.estimate is not None and late.estimate is not None
    assert 80 <= late.estimate.p50_s - free.estimate.p50_s <= 91, "90 s are left of it"
    gated = DrainPolicy(max_unavailable=((ALL, IntOrPercent(1)),))
    waves, waves_free = (
        plan_of(world, roomy=False, policy=gated) for world in (a_world(held(30), created_s=20), a_world())
    )
    assert waves.estimate is not None and waves_free.estimate is not None
    assert waves.estimate.p50_s == waves_free.estimate.p50_s, "it may be over when a node of a later wave is begun"
    blocked = plan_of(a_world(held(30), created_s=40), roomy=False)
    assert not any(each.order for each in blocked.targets), "db-0 is about to go: that blocks, as before"
