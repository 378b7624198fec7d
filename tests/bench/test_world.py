"""The generated cluster is always the same, matches its constants, and is one that a scheduler could have produced."""

from __future__ import annotations

from collections import Counter

import pytest

from bench import world, world_apps
from bench.world import Shape, make
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage, volume_demand, volume_refusal
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.placement import CPU, MEMORY

NODES = 120
APPS = ("Deployment", "StatefulSet")


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return make(Shape(nodes=NODES))


@pytest.fixture(scope="module")
def full() -> Cluster:
    return make(Shape(nodes=NODES, utilisation=0.85))


@pytest.mark.long
def test_the_same_shape_makes_the_same_cluster_and_another_seed_another(cluster: Cluster) -> None:
    assert make(Shape(nodes=NODES)) == cluster
    assert make(Shape(nodes=NODES, seed=8)).pods != cluster.pods


def test_it_has_as_many_pods_as_asked_for_each_once_and_sorted(cluster: Cluster) -> None:
    keys = [(p.namespace, p.name) for p in cluster.pods]
    assert len(keys) == len(set(keys)) == len({p.uid for p in cluster.pods}) == 30 * NODES
    assert keys == sorted(keys)


def test_replicas_have_many_singletons_and_a_heavy_tail(cluster: Cluster) -> None:
    sizes = sorted(w.replicas for w in cluster.workloads if w.kind in APPS)
    assert 0.24 < sizes.count(1) / len(sizes) < 0.36
    assert sizes[-1] == 30 * NODES * 9 // 10 // 20  # where a twentieth of all is fewer than 500
    assert sizes[len(sizes) // 2] <= 5
    assert sum(sizes[-len(sizes) // 10 :]) > 0.4 * sum(sizes)


def test_applications_that_are_alike_ask_for_the_same_and_have_a_budget_each() -> None:
    made = make(Shape(nodes=6, pods_per_node=23, utilisation=0.9, alike=True))
    owned = [pod for pod in made.pods if pod.owner is not None and pod.owner.kind == "ReplicaSet"]
    assert len({pod.placement for pod in owned}) == 1
    assert [b.rule for b in made.budgets] == ["maxUnavailable 1"] * 12
    assert Counter(pod.owner for pod in owned) == dict.fromkeys({pod.owner for pod in owned}, world_apps.ALIKE)


def test_budgets_guard_three_quarters_and_are_in_sync(cluster: Cluster) -> None:
    apps = sum(w.kind in APPS for w in cluster.workloads)
    rules = Counter(b.rule for b in cluster.budgets)
    assert set(rules) == {"maxUnavailable 1", "maxUnavailable 25%"}
    assert 0.43 < rules["maxUnavailable 1"] / apps < 0.57
    assert 0.18 < rules["maxUnavailable 25%"] / apps < 0.32
    guards, scales = index_budgets(cluster.budgets, cluster.pods), ScaleIndex.of(cluster.workloads)
    for budget in cluster.budgets:
        found = recompute(budget, guards.selected_pods(budget), scales, cluster.observed_at)
        assert isinstance(found, ComputedStatus)
        assert found.status == budget.status
        assert budget.status.allowed > 0


@pytest.mark.parametrize(("name", "utilisation"), [("cluster", 0.65), ("full", 0.85)])
def test_so_much_is_requested_and_fits_on_every_node(
    name: str, utilisation: float, request: pytest.FixtureRequest
) -> None:
    made: Cluster = request.getfixturevalue(name)
    cpu: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    for pod in made.pods:
        cpu[pod.node] += pod.placement.requests.cpu
        memory[pod.node] += pod.placement.requests.memory
    count = Counter(pod.node for pod in made.pods)
    for node in made.nodes:
        assert cpu[node.name] <= node.allocatable[CPU]
        assert memory[node.name] <= node.allocatable[MEMORY]
        assert count[node.name] <= node.pods_allocatable
    assert cpu.total() == pytest.approx(utilisation * NODES * world.NODE_CPU, rel=0.01)
    assert memory.total() == pytest.approx(utilisation * NODES * world.NODE_MEMORY, rel=0.1)


def test_what_cannot_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        make(Shape(nodes=30, utilisation=1.2))


def test_pods_of_stateful_sets_have_their_volumes_in_the_zone_of_their_node(cluster: Cluster) -> None:
    storage = Storage.of(cluster.claims, cluster.volumes, cluster.storage_classes)
    nodes = {node.name: node for node in cluster.nodes}
    stateful = [p for p in cluster.pods if p.owner and p.owner.kind == "StatefulSet"]
    assert 0.08 < len(stateful) / len(cluster.pods) <= 0.1
    assert {nodes[p.node].zone for p in stateful} == set(world.ZONES)
    assert [p for p in cluster.pods if p.volumes] == stateful
    for pod in stateful:
        asked = volume_demand(pod.namespace, [v.detail for v in pod.volumes], storage)
        refusing = {node.zone for node in cluster.nodes if volume_refusal(asked, node) is not None}
        assert refusing == set(world.ZONES) - {nodes[pod.node].zone}
