"""Nodes at which the update of a managed node group gives up after 15 minutes: which nodes, how certain, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import SlowNode
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.rollover_offers import ReplacementMethod, ReplacementOption
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, ago, pods
from tests.drain.planning import codes, finding, plan_of


def slow_of(plan: DrainPlan) -> tuple[SlowNode, ...]:
    assert plan.estimate is not None
    return plan.estimate.slow_nodes


def update(plan: DrainPlan) -> ReplacementOption:
    return next(
        option
        for handoff in plan.handoffs
        for option in handoff.instead
        if option.way is ReplacementMethod.GROUP_UPDATE
    )


def starting_in(seconds: float, count: int = 5, **more: Any) -> tuple[Pod, ...]:
    """Pods of one ReplicaSet, all on old-0, with that time from scheduling to Ready (to a second)."""
    return pods(count, scheduled_at=ago(9000), ready_at=ago(9000 - seconds), **more)


def test_in_the_upgrade_which_that_update_carries_out_it_fails() -> None:
    """This used to pass, as in a drain that waits, so that check proposed an update in place that fails."""
    cluster = a_cluster(
        nodes=[a_node("old-0"), a_roomy_node()],
        pods=starting_in(300),
        budgets=[a_budget("web", expected=5)],
        workloads=[a_workload(replicas=5)],
    )
    found = finding(build_plan(cluster, cluster.nodes[:1], DrainPolicy(), drained_by_eks=True), "node-slow")
    assert (found.status, found.severity, str(found.subject)) == (Status.FAIL, Severity.MEDIUM, "blue")
    assert found.message.startswith("its own update gives up at 1 of these nodes: it waits 15m00s")
    assert found.remedy[0].command == "kubectl eksdoc drain plan --nodegroup=blue"
    may = replace(cluster, pods=(a_pod("web-0", grace_seconds=1800),), budgets=(), workloads=())
    found = finding(build_plan(may, may.nodes[:1], DrainPolicy(), drained_by_eks=True), "node-slow")
    assert found.status is Status.PASS, "only where the pod takes all of its grace period"


def taking_turns(seconds: float, count: int = 5, grace_s: int = 30, **more: Any) -> DrainPlan:
    """The plan under a budget that allows one eviction at a time."""
    return plan_of(
        pods=starting_in(seconds, count, grace_seconds=grace_s),
        budgets=[a_budget("web", expected=count)],
        workloads=[a_workload(replicas=count)],
        **more,
    )


def test_an_update_that_no_ami_is_for_gives_up_nowhere() -> None:
    """EKS has no Amazon Linux 2 AMI for 1.33 (amis.json), so there is no update of the group that could give up."""
    plan = taking_turns(300, nodes=[a_node("old-0", os_image="Amazon Linux 2")])
    assert slow_of(plan) == () and "node-slow" not in codes(plan)


def test_a_budget_whose_pods_take_turns_is_named_with_them() -> None:
    plan = taking_turns(300)
    (slow,) = slow_of(plan)
    # Four pods are replaced (300 s, and 0.5 s until the budget shows it) before the fifth stops: half do so in 5.5 s.
    assert (slow.node, slow.group, slow.typical_s, slow.is_certain) == ("old-0", "blue", 4 * 300.5 + 30**0.5, True)
    assert (slow.budget, slow.at_once, len(slow.pods)) == ("default/web", 1, 5)
    found = finding(plan, "node-slow")
    assert (found.status, found.severity, str(found.subject)) == (Status.PASS, Severity.MEDIUM, "blue")
    assert found.message.startswith("its own update gives up at 1 of these nodes: it waits 15m00s")
    assert found.evidence == (
        "node old-0 takes at least 20m07s alone: budget default/web lets 1 of its 5 pods on this node go at a time",
    )
    assert [r.text for r in found.remedy][1:] == ["Let more pods of budget default/web be away at a time."]
    own = update(taking_turns(300, grace_s=900))
    assert len(own.stopped_by) == 5 and own.may_be_stopped_by == (), "what surely stops it is not told twice"


@pytest.mark.parametrize(("grace", "slow"), [(1800, True), (900, True), (899, False)])
def test_one_pod_with_a_long_grace_period_may_take_too_long(grace: int, slow: bool) -> None:
    plan = plan_of(pods=[a_pod("web-0", grace_seconds=grace), a_pod("web-1")])
    assert ("node-slow" in codes(plan)) is slow
    if not slow:
        assert slow_of(plan) == () and update(plan).may_be_stopped_by == ()
        return
    (found,) = slow_of(plan)
    assert (found.is_certain, found.typical_s, found.slow_s, found.pods) == (
        False,
        grace**0.5,
        grace,
        ("default/web-0",),
    )
    assert "its own update may give up at 1 of these nodes" in finding(plan, "node-slow").message
    assert finding(plan, "node-slow").evidence == (
        f"node old-0 takes at least {grace // 60}m00s alone if its pods are slow: pod default/web-0 has a grace "
        f"period of {grace // 60}m00s",
    )
    assert update(plan).may_be_stopped_by == ("default/web-0",)
    assert "old-0, with slow pods, takes at least" in update(plan).waits


def test_slow_pods_alone_can_make_turns_too_long() -> None:
    quick = starting_in(60, 4)
    late = pods(5, scheduled_at=ago(9000), ready_at=ago(9000 - 290))[4:]
    plan = plan_of(pods=[*quick, *late], budgets=[a_budget("web", expected=5)], workloads=[a_workload(replicas=5)])
    (slow,) = slow_of(plan)
    assert (slow.is_certain, slow.typical_s, slow.budget) == (False, 4 * 60.5 + 30**0.5, "default/web")
    assert slow.slow_s >= 900
    assert update(plan).may_be_stopped_by == tuple(f"default/web-{i}" for i in range(5))
    assert update(plan).stopped_by == ()


def test_quick_turns_and_enough_slots_are_fast_enough() -> None:
    assert slow_of(taking_turns(200)) == ()
    wide = plan_of(
        pods=starting_in(300),
        budgets=[a_budget("web", max_unavailable=5, allowed=5, expected=5)],
        workloads=[a_workload(replicas=5)],
    )
    assert slow_of(wide) == ()


def test_only_managed_groups_have_such_an_update() -> None:
    assert slow_of(taking_turns(300, nodes=[a_node("old-0", group="")])) == ()


@pytest.mark.parametrize(
    "policy",
    [
        DrainPolicy(soft_budget=20),
        DrainPolicy(evictions_per_second=0.003),
        DrainPolicy(grace_seconds=1800),
    ],
)
def test_what_only_this_drain_minds_does_not_slow_the_update(policy: DrainPolicy) -> None:
    plan = plan_of(pods=starting_in(300), workloads=[a_workload(replicas=5)], policy=policy)
    assert plan.estimate is not None and plan.estimate.p95_s >= 900
    assert slow_of(plan) == ()


def test_the_update_does_not_wait_with_system_critical_pods() -> None:
    """Our drain evicts critical pods after the other pods of the node are gone: up to nine minutes, and then nine
    more."""
    plan = plan_of(
        pods=[a_pod("web-0", grace_seconds=540), a_pod("web-1", grace_seconds=540, priority=2_000_000_000)],
        policy=DrainPolicy(),
    )
    assert plan.estimate is not None
    first, then = plan.estimate.moves
    assert (first.uid, then.uid) == ("uid-pod-default-web-0", "uid-pod-default-web-1")
    assert then.evicted_s >= first.gone_s
    assert slow_of(plan) == ()
    long = plan_of(pods=[a_pod("web-0", grace_seconds=600), a_pod("web-1", grace_seconds=1000, priority=2_000_000_000)])
    assert [node.slow_s for node in slow_of(long)] == [1000]


def test_several_nodes_are_one_finding_the_slowest_first() -> None:
    named = [a_node(f"old-{i}") for i in range(3)]
    held = [a_pod(f"web-{i}", node=f"old-{i}", grace_seconds=900 * (i + 1)) for i in range(3)]
    plan = plan_of(nodes=named, pods=held)
    assert [node.node for node in slow_of(plan)] == ["old-2", "old-1", "old-0"]
    assert len(finding(plan, "node-slow").evidence) == 3
    assert update(plan).waits.endswith("; so it is with 2 more")
