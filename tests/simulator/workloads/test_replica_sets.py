"""ReplicaSets: the number of pods, which pods are deleted first, adoption, and the status."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.simulator.control_plane import workload_controllers
from kubectl_eksdoc.simulator.workloads.replica_sets import ReplicaSets
from tests.simulator.workloads.world import World, a_pod, a_workload, names

SETS = "replicasets.apps"


def a_world(*docs: Doc) -> World:
    return World(lambda registry, index: [ReplicaSets(registry, index)], docs)


def running(replicas: int = 3, **spec: object) -> World:
    world = a_world()
    world.create(SETS, a_workload("ReplicaSet", replicas=replicas, **spec))
    world.settle()
    return world


def status(world: World, name: str = "web") -> Doc:
    return world.get(SETS, name).doc["status"]


def test_a_replication_controller_replaces_its_pods_alike() -> None:
    """A ReplicationController's selector is a set of labels."""
    kind = kinds.REPLICATION_CONTROLLERS
    world = World(workload_controllers)
    doc = a_workload("ReplicationController", replicas=2) | {"apiVersion": "v1"}
    world.create(kind.full_name, with_value(doc, ("spec", "selector"), {"app": "web"}))
    world.settle()
    world.delete(world.pods()[0])
    world.run()
    (old, new) = world.active()
    assert {each.doc["metadata"]["ownerReferences"][0]["kind"] for each in (old, new)} == {"ReplicationController"}
    assert world.get(kind.full_name, "web").doc["status"]["replicas"] == 2


@pytest.mark.parametrize(
    ("owner", "comes_back"),
    [
        ({"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster"}, True),
        ({"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet"}, True),
        ({"apiVersion": "v1", "kind": "Node"}, False),
        (None, False),
    ],
)
def test_pods_of_a_controller_that_is_not_simulated_come_back(owner: Doc | None, comes_back: bool) -> None:
    world = World(workload_controllers)
    refs = [] if owner is None else [{**owner, "name": "pg", "uid": "u", "controller": True}]
    world.create("pods", with_value(a_pod("pg-1"), ("metadata", "ownerReferences"), refs))
    world.settle()
    world.delete(world.pods()[0], grace_s=30)
    world.run()
    made = [each for each in world.active() if each.key[1] != "pg-1"]
    assert [each.doc["metadata"]["ownerReferences"] for each in made] == ([refs] if comes_back else [])
    assert all("nodeName" not in each.doc["spec"] for each in made)
    for each in world.pods():
        world.delete(each, grace_s=0)
    world.run()
    assert len(world.active()) == comes_back, "once for each pod that goes"


def test_orphans_that_match_are_adopted_and_what_does_not_match_is_released() -> None:
    world = a_world()
    orphan = world.create("pods", a_pod("orphan"))
    other = world.create("pods", a_pod("other", app="db"))
    world.create(SETS, a_workload("ReplicaSet", replicas=2))
    world.settle()
    assert status(world)["terminatingReplicas"] == 0
    adopted = world.get("pods", "orphan")
    assert adopted.doc["metadata"]["ownerReferences"][0]["name"] == "web" and len(world.pods()) == 3
    assert "ownerReferences" not in world.get("pods", "other").doc["metadata"]
    world.delete(next(each for each in world.pods() if each.key[1] not in ("orphan", "other")))
    world.run()
    assert len(world.active()) == 3 and status(world)["terminatingReplicas"] == 1
    world.set(orphan, "metadata", "labels", to={"app": "quarantined"})
    world.settle()
    assert "ownerReferences" not in world.get("pods", "orphan").doc["metadata"]
    assert len(world.active()) == 4
    world.set(other, "metadata", "labels", to={"app": "web"})
    world.settle()
    assert len([each for each in world.active() if each.doc["metadata"]["labels"] == {"app": "web"}]) == 2


def test_when_pods_cannot_be_made_it_is_tried_again() -> None:
    world = a_world()
    made: Doc = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    world.create("priorityclasses.scheduling.k8s.io", {**made, "metadata": {"name": "there"}})
    doc = a_workload("ReplicaSet", replicas=1)
    doc["spec"]["template"]["spec"]["priorityClassName"] = "missing"
    world.create(SETS, doc)
    world.run(2)
    assert world.pods() == []
    world.create("priorityclasses.scheduling.k8s.io", {**made, "metadata": {"name": "missing"}})
    world.run(2)
    assert world.pods()[0].doc["spec"]["priority"] == 7


def _leave_one(world: World) -> str:
    world.set(world.get(SETS, "web"), "spec", "replicas", to=1)
    world.run()
    (left,) = world.active()
    return left.key[1]


@pytest.mark.parametrize(
    "better",
    [
        {"nodeName": "n1"},
        {"phase": "Running"},
        {"ready": True},
        {"cost": "5"},
    ],
    ids=str,
)
def test_what_is_worth_less_goes_first(better: dict[str, object]) -> None:
    """Two pods differ in one property: the pod that has it stays, in either order."""
    for stays in (0, 1):
        world = a_world()
        world.create(SETS, a_workload("ReplicaSet", replicas=2))
        world.run()
        for i, pod in enumerate(world.pods()):
            has = i == stays
            if "nodeName" not in better or has:
                pod = world.place(pod, "n1")
            if ("phase" not in better and "nodeName" not in better) or (has and "phase" in better):
                pod = world.report(pod, ready="ready" not in better or has)
            if "cost" in better and has:
                world.set(pod, "metadata", "annotations", to={"controller.kubernetes.io/pod-deletion-cost": "5"})
        expected = world.pods()[stays].key[1]
        assert _leave_one(world) == expected


@pytest.mark.parametrize("late", range(3))
def test_what_shares_its_node_goes_first_and_then_what_is_ready_for_less_time(late: int) -> None:
    world = a_world()
    world.create(SETS, a_workload("ReplicaSet", replicas=3))
    world.run()
    pods = world.pods()
    for place, pod in enumerate(pods):
        if place != late:
            world.report(world.place(pod, "n2"))
    world.run(1000)
    world.report(world.place(pods[late], "n1"))
    world.run(10)
    world.set(world.get(SETS, "web"), "spec", "replicas", to=2)
    world.run()
    assert pods[late].key[1] in names(world.active()), "it has a node of its own"
    assert _leave_one(world) != pods[late].key[1]


DEEDS = st.lists(
    st.tuples(st.sampled_from(("delete", "ready", "unready", "fail", "scale", "run", "kubelets")), st.integers(0, 5)),
    max_size=25,
)


@given(DEEDS)
def test_whatever_happens_it_comes_to_rest_with_as_many_pods_as_wanted(deeds: list[tuple[str, int]]) -> None:
    world = running(3)
    for what, number in deeds:
        world.do(what, number, SETS, "web")
    world.settle()
    wanted = world.get(SETS, "web").doc["spec"]["replicas"]
    assert len(world.active()) == wanted
    ready = sum(each.ready for each in world.active())
    assert (status(world)["replicas"], status(world).get("availableReplicas", 0)) == (wanted, ready)
