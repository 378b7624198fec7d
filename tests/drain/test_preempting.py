"""Pods without a place that would push others out: who goes, what it means for the plan, and where the search ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.landing import preempting
from kubectl_eksdoc.drain.outcome import PodVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import NodePool, PriorityClass
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placing import Placement, Requests
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_workload
from tests.drain.planning import codes, finding, plan_of, verdict_of

GIB = 1 << 30
POOL = {"karpenter.sh/nodepool": "general"}


def a_room(name: str, cpu: int, **more: Any) -> Node:
    room = {"cpu": cpu * 1000, "memory": 64 * GIB, "ephemeral-storage": 64 * GIB, "pods": 58}
    return a_node(name, group="", allocatable=room, **more)


def asking(name: str, cpu: int, node: str = "new-0", *, priority: int = 0, app: str = "low", **more: Any) -> Pod:
    placement = more.pop("placement", Placement(Requests(cpu=cpu * 1000)))
    return a_pod(name, node=node, owner=f"ReplicaSet/{app}", priority=priority, placement=placement, **more)


HIGH = asking("high-0", 2, "old-0", priority=1000, app="high")


def full(*more: Pod, grows: bool = False, high: Pod = HIGH, room: int = 4, **facts: Any) -> DrainPlan:
    """The pod high-0 on old-0, and one other node, new-0, that is full of two pods low-0 and low-1 of priority 0.

    `grows`: Karpenter adds more nodes like new-0.
    """
    low = [asking("low-0", 2), asking("low-1", 2)]
    new = a_room("new-0", room, labels=POOL if grows else {})
    given = {
        "nodes": [a_node("old-0"), new],
        "pods": [high, *low, *more],
        "workloads": [a_workload("ReplicaSet/high", replicas=1), a_workload("ReplicaSet/low", replicas=2)],
        "node_pools": [NodePool("general")] if grows else [],
    } | facts
    return plan_of(a_cluster(**given), roomy=False)


def test_who_waits_for_a_new_node_pushes_others_out_meanwhile() -> None:
    plan = full(grows=True, priority_classes=[PriorityClass("gold", 1000), PriorityClass("none", 0)])
    assert verdict_of(plan, "high-0") is PodVerdict.EVICT
    found = finding(plan, "placement-preempts")
    assert (found.status, found.severity, str(found.subject)) == (Status.FAIL, Severity.HIGH, "default/high")
    assert found.message == (
        "while its replacements wait for a new node (priority 1000 (gold)), the scheduler deletes others for the first "
        "of them: 1 pod of lower priority, 0 beyond what their budgets allow"
    )
    assert found.evidence == (
        "pod default/high-0 on old-0",
        "deletes pod default/low-1 on new-0: priority 0 (none), no budget",
    )


def test_a_blocked_pod_stays_blocked_and_what_it_would_do_is_remarked() -> None:
    plan = full()
    assert verdict_of(plan, "high-0") is PodVerdict.BLOCKED
    assert plan.evictions == ()
    found = finding(plan, "placement-preempts")
    assert (found.status, found.severity) == (Status.PASS, Severity.HIGH)
    assert "they stay, since there is no place for them; evicted all the same" in found.message


@pytest.mark.parametrize(("allowed", "said", "beyond"), [(0, "beyond", 1), (1, "within", 0)])
def test_the_victims_budgets_are_named(allowed: int, said: str, beyond: int) -> None:
    plan = full(grows=True, budgets=[a_budget("low", allowed=allowed, expected=2)])
    found = finding(plan, "placement-preempts")
    assert f"{beyond} beyond what their budgets allow" in found.message
    assert found.evidence[1].endswith(f"{said} budget default/low, which allows {allowed} now")


def test_unread_budgets_are_said() -> None:
    """Only pods that the eviction endpoint asks no budget for go then: those that have not started."""
    found = finding(
        full(high=replace(HIGH, phase="Pending", ready=False), unread=[kinds.BUDGETS]), "placement-preempts"
    )
    assert found.evidence[1].endswith("and its budgets were not read")


@pytest.mark.parametrize(
    "high",
    [
        replace(HIGH, preempts=False),
        replace(HIGH, priority=0),
        replace(HIGH, placement=Placement(Requests(cpu=5000))),
        replace(HIGH, placement=Placement(Requests(cpu=2000), scheduler="volcano")),
    ],
    ids=["preemptionPolicy Never", "no lower priority", "too large for the node", "another scheduler"],
)
def test_who_pushes_nobody_out(high: Pod) -> None:
    plan = full(high=high)
    assert "placement-preempts" not in codes(plan)
    assert verdict_of(plan, "high-0") is PodVerdict.BLOCKED


def test_the_node_with_the_least_harm_is_taken() -> None:
    dear = asking("dear-0", 4, "new-1", priority=10, app="dear")
    kept = asking("kept-0", 4, "new-2", app="kept")
    nodes = [a_node("old-0"), a_room("new-0", 4), a_room("new-1", 4), a_room("new-2", 4)]
    budgets = [a_budget("kept", allowed=0, expected=1), a_budget("low", allowed=0, expected=2)]
    plan = full(dear, kept, nodes=nodes, budgets=budgets)
    assert (
        finding(plan, "placement-preempts").evidence[1].startswith("deletes pod default/dear-0 on new-1: priority 10")
    )


def test_replacements_that_were_placed_before_can_be_pushed_out() -> None:
    cluster = a_cluster(
        nodes=[a_node("old-0"), a_node("old-1"), a_room("new-0", 4)],
        pods=[HIGH, asking("low-9", 4, "old-1")],
        workloads=[a_workload("ReplicaSet/high", replicas=1), a_workload("ReplicaSet/low", replicas=1)],
    )
    plan = plan_of(cluster, policy=DrainPolicy(order_nodes=("old-1", "old-0")), roomy=False)
    assert [e.pod.name for e in plan.evictions] == ["low-9"]
    found = finding(plan, "placement-preempts")
    assert found.evidence[1] == "deletes the replacement of pod default/low-9 on new-0: priority 0, no budget"


def test_replicas_are_one_finding() -> None:
    plan = full(replace(HIGH, name="high-1", uid="high-1"))
    assert finding(plan, "placement-preempts").evidence[0] == "pod default/high-0 on old-0, and 1 more like it"


def test_one_that_is_evicted_is_enough_to_fail() -> None:
    """Karpenter may add one more node: the first replica waits for it, the second stays."""
    pool = NodePool("general", (("cpu", "8"),))
    huge = [asking(f"high-{i}", 4, f"old-{i}", priority=1000, app="high") for i in range(2)]
    nodes = [a_node("old-0"), a_node("old-1"), a_room("new-0", 4, labels=POOL)]
    plan = full(nodes=nodes, pods=[*huge, asking("low-0", 4)], node_pools=[pool])
    assert len(plan.evictions) == 1
    assert finding(plan, "placement-preempts").status is Status.FAIL


def test_the_most_important_are_examined_first_and_the_least_not_at_all() -> None:
    """Those with nobody below them need no examination, however many kinds they are."""
    many = range(preempting.MOST_KINDS + 3)
    lowest = [asking(f"app{i}-0", 2, "old-0", app=f"app{i}") for i in many]
    assert "placement-preempts" not in codes(full(pods=[*lowest, asking("low-0", 2), asking("low-1", 2)]))
    rising = [asking(f"app{i}-0", 2, "old-0", priority=i + 1, app=f"app{i}") for i in many]
    plan = full(pods=[*rising, asking("low-0", 2), asking("low-1", 2)])
    (unknown,) = (f for f in plan.unknowns if f.code.name == "placement-preempts")
    assert sorted(unknown.evidence) == [f"pod default/app{i}-0 on old-0" for i in range(3)]


def test_with_too_many_nodes_the_rest_is_unknown_or_said() -> None:
    many = [a_room(f"new-{i}", 4) for i in range(preempting.MOST_NODES + 1)]
    there = [asking(f"low-{i}", 4, node.name) for i, node in enumerate(many)]
    plan = full(nodes=[a_node("old-0"), *many], pods=[HIGH, *there])
    assert "only the first 200 nodes were tried" in finding(plan, "placement-preempts").evidence[1]
    # The first 200 do not help, since what fills them is more important; nobody knows of the last one.
    stuck = [asking(f"mid-{i}", 3, node.name, priority=2000, app="mid") for i, node in enumerate(many[:-1])]
    tiny = [asking(f"tiny-{i}", 1, node.name) for i, node in enumerate(many[:-1])]
    plan = full(nodes=[a_node("old-0"), *many], pods=[HIGH, *stuck, *tiny, there[-1]])
    found = finding(plan, "placement-preempts")
    assert (found.status, found.evidence) == (Status.UNKNOWN, ("pod default/high-0 on old-0",))
