"""StatefulSets: ordered or parallel ordinals, claims, updates, and never two pods of one name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.workloads.garbage import ClaimProtection, GarbageCollector
from kubectl_eksdoc.simulator.workloads.stateful_sets import StatefulSets
from tests.simulator.workloads.world import World, a_template, a_workload, names, phase

SETS = "statefulsets.apps"
CLAIMS = "persistentvolumeclaims"


def a_world(replicas: int = 3, **spec: Any) -> World:
    world = World(
        lambda registry, index: [
            StatefulSets(registry, index),
            GarbageCollector(registry, index),
            ClaimProtection(registry, index),
        ]
    )
    world.create(SETS, a_workload("StatefulSet", "db", replicas, serviceName="db", **spec))
    return world


def running(replicas: int = 3, **spec: Any) -> World:
    world = a_world(replicas, **spec)
    world.settle()
    assert len(world.pods()) == replicas
    return world


def status(world: World) -> Doc:
    return world.get(SETS, "db").doc["status"]


def revisions(world: World) -> dict[str, str]:
    return {pod.key[1]: pod.doc["metadata"]["labels"]["controller-revision-hash"] for pod in world.pods()}


def test_revisions_come_back_and_the_oldest_go_beyond_the_limit() -> None:
    world = running(1, revisionHistoryLimit=1)
    first = status(world)["currentRevision"]
    for number in (2, 1):
        world.change_image(SETS, "db", number)
        world.settle()
    assert status(world)["currentRevision"] == first
    for number in range(3, 6):
        world.change_image(SETS, "db", number)
        world.settle()
    assert len(world.all("controllerrevisions.apps")) == 2


def test_pods_are_made_in_order_each_when_the_one_before_is_ready() -> None:
    world = a_world()
    world.run()
    assert names(world.pods()) == ["db-0"]
    world.kubelets()
    world.run()
    assert names(world.pods()) == ["db-0", "db-1"]
    world.settle()
    assert status(world) == {
        "availableReplicas": 3,
        "collisionCount": 0,
        "currentReplicas": 3,
        "currentRevision": status(world)["updateRevision"],
        "observedGeneration": 1,
        "readyReplicas": 3,
        "replicas": 3,
        "updateRevision": status(world)["updateRevision"],
        "updatedReplicas": 3,
    }


def test_a_pod_has_the_identity_of_its_ordinal() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    volumes = [{"name": name, "emptyDir": {}} for name in ("data", "tmp")]
    template = a_template("db", volumes=volumes)
    world = running(1, volumeClaimTemplates=[claim], ordinals={"start": 5}, template=template)
    (pod,) = world.pods()
    labels, spec = pod.doc["metadata"]["labels"], pod.doc["spec"]
    assert pod.key[1] == "db-5" and pod.doc["metadata"]["generateName"] == "db-"
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-5"
    assert labels["apps.kubernetes.io/pod-index"] == "5"
    assert labels["controller-revision-hash"] == status(world)["updateRevision"]
    assert (spec["hostname"], spec["subdomain"]) == ("db-5", "db")
    claimed = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-5"}}
    assert spec["volumes"] == [claimed, volumes[1]]
    assert world.get(CLAIMS, "data-db-5").doc["metadata"]["labels"] == {"app": "db"}
    world.delete(world.get(SETS, "db"))
    world.settle()
    assert (names(world.all(CLAIMS)), world.pods()) == (["data-db-5"], [])


def test_a_pod_that_is_leaving_is_made_again_only_when_it_is_gone() -> None:
    for policy in ("OrderedReady", "Parallel"):
        world = running(3, podManagementPolicy=policy)
        old = world.get("pods", "db-1")
        world.delete(old)
        world.run(10)
        assert world.get("pods", "db-1").uid == old.uid and len(world.pods()) == 3
        world.delete(old, grace_s=0)
        world.run()
        assert world.get("pods", "db-1").uid != old.uid


def test_scaling_down_takes_the_last_first_and_one_at_a_time() -> None:
    world = running(3)
    world.set(world.get(SETS, "db"), "spec", "replicas", to=1)
    world.run()
    assert [pod.key[1] for pod in world.pods() if pod.deleting] == ["db-2"]
    world.delete(world.get("pods", "db-2"), grace_s=0)
    world.run()
    assert [pod.key[1] for pod in world.pods() if pod.deleting] == ["db-1"]
    world.settle()
    assert names(world.pods()) == ["db-0"]


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_an_update_goes_from_the_last_to_the_first(policy: str) -> None:
    world = running(3, podManagementPolicy=policy)
    before = revisions(world)
    world.change_image(SETS, "db")
    order = []
    for _ in range(3):
        world.run()
        order += [pod.key[1] for pod in world.pods() if pod.deleting]
        world.kubelets()
        world.run()
        world.kubelets()
    assert order == ["db-2", "db-1", "db-0"]
    world.settle()
    after = revisions(world)
    assert set(after.values()) == {status(world)["updateRevision"]} and not set(after.values()) & set(before.values())
    assert status(world)["currentRevision"] == status(world)["updateRevision"]


def test_below_the_partition_pods_keep_their_revision_even_when_made_again() -> None:
    world = running(3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    old = status(world)["currentRevision"]
    world.change_image(SETS, "db")
    world.settle()
    world.delete(world.get("pods", "db-0"))
    world.settle()
    new = status(world)["updateRevision"]
    assert revisions(world) == {"db-0": old, "db-1": old, "db-2": new}
    assert world.get("pods", "db-0").doc["spec"]["containers"][0]["image"] == "example.invalid/c:1"
    assert (status(world)["currentReplicas"], status(world)["updatedReplicas"]) == (2, 1)


def test_on_delete_updates_only_what_somebody_deletes() -> None:
    world = running(2, updateStrategy={"type": "OnDelete"})
    old = status(world)["currentRevision"]
    world.change_image(SETS, "db")
    world.settle()
    world.delete(world.get("pods", "db-0"))
    world.settle()
    assert revisions(world) == {"db-0": status(world)["updateRevision"], "db-1": old}


def test_pods_of_a_set_that_was_orphaned_are_adopted_again_as_they_are() -> None:
    world = running(2)
    uids = {pod.uid for pod in world.pods()}
    world.delete(world.get(SETS, "db"), propagation="Orphan")
    world.run()
    assert not world.there(SETS, "db")
    world.create(SETS, a_workload("StatefulSet", "db", 2, serviceName="db"))
    world.settle()
    assert {pod.uid for pod in world.pods()} == uids
    assert all(pod.doc["metadata"]["ownerReferences"] for pod in world.pods())


DEEDS = st.lists(
    st.tuples(
        st.sampled_from(("delete", "gone", "ready", "unready", "fail", "scale", "image", "run", "kubelets")),
        st.integers(0, 5),
    ),
    max_size=25,
)


@given(DEEDS, st.sampled_from(("OrderedReady", "Parallel")))
def test_no_ordinal_is_there_twice_and_all_are_there_in_the_end(deeds: list[tuple[str, int]], policy: str) -> None:
    world = running(3, podManagementPolicy=policy)
    living: dict[str, str] = {pod.key[1]: pod.uid for pod in world.pods()}

    def watch(change: Any) -> None:
        if change.item.resource == "pods":
            name = change.item.key[1]
            if change.change_kind.value == "DELETED":
                del living[name]
            else:
                assert living.setdefault(name, change.item.uid) == change.item.uid

    world.store.listen(watch)
    for what, number in deeds:
        world.do(what, number, SETS, "db")
    for pod in world.pods():
        if phase(pod) == "Running":
            world.report(pod)
    world.settle(60)
    wanted = world.get(SETS, "db").doc["spec"]["replicas"]
    assert names(world.pods()) == [f"db-{i}" for i in range(wanted)]
    assert set(revisions(world).values()) <= {status(world)["updateRevision"]}
    assert status(world).get("updatedReplicas", 0) == status(world)["replicas"] == wanted
