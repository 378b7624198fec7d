"""Placement of replacement pods in the plan, missing resources for pods without a place, and preempted pods."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain import preemption
from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.plan import WhatIfPlan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, NodePool, PriorityClass
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.kinds import CLAIMS, CSI_NODES, NAMESPACES, NODE_POOLS, VOLUME_ATTACHMENTS, Resource
from kubectl_eksdoc.model.nodes import Node, Pod, Taint
from kubectl_eksdoc.model.placement import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Placement,
    ResourceRequests,
    VolumeAttachment,
)
from tests.builders import a_budget, a_claimed, a_cluster, a_node, a_pod, a_roomy_node, a_workload
from tests.drain.planning import codes, finding, left, plan_of, target, verdict_of

GIB = 1 << 30


def a_room(name: str, cpu: int, group: str = "green", **more: Any) -> Node:
    """A node outside the targets with that many cores."""
    room = {"cpu": cpu * 1000, "memory": 64 * GIB, "ephemeral-storage": 64 * GIB, "pods": 58}
    return a_node(name, group=group, allocatable=room, **more)


def asking(name: str, cpu: int, node: str = "old-0", owner: str = "ReplicaSet/web", **more: Any) -> Pod:
    return a_pod(name, node=node, owner=owner, placement=Placement(ResourceRequests(cpu=cpu * 1000)), **more)


def short_of_room(**facts: Any) -> Any:
    """Two old nodes with two pods of one core each, and room for three."""
    pods = [asking(f"web-{i}", 1, f"old-{i // 2}") for i in range(4)]
    nodes = [a_node("old-0"), a_node("old-1"), a_room("new-0", 3), *facts.pop("more_nodes", [])]
    return a_cluster(nodes=nodes, pods=pods, workloads=[a_workload(replicas=4)], **facts)


def test_with_too_little_room_one_node_is_emptied_and_the_other_is_not_touched() -> None:
    plan = plan_of(short_of_room(), roomy=False)
    assert target(plan, "old-0").verdict is TargetVerdict.DRAINS
    assert target(plan, "old-1").verdict is TargetVerdict.SKIPPED
    assert {e.node for e in plan.evictions} == {"old-0"}
    missing = finding(plan, "needs-nodes")
    assert missing.status is Status.FAIL
    assert missing.message == "1 new node is needed for 1 of the targets' pods: 1 such as new-0"


@pytest.mark.parametrize("more", [{}, {"eks.amazonaws.com/compute-type": "auto"}], ids=["its own", "of Auto Mode"])
def test_karpenter_can_make_room(more: dict[str, str]) -> None:
    spot = replace(a_room("spot-0", 1), labels={"karpenter.sh/nodepool": "general", **more})
    full = asking("full", 1, "spot-0", owner="ReplicaSet/other")
    cluster = short_of_room(more_nodes=[spot], node_pools=[NodePool("general", (("cpu", "1000"),))])
    cluster = replace(cluster, pods=(*cluster.pods, full))
    plan = plan_of(cluster, roomy=False)
    assert len(plan.evictions) == 4
    missing = finding(plan, "needs-nodes")
    assert (missing.status, plan.blockers) == (Status.PASS, ())
    assert "1 such as spot-0" in missing.message
    assert "limited to cpu 1000" in missing.remedy[0].text


CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
POOL = {"labels": {"karpenter.sh/nodepool": "general"}}
OLD, WAITING = a_node("old-0"), asking("web-0", 1)
CORDONED: dict[str, Any] = {"unschedulable": True, "taints": (CORDON,)}
UNSCHEDULED = a_pod("web-0", placement=Placement(scheduler="volcano"))


@pytest.mark.parametrize(
    ("nodes", "pod", "facts", "code", "status", "verdict", "says"),
    [
        (
            [OLD, a_room("new-0", 9, taints=(Taint("gpu", "yes", "NoSchedule"),))],
            *(WAITING, {}, "no-place", "fail", "blocked"),
            ("1 × node(s) had untolerated taint(s)", "No new node"),
        ),
        ([a_room("old-0", 8)], WAITING, {}, "no-place", "fail", "blocked", ("Only nodes such as old-0",)),
        (
            [a_room("old-0", 8, "blue", version="v1.99.0"), a_room("new-0", 8, **CORDONED)],
            *(WAITING, {}, "needs-nodes", "fail", "blocked", ("1 such as new-0",)),
        ),
        (
            [replace(a_room("old-0", 8), **POOL)],
            *(WAITING, {"node_pools": [NodePool("general", (("cpu", "8"),))]}, "needs-nodes", "fail", "blocked"),
            ("limited to cpu 8",),
        ),
        (
            [OLD, replace(a_room("new-0", 8, **CORDONED), **POOL)],
            *(WAITING, {"unread": [NODE_POOLS]}, "needs-nodes", "unknown", "unknown", ("nodepools",)),
        ),
        ([OLD, a_node("new-0", allocatable={})], WAITING, {}, "placement-unsure", "unknown", "unknown", ("new-0",)),
        ([OLD, a_roomy_node()], UNSCHEDULED, {}, "placement-unsure", "unknown", "evict", ("volcano",)),
    ],
)
def test_what_a_pod_without_a_sure_place_is_told(
    nodes: list[Node], pod: Pod, facts: Any, code: str, status: str, verdict: str, says: tuple[str, ...]
) -> None:
    plan = plan_of(nodes=nodes, pods=[pod], workloads=[a_workload(replicas=1)], roomy=False, **facts)
    found = finding(plan, code)
    assert (found.status.value, verdict_of(plan, "web-0").value) == (status, verdict)
    assert all(text in f"{found.message} {found.remedy} {found.missing}" for text in says)


def test_finished_and_unreplaced_pods_need_no_place() -> None:
    done = asking("done", 64, owner="Job/etl", phase="Succeeded")
    bare = asking("bare", 64, owner=None)  # type: ignore[arg-type]
    plan = plan_of(pods=[done, bare], nodes=[a_node("old-0")], policy=DrainPolicy(force=True), roomy=False)
    assert len(plan.evictions) == 2
    assert "no-place" not in codes(plan)


def test_partial_evicts_those_that_have_a_place() -> None:
    plan = plan_of(short_of_room(), policy=DrainPolicy(partial=True), roomy=False)
    assert len(plan.evictions) == 3


def test_new_nodes_bring_their_daemons() -> None:
    """Four cores minus two for the agent leave room for two web pods on each node."""
    agent = asking("agent", 2, "new-0", owner="DaemonSet/agent")
    full = asking("full", 2, "new-0", owner="ReplicaSet/other")
    webs = [asking(f"web-{i}", 1) for i in range(4)]
    workloads = [a_workload(replicas=4), a_workload("DaemonSet/agent")]
    plan = plan_of(
        nodes=[a_node("old-0"), a_room("new-0", 4)], pods=[agent, full, *webs], workloads=workloads, roomy=False
    )
    assert finding(plan, "needs-nodes").message.startswith("2 new nodes are needed for 4")


EBS = "ebs.csi.aws.com"


def with_disks(limit: int, attached: int = 0, **facts: Any) -> Any:
    """Three pods of a StatefulSet with an EBS volume each on old-0, and new-0, which can attach `limit` volumes and has
    `attached` volumes attached that no pod uses."""
    names = [f"db-{i}" for i in range(3)]
    pods = [asking(n, 1, owner="StatefulSet/db", volumes=(a_claimed(f"data-{n}"),)) for n in names]
    strays = [f"stray-{i}" for i in range(attached)]
    return a_cluster(
        nodes=[a_node("old-0"), a_room("new-0", 9)],
        pods=[*pods, asking("web-0", 1)],
        workloads=[a_workload("StatefulSet/db", replicas=3), a_workload(replicas=1)],
        claims=[PersistentVolumeClaim("default", f"data-{n}", f"pv-{n}", "gp3") for n in names],
        volumes=[PersistentVolume(f"pv-{n}", f"u-{n}", driver=EBS, handle=f"vol-{n}") for n in (*names, *strays)],
        csi_nodes=[CSINode("new-0", ((EBS, limit),))],
        volume_attachments=[VolumeAttachment(f"va-{n}", "new-0", EBS, f"pv-{n}") for n in strays],
        **facts,
    )


@pytest.mark.parametrize(("limit", "attached", "drains"), [(3, 0, True), (2, 0, False), (5, 2, True), (5, 3, False)])
def test_a_node_attaches_only_so_many_volumes(limit: int, attached: int, drains: bool) -> None:
    plan = plan_of(with_disks(limit, attached), roomy=False)
    assert (target(plan).verdict is TargetVerdict.DRAINS) is drains
    assert ("needs-nodes" in codes(plan)) is not drains
    assert "placement-unsure" not in codes(plan)


def test_new_nodes_attach_no_more_than_those_they_are_like() -> None:
    plan = plan_of(with_disks(1, 1), roomy=False)
    assert finding(plan, "needs-nodes").message == "3 new nodes are needed for 3 of the targets' pods: 3 such as new-0"
    assert "node(s) exceed max volume count" in left(plan, "db-0").reason
    none = plan_of(with_disks(0), roomy=False)
    assert "1 × node(s) exceed max volume count" in finding(none, "no-place").message, "no new node helps"


@pytest.mark.parametrize("kind", [CSI_NODES, VOLUME_ATTACHMENTS])
def test_without_what_nodes_can_attach_the_landing_of_volumes_alone_is_unsure(kind: Resource) -> None:
    plan = plan_of(with_disks(9, unread=[kind]), roomy=False)
    unsure = [f for f in plan.findings if f.status is Status.UNKNOWN]
    assert {(f.code.name, f.subject.name, f.missing) for f in unsure} == {("placement-unsure", "db", kind.full_name)}
    assert kind in unsure[0].code.needs
    assert {verdict_of(plan, f"db-{i}") for i in range(3)} == {PodVerdict.EVICT}


def test_a_kind_that_is_missing_is_named_only_where_it_decides() -> None:
    """How another scheduler places a pod without volumes does not depend on those kinds."""
    pod = a_pod("web-0", placement=Placement(scheduler="volcano"))
    plan = plan_of(pods=[pod], unread=[CSI_NODES, CLAIMS, NAMESPACES])
    assert finding(plan, "placement-unsure").missing == "namespaces"


TWO_CORES = {"cpu": 2000, "memory": 64 * GIB, "ephemeral-storage": 64 * GIB, "pods": 58}
ONE_CORE = Placement(ResourceRequests(cpu=1000))


def full(nodes: int, **facts: Any) -> Cluster:
    """Nodes of two cores, each with two pods that request a core: no node has room for a pod of another node."""
    names = [f"old-{i}" for i in range(nodes)]
    pods = [a_pod(f"web-{i}", node=names[i // 2], placement=ONE_CORE) for i in range(2 * nodes)]
    every = [*(a_node(name, allocatable=TWO_CORES) for name in names), *facts.pop("more_nodes", ())]
    return a_cluster(nodes=every, pods=pods, workloads=[a_workload(replicas=2 * nodes)], **facts)


def surged(surge: int | None, nodes: int = 3, **policy: Any) -> DrainPlan:
    return plan_of(full(nodes), roomy=False, policy=DrainPolicy(surge=surge, **policy))


def drained(plan: DrainPlan) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(t.node.name, t.wave, t.needs) for t in plan.targets if t.order]


def landings(plan: DrainPlan) -> dict[str, set[str]]:
    """By node, the pods that are placed on it."""
    return {t.node.name: {e.lands_on for e in plan.evictions if e.node == t.node.name} for t in plan.targets}


def test_without_new_nodes_a_full_cluster_cannot_be_drained() -> None:
    assert drained(surged(None)) == drained(surged(0)) == []
    assert "(--surge 1)" in finding(surged(0), "needs-nodes").remedy[0].text


def test_with_one_new_node_each_lands_on_the_one_that_took_the_place_of_the_node_before() -> None:
    plan = surged(1, order="name")
    assert plan.uses_generations
    assert drained(plan) == [("old-0", 1, ()), ("old-1", 2, ("old-0",)), ("old-2", 3, ("old-1",))]
    (surge,) = landings(plan)["old-0"]
    assert surge.endswith(" (surge 1)")
    assert (landings(plan)["old-1"], landings(plan)["old-2"]) == ({"old-0 (new)"}, {"old-1 (new)"})


@pytest.mark.parametrize(("surge", "generations"), [(1, 6), (3, 2), (9, 1)])
def test_more_new_nodes_are_fewer_generations(surge: int, generations: int) -> None:
    plan = surged(surge, nodes=6)
    assert len(drained(plan)) == 6
    assert max(t.wave for t in plan.targets) == generations


def test_what_nothing_replaces_lands_nowhere() -> None:
    plan = plan_of(pods=[a_pod("bare", owner=None), a_pod("web-0")], policy=DrainPolicy(force=True))
    assert {e.pod.name: e.lands_on for e in plan.evictions} == {"bare": "", "web-0": "roomy"}


def one_of(name: str, cpu: int, node: str = "new-0", *, priority: int = 0, app: str = "low", **more: Any) -> Pod:
    placement = more.pop("placement", Placement(ResourceRequests(cpu=cpu * 1000)))
    return a_pod(name, node=node, owner=f"ReplicaSet/{app}", priority=priority, placement=placement, **more)


HIGH = one_of("high-0", 2, "old-0", priority=1000, app="high")


def crowded(*more: Pod, **facts: Any) -> DrainPlan:
    return plan_of(crowd(*more, **facts), roomy=False)


def crowd(*more: Pod, grows: bool = False, high: Pod = HIGH, room: int = 4, **facts: Any) -> Cluster:
    """The pod high-0 on old-0, and one other node, new-0, which is full with two pods low-0 and low-1 of priority 0.

    `grows`: Karpenter adds more nodes like new-0.
    """
    low = [one_of("low-0", 2), one_of("low-1", 2)]
    new = a_room("new-0", room, "", labels=POOL["labels"] if grows else {})
    given = {
        "nodes": [a_node("old-0"), new],
        "pods": [high, *low, *more],
        "workloads": [a_workload("ReplicaSet/high", replicas=1), a_workload("ReplicaSet/low", replicas=2)],
        "node_pools": [NodePool("general")] if grows else [],
    } | facts
    return a_cluster(**given)


def test_who_waits_for_a_new_node_pushes_others_out_meanwhile() -> None:
    plan = crowded(grows=True, priority_classes=[PriorityClass("gold", 1000), PriorityClass("none", 0)])
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
    plan = crowded()
    assert verdict_of(plan, "high-0") is PodVerdict.BLOCKED
    assert plan.evictions == ()
    found = finding(plan, "placement-preempts")
    assert (found.status, found.severity) == (Status.PASS, Severity.HIGH)
    assert "they stay, since there is no place for them; evicted all the same" in found.message


@pytest.mark.parametrize(("allowed", "said", "beyond"), [(0, "beyond", 1), (1, "within", 0)])
def test_the_victims_budgets_are_named(allowed: int, said: str, beyond: int) -> None:
    plan = crowded(grows=True, budgets=[a_budget("low", allowed=allowed, expected=2)])
    found = finding(plan, "placement-preempts")
    assert (found.status, found.severity) == (Status.FAIL, Severity.HIGH)
    assert f"{beyond} beyond what their budgets allow" in found.message
    assert found.evidence[1].endswith(f"{said} budget default/low, which allows {allowed} now")


def test_unread_budgets_are_said() -> None:
    """Then only pods that need no budget at the eviction endpoint are evicted: those that have not started."""
    found = finding(
        crowded(high=replace(HIGH, phase="Pending", ready=False), unread=[kinds.BUDGETS]),
        "placement-preempts",
    )
    assert found.evidence[1].endswith("and its budgets were not read")


@pytest.mark.parametrize(
    "high",
    [
        replace(HIGH, preempts=False),
        replace(HIGH, priority=0),
        replace(HIGH, placement=Placement(ResourceRequests(cpu=5000))),
        replace(HIGH, placement=Placement(ResourceRequests(cpu=2000), scheduler="volcano")),
    ],
    ids=["preemptionPolicy Never", "no lower priority", "too large for the node", "another scheduler"],
)
def test_who_pushes_nobody_out(high: Pod) -> None:
    plan = crowded(high=high)
    assert "placement-preempts" not in codes(plan)
    assert verdict_of(plan, "high-0") is PodVerdict.BLOCKED


def test_the_node_with_the_least_harm_is_taken() -> None:
    dear = one_of("dear-0", 4, "new-1", priority=10, app="dear")
    kept = one_of("kept-0", 4, "new-2", app="kept")
    nodes = [
        a_node("old-0"),
        a_room("new-0", 4, ""),
        a_room("new-1", 4, ""),
        a_room("new-2", 4, ""),
    ]
    budgets = [a_budget("kept", allowed=0, expected=1), a_budget("low", allowed=0, expected=2)]
    plan = crowded(dear, kept, nodes=nodes, budgets=budgets)
    assert (
        finding(plan, "placement-preempts").evidence[1].startswith("deletes pod default/dear-0 on new-1: priority 10")
    )


def test_replacements_that_were_placed_before_can_be_pushed_out() -> None:
    cluster = a_cluster(
        nodes=[a_node("old-0"), a_node("old-1"), a_room("new-0", 4, "")],
        pods=[HIGH, one_of("low-9", 4, "old-1")],
        workloads=[a_workload("ReplicaSet/high", replicas=1), a_workload("ReplicaSet/low", replicas=1)],
    )
    plan = plan_of(cluster, policy=DrainPolicy(order_nodes=("old-1", "old-0")), roomy=False)
    assert [e.pod.name for e in plan.evictions] == ["low-9"]
    found = finding(plan, "placement-preempts")
    assert found.evidence[1] == "deletes the replacement of pod default/low-9 on new-0: priority 0, no budget"


def test_what_a_kept_plan_is_asked_knows_whom_pods_push_out_that_go_only_then() -> None:
    """Its budget blocks the pod; with that budget assumed fixed, the pod is evicted and waits for a node that Karpenter
    adds."""
    cluster = crowd(grows=True, budgets=[a_budget("high", allowed=0, expected=1)])
    kept = WhatIfPlan(cluster, [node for node in cluster.nodes if node.name == "old-0"], DrainPolicy())
    assert "placement-preempts" not in codes(kept.plan)
    free = DrainPolicy(assume_budgets=(("default/high", 1),))
    assert "placement-preempts" in [each.code.name for each in kept.preview(free).blockers]
    assert finding(kept.plan_for(free), "placement-preempts").status is Status.FAIL


def test_replicas_are_one_finding() -> None:
    plan = crowded(replace(HIGH, name="high-1", uid="high-1"))
    assert finding(plan, "placement-preempts").evidence[0] == "pod default/high-0 on old-0, and 1 more like it"


def test_one_that_is_evicted_is_enough_to_fail() -> None:
    """Karpenter may add one more node: the first replica waits for it, the second stays."""
    pool = NodePool("general", (("cpu", "8"),))
    huge = [one_of(f"high-{i}", 4, f"old-{i}", priority=1000, app="high") for i in range(2)]
    nodes = [a_node("old-0"), a_node("old-1"), a_room("new-0", 4, "", labels=POOL["labels"])]
    plan = crowded(nodes=nodes, pods=[*huge, one_of("low-0", 4)], node_pools=[pool])
    assert len(plan.evictions) == 1
    assert finding(plan, "placement-preempts").status is Status.FAIL


def test_the_most_important_are_examined_first_and_the_least_not_at_all() -> None:
    """Pods without any pod of lower priority need no examination, however many kinds they are."""
    many = range(preemption.MAX_POD_CLASSES + 3)
    lowest = [one_of(f"app{i}-0", 2, "old-0", app=f"app{i}") for i in many]
    assert "placement-preempts" not in codes(crowded(pods=[*lowest, one_of("low-0", 2), one_of("low-1", 2)]))
    rising = [one_of(f"app{i}-0", 2, "old-0", priority=i + 1, app=f"app{i}") for i in many]
    plan = crowded(pods=[*rising, one_of("low-0", 2), one_of("low-1", 2)])
    (unknown,) = (f for f in plan.unknowns if f.code.name == "placement-preempts")
    assert sorted(unknown.evidence) == [f"pod default/app{i}-0 on old-0" for i in range(3)]


def test_with_too_many_nodes_the_rest_is_unknown_or_said() -> None:
    many = [a_room(f"new-{i}", 4, "") for i in range(preemption.MAX_NODES_PER_CLASS + 1)]
    there = [one_of(f"low-{i}", 4, node.name) for i, node in enumerate(many)]
    plan = crowded(nodes=[a_node("old-0"), *many], pods=[HIGH, *there])
    assert "only the first 200 nodes were tried" in finding(plan, "placement-preempts").evidence[1]
    # The first 200 do not help, since their pods have a higher priority; the last one was not examined.
    stuck = [one_of(f"mid-{i}", 3, node.name, priority=2000, app="mid") for i, node in enumerate(many[:-1])]
    tiny = [one_of(f"tiny-{i}", 1, node.name) for i, node in enumerate(many[:-1])]
    plan = crowded(nodes=[a_node("old-0"), *many], pods=[HIGH, *stuck, *tiny, there[-1]])
    found = finding(plan, "placement-preempts")
    assert (found.status, found.evidence) == (Status.UNKNOWN, ("pod default/high-0 on old-0",))


@st.composite
def any_crowd(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    old = [a_node(f"old-{i}") for i in range(draw(st.integers(1, 4)))]
    new = [a_room(f"new-{i}", draw(st.integers(1, 6))) for i in range(draw(st.integers(0, 3)))]
    pods = [
        asking(f"web-{i}", draw(st.integers(0, 3)), draw(st.sampled_from(old)).name)
        for i in range(draw(st.integers(0, 12)))
    ]
    return old + new, pods


@given(any_crowd(), st.booleans())
def test_what_is_evicted_fits_what_is_left(made: tuple[list[Node], list[Pod]], partial: bool) -> None:
    nodes, pods = made
    cluster = a_cluster(nodes=nodes, pods=pods, workloads=[a_workload(replicas=len(pods))])
    plan = plan_of(cluster, policy=DrainPolicy(partial=partial), roomy=False)
    asked = sorted((e.pod.placement.requests.cpu for e in plan.evictions), reverse=True)
    free = [n.allocatable["cpu"] for n in nodes if n.name.startswith("new-")]
    assert sum(asked) <= sum(free)
    evicted = Counter(e.node for e in plan.evictions)
    on: dict[str, int] = defaultdict(int)
    for pod in pods:
        on[pod.node] += 1
    if not partial:
        assert all(evicted[name] in (0, on[name]) for name in on), "a node is emptied, or not touched"
    if len(plan.evictions) < len(pods):
        assert plan.blockers
