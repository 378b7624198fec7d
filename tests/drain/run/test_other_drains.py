"""Nodes that other clients drain and nodes that other runs annotated, and which of them a run waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.journal import CordonedNode, JournalState, ProtectedNode
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.other_drains import drained_by_others
from kubectl_eksdoc.drain.run.result import NotedRun, nodes_to_restore, noted_run, noted_runs
from kubectl_eksdoc.drain.run.state import NodePhase
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.kubernetes.drain_filters import (
    CORDON_MARKS,
    CordonMark,
    MarkKind,
    foreign_drain,
    without_foreign_marks,
)
from kubectl_eksdoc.kubernetes.updates import NodeChanged, PodChanged, PodRemoved, RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, RunNote, Taint
from kubectl_eksdoc.model.workloads import RebootLock
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, ago
from tests.drain.planning import WEB, finding, plan_of
from tests.drain.run.instant_engine import Driven


def marked(node: Node, sign: CordonMark) -> Node:
    if sign.mark is MarkKind.TAINT:
        return replace(node, taints=(*node.taints, Taint(sign.key, "x", "NoSchedule")))
    return replace(node, annotations={sign.key: "2026-11-20T12:00:00Z"})


def a_run() -> Driven:
    """Two old nodes with two pods each; one pod may be unavailable, and no replacement comes by itself."""
    webs = [a_pod(f"web-{i}", node=f"old-{i // 2}") for i in range(4)]
    nodes = [a_node("old-0"), a_node("old-1"), a_roomy_node()]
    budget = a_budget("web", max_unavailable=1, allowed=1, expected=4)
    return Driven(a_cluster(nodes=nodes, pods=webs, budgets=[budget]), limits=RunLimits(blocked_s=600))


@pytest.mark.parametrize("sign", CORDON_MARKS, ids=lambda sign: sign.key)
def test_a_node_that_somebody_else_drains_is_left_to_them_and_waited_for(sign: CordonMark) -> None:
    run = a_run()
    run.until(0.5)
    assert [act.pod.name for act in run.of(Evict) if isinstance(act, Evict)] == ["web-0"]
    run.hear(NodeChanged(marked(run.engine.observed.nodes["old-0"], sign)))
    run.until(400.0)
    ((node, why),) = run.told(DrainEventKind.ADOPTED)
    assert node == "old-0" and why.startswith(f"{sign.who} {sign.does} ({sign.mark.value} {sign.key}")
    assert "web-1" not in [act.pod.name for act in run.of(Evict) if isinstance(act, Evict)]
    run.hear(PodRemoved("uid-pod-default-web-1", 99))
    run.to_the_end()
    assert run.engine.not_drained == {} and [name for name, _ in run.told(DrainEventKind.DONE)] == ["old-1"]


@pytest.mark.parametrize("sign", CORDON_MARKS, ids=lambda sign: sign.key)
def test_a_node_that_nobody_empties_after_all_is_left_alone(sign: CordonMark) -> None:
    run = a_run()
    run.until(0.5)
    run.hear(NodeChanged(marked(run.engine.observed.nodes["old-0"], sign)))
    run.to_the_end()
    ((node, why),) = run.told(DrainEventKind.LEFT_ALONE)
    assert node == "old-0" and why.startswith(sign.who) and why.endswith("none of its pods has gone for 10m00s")
    assert run.engine.not_drained == {"old-0": ("default/web-1",)} and 600 <= run.now_s <= 700


def test_whose_pods_go_one_by_one_is_waited_for() -> None:
    run = a_run()
    run.until(0.5)
    run.hear(NodeChanged(marked(run.engine.observed.nodes["old-0"], CORDON_MARKS[0])))
    run.until(550.0)
    stopping = replace(a_pod("web-1", node="old-0"), deletion_deadline=ago(-4000), grace_seconds=3000)
    run.hear(PodChanged(stopping, 98))
    run.until(3000.0)
    assert not run.told(DrainEventKind.LEFT_ALONE), "it stops, and has the time for that"
    run.hear(PodRemoved(stopping.uid, 99))
    run.to_the_end()
    assert run.engine.not_drained == {}


def test_a_sign_that_is_taken_away_again_leaves_the_node_to_nobody() -> None:
    run = a_run()
    run.until(0.5)
    node = run.engine.observed.nodes["old-0"]
    run.hear(NodeChanged(marked(node, CORDON_MARKS[0])))
    run.until(10.0)
    run.hear(NodeChanged(node))
    run.to_the_end()
    ((_, why),) = run.told(DrainEventKind.LEFT_ALONE)
    assert why == "the other client no longer drains it, and none of its pods has gone for 10m00s"


@pytest.mark.parametrize("sign", CORDON_MARKS, ids=lambda sign: sign.key)
def test_attached_to_it_one_sees_who_it_is_and_what_is_left(sign: CordonMark) -> None:
    old = marked(a_node("old-0"), sign)
    (found,) = drained_by_others(a_cluster(nodes=[old, a_roomy_node()], pods=[a_pod("web-1", node="old-0")]))
    assert (found.node, found.who) == ("old-0", f"{sign.who} ({sign.mark.value} {sign.key})")
    assert found.left_s is not None and found.left_s > 0
    assert foreign_drain(without_foreign_marks(old)) is None


KURED = replace(a_workload("DaemonSet/kured", "kube-system"), reboot_locks=(RebootLock("old-0"),))
LOCKED = "kured is draining and rebooting it (annotation weave.works/kured-node-lock of DaemonSet kube-system/kured)"


@pytest.mark.parametrize("lock", [RebootLock("old-0"), RebootLock("old-0", ago(-1))])
def test_a_node_for_which_kured_holds_its_lock_is_not_drained(lock: RebootLock) -> None:
    plan = plan_of(workloads=[*WEB, replace(KURED, reboot_locks=(lock,))])
    assert finding(plan, "node-foreign-drain").message == LOCKED and not plan.evictions


def test_a_lock_that_has_expired_or_is_of_another_node_is_none() -> None:
    locks = (RebootLock("old-0", ago(0)), RebootLock("new-1"))
    plan = plan_of(workloads=[*WEB, replace(KURED, reboot_locks=locks)])
    assert len(plan.evictions) == 3


def test_cordoned_nodes_and_those_of_autoscalers_are_drained_by_somebody() -> None:
    karpenters = replace(a_node("k"), taints=(Taint("karpenter.sh/disrupted", "", "NoSchedule"),))
    nodes = [a_node("free"), replace(a_node("c"), unschedulable=True), karpenters]
    found = drained_by_others(a_cluster(nodes=nodes))
    assert [(node.node, node.who, node.empty) for node in found] == [
        ("c", "another client (it is cordoned)", True),
        ("k", "Karpenter (taint karpenter.sh/disrupted)", True),
    ]
    assert [node.left_s for node in found] == [0.0, 0.0]


def test_a_run_of_ours_is_known_by_its_notes() -> None:
    note = RunNote("20261120-1930-4f2a", "ops")
    nodes = [
        replace(a_node("a"), unschedulable=True, note=note),
        replace(a_node("b"), unschedulable=True, note=replace(note, drains=False, protects=True)),
        replace(a_node("c"), note=note),
    ]
    found = drained_by_others(a_cluster(nodes=nodes))
    assert [(node.node, node.who, node.run) for node in found] == [
        ("a", "run 20261120-1930-4f2a of eksdoc", note),
        ("b", "another client (it is cordoned)", None),
    ]


def test_named_nodes_are_shown_whoever_drains_them() -> None:
    (found,) = drained_by_others(a_cluster(nodes=[a_node("free"), a_node("b")]), frozenset(("free",)))
    assert (found.node, found.who) == ("free", "no client yet")


def test_each_pod_says_what_it_waits_for() -> None:
    old = replace(a_node("old"), unschedulable=True)
    pods = [
        replace(a_pod("web-1", node="old"), labels={"app": "web"}),
        replace(a_pod("api-1", node="old"), labels={"app": "api"}),
        replace(a_pod("both", node="old"), labels={"app": "web", "of": "api"}),
        replace(a_pod("free", node="old"), labels={}),
    ]
    cluster = a_cluster(nodes=[old, a_roomy_node()], pods=pods)
    cluster = replace(cluster, budgets=(a_budget("web", allowed=0), a_budget("api", allowed=1)))
    (found,) = drained_by_others(cluster)
    why = {pod.pod.rpartition("/")[2]: pod.why for pod in found.pods}
    assert why["free"] == "nothing keeps it" and not any(pod.leaving for pod in found.pods)
    assert "lets none go" in why["web-1"] and why["api-1"].endswith("would allow its eviction now")


OURS, THEIRS = "20261120-1930-aaaa", "20261120-1931-bbbb"


def noted(
    name: str, run: str, journal: str = "", *, drains: bool = True, protects: bool = False, skipped: bool = False
) -> Node:
    return replace(a_node(name), unschedulable=drains, note=RunNote(run, journal, drains, protects, skipped))


def test_runs_are_told_by_their_nodes() -> None:
    nodes = [a_node("c"), noted("b", "r2", protects=True, drains=False), noted("a", "r2", "ops"), noted("d", "r1")]
    uid = {node.name: node.uid for node in nodes}
    assert noted_runs(nodes) == (
        NotedRun("r1", "", (CordonedNode("d", uid["d"], True),)),
        NotedRun("r2", "ops", (CordonedNode("a", uid["a"], True),), (ProtectedNode("b", uid["b"], True),)),
    )
    assert noted_runs(nodes)[1].nodes == ("a", "b")
    assert noted_run(nodes, "r3") == NotedRun("r3")


def test_nodes_of_a_run_are_counted_as_its_plan_counts_them() -> None:
    """The count excludes nodes that the run only cordons or protects."""
    nodes = [noted("a", "r"), noted("b", "r", skipped=True), noted("c", "r", drains=False, protects=True)]
    found = noted_run(nodes, "r")
    assert (found.drained_count, found.nodes, [each.node for each in found.cordoned]) == (
        1,
        ("a", "b", "c"),
        ["a", "b"],
    )
    assert found.drained_count_of((*found.cordoned, CordonedNode("d", "uid-d", True))) == 2


def test_what_a_journal_knows_better_counts_and_what_it_lacks_is_added() -> None:
    class Some(JournalState):
        __slots__ = ()
        cordoned = (CordonedNode("b", "uid-b", True, uncordoned_by_others=True),)  # type: ignore[assignment]
        protected = (ProtectedNode("x", "uid-x", False),)  # type: ignore[assignment]

    noted_too = NotedRun("r", "", (CordonedNode("a", "uid-a", True), CordonedNode("b", "uid-b", True)))
    cordoned, protected = nodes_to_restore(Some(), noted_too)
    assert cordoned == (CordonedNode("b", "uid-b", True, uncordoned_by_others=True), CordonedNode("a", "uid-a", True))
    assert protected == (ProtectedNode("x", "uid-x", False),)


def a_world(*old: Node) -> Cluster:
    """One pod of web on each node."""
    pods = [a_pod(f"web-{node.name}", node=node.name) for node in old]
    return a_cluster(
        nodes=[*old, a_roomy_node("new-0")],
        pods=pods,
        workloads=[a_workload("ReplicaSet/web", replicas=len(pods))],
        budgets=[a_budget("web", max_unavailable=1, allowed=1, expected=len(pods))],
    )


def test_a_node_that_another_run_changed_meanwhile_is_left_alone() -> None:
    """The server's resource version or the watch shows the change first; either way the run does not cordon the
    node."""
    refused = []

    def answer(act: ClusterAction) -> RunUpdate | None:
        refused.append(act)
        if isinstance(act, Cordon) and act.node == "old-0":
            return RequestAnswered(act, ApiStatus(409, "Conflict", "run b has changed it meanwhile"))
        assert isinstance(act, Cordon)
        driven.hear(NodeChanged(noted(act.node, OURS)))
        return RequestAnswered(act, ApiStatus(200))

    driven = Driven(a_world(a_node("old-0"), a_node("old-1")), run=OURS, Cordon=answer)
    driven.step()
    theirs = replace(a_node("old-0"), unschedulable=True, note=RunNote(THEIRS, "ops"))
    driven.hear(NodeChanged(theirs))
    driven.to_the_end()
    assert driven.told(DrainEventKind.LEFT_ALONE) == [
        ("old-0", f"another run of this tool has it, {THEIRS} (its journal is in namespace ops)")
    ]
    assert [act.pod.node for act in driven.of(Evict) if isinstance(act, Evict)] == ["old-1"]


def test_what_we_noted_ourselves_and_what_is_over_is_nobody_elses() -> None:
    driven = Driven(a_world(noted("old-0", THEIRS)), run=OURS)
    driven.step()
    assert driven.of(Cordon) == [Cordon("old-0", a_node("old-0").uid, THEIRS)], "it was over when it was planned"
    driven.hear(NodeChanged(noted("old-0", OURS)))
    driven.to_the_end()
    assert [node.phase for node in driven.engine.nodes] == [NodePhase.DONE]


def test_what_somebody_had_cordoned_is_noted_before_it_is_begun() -> None:
    """The annotation tells other runs whose node it is; a rollback leaves the node cordoned."""
    driven = Driven(a_world(replace(a_node("old-0"), unschedulable=True)), run=OURS)
    driven.step()
    assert len(driven.of(Cordon)) == 1 and not driven.of(Evict)
    driven.hear(NodeChanged(noted("old-0", OURS)))
    driven.to_the_end()
    assert len(driven.of(Evict)) == 1 and driven.engine.is_finished
