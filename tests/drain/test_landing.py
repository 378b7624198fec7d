"""Where pods land, in the plan, and what is missing where they do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.cluster import Cluster, NodePool
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import CLAIMS, CSI_NODES, NAMESPACES, NODE_POOLS, VOLUME_ATTACHMENTS, Resource
from kubectl_eksdoc.model.nodes import Node, Pod, Taint
from kubectl_eksdoc.model.placing import Claim, CSINode, PersistentVolume, Placement, Requests, VolumeAttachment
from tests.builders import a_claimed, a_cluster, a_node, a_pod, a_roomy_node, a_workload
from tests.drain.planning import codes, finding, left, plan_of, target, verdict_of

GIB = 1 << 30


def a_room(name: str, cpu: int, group: str = "green", **more: Any) -> Node:
    """A node outside the targets with that many cores."""
    room = {"cpu": cpu * 1000, "memory": 64 * GIB, "ephemeral-storage": 64 * GIB, "pods": 58}
    return a_node(name, group=group, allocatable=room, **more)


def asking(name: str, cpu: int, node: str = "old-0", owner: str = "ReplicaSet/web", **more: Any) -> Pod:
    return a_pod(name, node=node, owner=owner, placement=Placement(Requests(cpu=cpu * 1000)), **more)


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
    """Four cores less two for the agent are two web pods a node."""
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
    """Three pods of a StatefulSet with an EBS volume each on old-0, and new-0, which can attach `limit` volumes and
    has `attached` attached already for nobody."""
    names = [f"db-{i}" for i in range(3)]
    pods = [asking(n, 1, owner="StatefulSet/db", volumes=(a_claimed(f"data-{n}"),)) for n in names]
    strays = [f"stray-{i}" for i in range(attached)]
    return a_cluster(
        nodes=[a_node("old-0"), a_room("new-0", 9)],
        pods=[*pods, asking("web-0", 1)],
        workloads=[a_workload("StatefulSet/db", replicas=3), a_workload(replicas=1)],
        claims=[Claim("default", f"data-{n}", f"pv-{n}", "gp3") for n in names],
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
    """What another scheduler does with a pod without volumes does not depend on them."""
    pod = a_pod("web-0", placement=Placement(scheduler="volcano"))
    plan = plan_of(pods=[pod], unread=[CSI_NODES, CLAIMS, NAMESPACES])
    assert finding(plan, "placement-unsure").missing == "namespaces"


TWO_CORES = {"cpu": 2000, "memory": 64 * GIB, "ephemeral-storage": 64 * GIB, "pods": 58}
ONE_CORE = Placement(Requests(cpu=1000))


def full(nodes: int, **facts: Any) -> Cluster:
    """Nodes of two cores, each with two pods that ask for a core: none takes what another one evicts."""
    names = [f"old-{i}" for i in range(nodes)]
    pods = [a_pod(f"web-{i}", node=names[i // 2], placement=ONE_CORE) for i in range(2 * nodes)]
    every = [*(a_node(name, allocatable=TWO_CORES) for name in names), *facts.pop("more_nodes", ())]
    return a_cluster(nodes=every, pods=pods, workloads=[a_workload(replicas=2 * nodes)], **facts)


def surged(surge: int | None, nodes: int = 3, **policy: Any) -> DrainPlan:
    return plan_of(full(nodes), roomy=False, policy=DrainPolicy(surge=surge, **policy))


def drained(plan: DrainPlan) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(t.node.name, t.wave, t.needs) for t in plan.targets if t.order]


def landings(plan: DrainPlan) -> dict[str, set[str]]:
    """By node, where its pods land."""
    return {t.node.name: {e.lands_on for e in plan.evictions if e.node == t.node.name} for t in plan.targets}


def test_without_new_nodes_a_full_cluster_cannot_be_drained() -> None:
    assert drained(surged(None)) == drained(surged(0)) == []
    assert "(--surge 1)" in finding(surged(0), "needs-nodes").remedy[0].text


def test_with_one_new_node_each_lands_on_the_one_that_took_the_place_of_the_node_before() -> None:
    plan = surged(1, order="name")
    assert plan.in_generations
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
