"""Where pods land and what nodes wait for, in the plan: nodes that join first, and those that take a drained one's
place."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.placing import Placement, Requests
from tests.builders import a_cluster, a_node, a_pod, a_workload
from tests.drain.planning import plan_of

GIB = 1 << 30
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
    assert drained(surged(None)) == []
    assert drained(surged(0)) == []


def test_with_one_new_node_each_lands_on_the_one_that_took_the_place_of_the_node_before() -> None:
    plan = surged(1, order="name")
    assert plan.in_generations
    assert drained(plan) == [("old-0", 1, ()), ("old-1", 2, ("old-0",)), ("old-2", 3, ("old-1",))]
    (surge,) = landings(plan)["old-0"]
    assert surge.endswith(" (surge 1)")
    assert (landings(plan)["old-1"], landings(plan)["old-2"]) == ({"old-0 (new)"}, {"old-1 (new)"})


@pytest.mark.parametrize(("surge", "generations"), [(1, 6), (2, 3), (3, 2), (6, 1), (9, 1)])
def test_more_new_nodes_are_fewer_generations(surge: int, generations: int) -> None:
    plan = surged(surge, nodes=6)
    assert len(drained(plan)) == 6
    assert max(t.wave for t in plan.targets) == generations


def test_what_nothing_replaces_lands_nowhere() -> None:
    plan = plan_of(pods=[a_pod("bare", owner=None), a_pod("web-0")], policy=DrainPolicy(force=True))
    assert {e.pod.name: e.lands_on for e in plan.evictions} == {"bare": "", "web-0": "roomy"}
