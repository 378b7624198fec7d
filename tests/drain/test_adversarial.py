"""Clusters where a drain must fail: the plan names the cause, never hangs, and takes seconds for none of them."""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placement import (
    NodeRequirements,
    PersistentVolume,
    PersistentVolumeClaim,
    Placement,
    PodAffinityTerm,
    ResourceRequests,
)
from kubectl_eksdoc.model.selectors import from_parts
from tests.builders import a_cluster, a_pod
from tests.drain.planning import left
from tests.drain.small_clusters import (
    ZONE_KEY,
    App,
    a_small_node,
    pod_of,
    targets_of,
    workloads_of,
)

LONGEST_S = 8.0
"""Of processor time, for one plan of this file: a second or two on a core of its own, more on a shared one. What must
not be is a plan that takes minutes."""


def olds(count: int, zone: str = "a", **more: Any) -> list[Node]:
    return [a_small_node(f"old-{i}", zone, "blue", **more) for i in range(count)]


def placed(app: App, *nodes: str) -> list[Pod]:
    return [pod_of(app, f"{app.name}-{i}", node) for i, node in enumerate(nodes)]


def planned(app: App, nodes: list[Node], pods: list[Pod], policy: DrainPolicy, **facts: Any) -> DrainPlan:
    cluster = a_cluster(nodes=nodes, pods=pods, workloads=workloads_of(app), **facts)
    began = process_time()
    plan = build_plan(cluster, targets_of(cluster), policy)
    assert process_time() - began < LONGEST_S
    settled = Counter([e.pod.uid for e in plan.evictions] + [x.pod.uid for x in plan.left])
    on_targets = {node.name for node in targets_of(cluster)}
    assert settled == Counter(pod.uid for pod in pods if pod.node in on_targets), "every pod has one verdict"
    assert (plan.estimate is None) is all(t.order == 0 for t in plan.targets)
    return plan


def drains(plan: DrainPlan) -> set[str]:
    return {t.node.name for t in plan.targets if t.order}


WEB = App("web", 6, ResourceRequests(cpu=1500))


@pytest.mark.parametrize("surge", [None, 0, 1, 3])
def test_to_take_nodes_in_part_costs_no_node_that_can_be_drained_whole(surge: int | None) -> None:
    """A pod without room waits for the next new node: no pod of its node is evicted as long as all of them may still
    go."""
    pods = placed(WEB, *[f"old-{i // 2}" for i in range(6)])
    whole = planned(WEB, olds(3), pods, DrainPolicy(surge=surge))
    partly = planned(WEB, olds(3), pods, DrainPolicy(surge=surge, partial=True))
    drained = {t.node.name for t in partly.targets if t.verdict is TargetVerdict.DRAINS}
    assert drains(whole) <= drained and len(partly.evictions) >= len(whole.evictions)


@pytest.mark.parametrize(("surge", "count"), [(None, 1), (0, 1), (1, 4)])
def test_all_volumes_are_in_one_zone_and_that_is_full(surge: int | None, count: int) -> None:
    """Room in another zone does not help them; old-3 has no volume, and its pods go there."""
    db = App("db", 3, ResourceRequests(cpu=3000), zonal=True)
    pods = [*placed(db, "old-0", "old-1", "old-2"), pod_of(WEB, "web-0", "old-3")]
    other = [a_small_node("old-3", "a", "blue"), a_small_node("new-0", "b", "green", cpu=64)]
    volumes = [PersistentVolume(f"pv-db-{i}", f"db-{i}", zone_labels=((ZONE_KEY, "a"),)) for i in range(3)]
    claims = [PersistentVolumeClaim("default", f"db-{i}", f"pv-db-{i}") for i in range(3)]
    facts = {"claims": claims, "volumes": volumes}
    plan = planned(db, [*olds(3), *other], pods, DrainPolicy(surge=surge), **facts)
    if surge == 0:
        assert drains(plan) == {f"old-{i}" for i in range(4)}, "the successor of old-3 is room for the first of them"
        return
    assert len(drains(plan)) == count
    if count == 1:
        assert drains(plan) == {"old-3"}
        assert "1 × node(s) had no available volume zone" in left(plan, "db-0").reason


@pytest.mark.parametrize("surge", [None, 0])
def test_nodes_that_can_go_only_after_each_other_all_go(surge: int | None) -> None:
    """x has anti-affinity to y, y to z, and each may only go where the next one is; they are named from x on."""
    apps = []
    for name, avoided, zone in (("x", "y", "p"), ("y", "z", "q"), ("z", "none", "r")):
        away = (PodAffinityTerm(ZONE_KEY, from_parts({"app": avoided})),)
        apps.append(
            (name, Placement(ResourceRequests(cpu=100), NodeRequirements(((ZONE_KEY, zone),)), anti_affinity=away))
        )
    nodes = [a_small_node(f"old-{i}", zone, "blue") for i, zone in enumerate("opq")]
    nodes += [a_small_node(f"new-{zone}", zone, "green") for zone in "pqr"]
    pods = [
        a_pod(f"{name}-0", node=f"old-{i}", owner=f"ReplicaSet/{name}", placement=placement)
        for i, (name, placement) in enumerate(apps)
    ]
    order = ("old-0", "old-1", "old-2")
    plan = planned(App("x", 1, ResourceRequests()), nodes, pods, DrainPolicy(surge=surge, order_nodes=order))
    assert drains(plan) == set(order)
