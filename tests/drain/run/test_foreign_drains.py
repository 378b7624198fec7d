"""Nodes that somebody else begins to drain while a run is under way: left to them, waited for, but not for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.drain.run.others import drained_by_others
from kubectl_eksdoc.kubernetes.cordon import SIGNS, CordonMark, Mark, as_nobodys, foreign_drain
from kubectl_eksdoc.kubernetes.news import NodeIs, PodGone, PodIs
from kubectl_eksdoc.model.acts import Evict
from kubectl_eksdoc.model.nodes import Node, Taint
from kubectl_eksdoc.model.workloads import RebootLock
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, ago
from tests.drain.planning import WEB, finding, plan_of
from tests.drain.run.driving import Driven


def marked(node: Node, sign: CordonMark) -> Node:
    if sign.mark is Mark.TAINT:
        return replace(node, taints=(*node.taints, Taint(sign.key, "x", "NoSchedule")))
    return replace(node, annotations={sign.key: "2026-11-20T12:00:00Z"})


def a_run() -> Driven:
    """Two old nodes with two pods each; one may be away at a time, and nobody comes in its place by itself."""
    webs = [a_pod(f"web-{i}", node=f"old-{i // 2}") for i in range(4)]
    nodes = [a_node("old-0"), a_node("old-1"), a_roomy_node()]
    budget = a_budget("web", max_unavailable=1, allowed=1, expected=4)
    return Driven(a_cluster(nodes=nodes, pods=webs, budgets=[budget]), limits=RunLimits(blocked_s=600))


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.key)
def test_a_node_that_somebody_else_drains_is_left_to_them_and_waited_for(sign: CordonMark) -> None:
    run = a_run()
    run.until(0.5)
    assert [act.pod.name for act in run.of(Evict) if isinstance(act, Evict)] == ["web-0"]
    run.hear(NodeIs(marked(run.engine.seen.nodes["old-0"], sign)))
    run.until(400.0)
    ((node, why),) = run.told(Happened.ADOPTED)
    assert node == "old-0" and why.startswith(f"{sign.who} {sign.does} ({sign.mark.value} {sign.key}")
    assert "web-1" not in [act.pod.name for act in run.of(Evict) if isinstance(act, Evict)]
    run.hear(PodGone("uid-pod-default-web-1", 99))
    run.to_the_end()
    assert run.engine.undone == {} and [name for name, _ in run.told(Happened.DONE)] == ["old-1"]


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.key)
def test_a_node_that_nobody_empties_after_all_is_left_alone(sign: CordonMark) -> None:
    run = a_run()
    run.until(0.5)
    run.hear(NodeIs(marked(run.engine.seen.nodes["old-0"], sign)))
    run.to_the_end()
    ((node, why),) = run.told(Happened.LEFT_ALONE)
    assert node == "old-0" and why.startswith(sign.who) and why.endswith("none of its pods has gone for 10m00s")
    assert run.engine.undone == {"old-0": ("default/web-1",)} and 600 <= run.now_s <= 700


def test_whose_pods_go_one_by_one_is_waited_for() -> None:
    run = a_run()
    run.until(0.5)
    run.hear(NodeIs(marked(run.engine.seen.nodes["old-0"], SIGNS[0])))
    run.until(550.0)
    stopping = replace(a_pod("web-1", node="old-0"), deletion_deadline=ago(-4000), grace_seconds=3000)
    run.hear(PodIs(stopping, 98))
    run.until(3000.0)
    assert not run.told(Happened.LEFT_ALONE), "it stops, and has the time for that"
    run.hear(PodGone(stopping.uid, 99))
    run.to_the_end()
    assert run.engine.undone == {}


def test_a_sign_that_is_taken_away_again_leaves_the_node_to_nobody() -> None:
    run = a_run()
    run.until(0.5)
    node = run.engine.seen.nodes["old-0"]
    run.hear(NodeIs(marked(node, SIGNS[0])))
    run.until(10.0)
    run.hear(NodeIs(node))
    run.to_the_end()
    ((_, why),) = run.told(Happened.LEFT_ALONE)
    assert why == "the other client no longer drains it, and none of its pods has gone for 10m00s"


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.key)
def test_attached_to_it_one_sees_who_it_is_and_what_is_left(sign: CordonMark) -> None:
    old = marked(a_node("old-0"), sign)
    (found,) = drained_by_others(a_cluster(nodes=[old, a_roomy_node()], pods=[a_pod("web-1", node="old-0")]))
    assert (found.node, found.who) == ("old-0", f"{sign.who} ({sign.mark.value} {sign.key})")
    assert found.left_s is not None and found.left_s > 0
    assert foreign_drain(as_nobodys(old)) is None


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
