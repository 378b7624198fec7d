"""Deletion of dependents: in the background, in the foreground, orphaned, with a namespace, with a node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.simulator.workloads.garbage import GarbageCollector, NamespaceController, PodGarbageCollector
from tests.simulator.workloads.world import NAMESPACE, World, a_node, a_pod, names


def a_world() -> World:
    return World(
        lambda registry, index: [
            GarbageCollector(registry, index),
            NamespaceController(registry),
            PodGarbageCollector(registry, index),
        ]
    )


def a_map(name: str, *owners: StoredItem, blocks: bool = False, **meta: object) -> Doc:
    owned = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": each.key[1], "uid": each.uid, "blockOwnerDeletion": blocks}
        for each in owners
    ]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owned, **meta}}


def put(world: World, name: str, *owners: StoredItem, blocks: bool = False, **meta: object) -> StoredItem:
    return world.create("configmaps", a_map(name, *owners, blocks=blocks, **meta))


def left(world: World) -> list[str]:
    return names(world.all("configmaps"))


def test_foreground_goes_down_and_comes_up_again() -> None:
    world = a_world()
    top = put(world, "top")
    middle = put(world, "middle", top, blocks=True)
    put(world, "leaf", middle, blocks=True, finalizers=["example.com/wait"])
    put(world, "free", top, finalizers=["example.com/wait"])  # blocks no owner
    world.delete(top, propagation="Foreground")
    world.run()
    assert left(world) == ["free", "leaf", "middle", "top"]
    world.set(world.get("configmaps", "leaf"), "metadata", "finalizers", to=[])
    world.run()
    assert left(world) == ["free"] and world.get("configmaps", "free").deleting


def test_owners_of_kinds_that_were_never_seen_are_not_missed_and_one_made_again_is_another() -> None:
    world = a_world()
    for kind, version in (("Workflow", "argoproj.io/v1alpha1"), ("Secret", "v1")):
        owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": f"uid-{kind}"}
        put(world, kind.lower())
        world.set(world.get("configmaps", kind.lower()), "metadata", "ownerReferences", to=[owner])
    top = put(world, "top")
    leaf = a_map("leaf", top)
    world.delete(top)
    put(world, "top")
    world.create("configmaps", leaf)
    world.run()
    assert left(world) == ["secret", "top", "workflow"]


def test_a_namespace_goes_when_its_content_has_gone_pods_first() -> None:
    world = a_world()
    put(world, "config")
    pod = world.create("pods", a_pod(node="n1"))
    world.delete(world.get("namespaces", NAMESPACE, ""))
    world.run()
    assert world.get("pods", "p").deleting and left(world) == ["config"]
    world.delete(pod, grace_s=0)
    world.run()
    assert left(world) == [] and not world.there("namespaces", NAMESPACE)


def test_pods_of_a_node_that_is_gone_are_failed_and_deleted_by_force_after_a_quarantine() -> None:
    world = a_world()
    world.create("nodes", a_node("n2"))
    node = world.create("nodes", a_node("n1"))
    pod = world.create("pods", a_pod(node="n1"))
    world.set(pod, "metadata", "finalizers", to=["batch.kubernetes.io/job-tracking"])
    world.run(5)
    world.delete(node)
    world.run(15 + 39)
    assert not world.get("pods", "p").deleting
    world.run(1)
    marked = world.get("pods", "p")
    assert marked.deleting and marked.doc["status"]["phase"] == "Failed"
    (target,) = marked.doc["status"]["conditions"]
    assert (target["type"], target["reason"]) == ("DisruptionTarget", "DeletionByPodGC")
    world.set(marked, "metadata", "finalizers", to=[])
    assert not world.there("pods", "p")


DEEDS = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from(("Background", "Foreground", "Orphan", "run"))), max_size=6
)


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 6), max_size=3), st.booleans()), min_size=2, max_size=8),
    DEEDS,
)
def test_nothing_owned_by_nobody_is_left_and_nothing_with_an_owner_goes(
    made: list[tuple[set[int], bool]], deeds: list[tuple[int, str]]
) -> None:
    world = a_world()
    items: list[StoredItem] = []
    for i, (owners, blocks) in enumerate(made):
        items.append(put(world, f"m{i}", *(items[k] for k in owners if k < i), blocks=blocks))
    world.run()
    expected = {item.uid: {owner["uid"] for owner in _owners(item)} for item in items}
    for number, how in deeds:
        if how == "run" or number >= len(items) or items[number].uid not in expected:
            continue
        world.run()
        world.delete(items[number], propagation=how)
        world.run()
        _go(expected, items[number].uid, orphans=how == "Orphan")
    world.run(1)
    assert {item.uid: {owner["uid"] for owner in _owners(item)} for item in world.all("configmaps")} == expected


def _owners(item: StoredItem) -> list[Doc]:
    return item.doc["metadata"].get("ownerReferences") or []


def _go(there: dict[str, set[str]], gone: str, orphans: bool) -> None:
    """The model: remove `gone` from its dependents, and delete those that have no other owner."""
    del there[gone]
    for uid, owners in list(there.items()):
        if gone in owners:
            owners.discard(gone)
            if not owners and not orphans and uid in there:
                _go(there, uid, orphans=False)
