"""DaemonSets: the nodes of their pods, their updates, and the counts in their status."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.workloads.daemon_sets import DaemonSets
from kubectl_eksdoc.simulator.workloads.garbage import PodGarbageCollector
from kubectl_eksdoc.simulator.workloads.taints import NodeTaints
from tests.simulator.workloads.world import World, a_node, a_template, a_workload, phase

SETS = "daemonsets.apps"


def a_world(*nodes: Doc, **spec: Any) -> World:
    world = World(
        lambda registry, index: [
            DaemonSets(registry, index),
            NodeTaints(registry, index),
            PodGarbageCollector(registry, index),
        ]
    )
    for node in nodes or (a_node("n1"), a_node("n2"), a_node("n3")):
        world.create("nodes", node)
    world.create(SETS, a_workload("DaemonSet", "agent", None, **spec))
    settle(world)
    return world


def settle(world: World, rounds: int = 40) -> None:
    """The same as `World.settle`, with each pod bound to its own node."""
    for _ in range(rounds):
        version = world.store.version
        world.run()
        for pod in world.pods():
            if phase(pod) == "Pending" and not pod.doc["spec"].get("nodeName") and not pod.deleting:
                world.place(pod, target(pod.doc))
        world.kubelets()
        world.run(1)
        if world.store.version == version:
            return
    raise AssertionError("it does not come to rest")


def target(pod: Doc) -> str:
    (term,) = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    return str(field["values"][0])


def places(world: World) -> list[str]:
    return sorted(target(pod.doc) for pod in world.pods() if not pod.deleting)


def status(world: World) -> Doc:
    return world.get(SETS, "agent").doc["status"]


def test_a_cordoned_node_keeps_its_pod_and_gets_another_when_that_is_deleted() -> None:
    world = a_world()
    world.set(world.get("nodes", "n1"), "spec", "unschedulable", to=True)
    settle(world)
    (pod,) = (each for each in world.pods() if target(each.doc) == "n1")
    world.delete(pod)
    world.run()
    assert places(world) == ["n2", "n3"], "while it stops the node has one"
    settle(world)
    assert places(world) == ["n1", "n2", "n3"]


def test_nodes_are_chosen_by_selector_and_taints() -> None:
    other = a_node("other")
    other["metadata"]["labels"]["pool"] = "special"
    tainted = a_node("tainted", taints=[{"key": "k", "effect": "NoSchedule"}])
    world = a_world(a_node("n1"), other, tainted)
    assert places(world) == ["n1", "other"]
    template = a_template("agent", nodeSelector={"pool": "special"})
    world.set(world.get(SETS, "agent"), "spec", "template", to=template)
    settle(world)
    assert places(world) == ["other"]


def test_a_taint_that_comes_later_leaves_the_pod_unless_it_puts_pods_out() -> None:
    world = a_world(a_node("n1"))
    world.set(world.get("nodes", "n1"), "spec", "taints", to=[{"key": "k", "effect": "NoSchedule"}])
    settle(world)
    assert places(world) == ["n1"]
    assert (status(world)["numberMisscheduled"], status(world)["desiredNumberScheduled"]) == (1, 0)
    world.set(world.get("nodes", "n1"), "spec", "taints", to=[{"key": "k", "effect": "NoExecute"}])
    settle(world)
    assert places(world) == []


def test_a_new_node_gets_a_pod_and_that_of_a_gone_node_goes() -> None:
    world = a_world()
    world.create("nodes", a_node("n4"))
    world.delete(world.get("nodes", "n1"))
    settle(world)
    world.run(70)
    settle(world)
    assert places(world) == ["n2", "n3", "n4"]
    assert status(world)["desiredNumberScheduled"] == 3


def test_an_update_takes_no_more_nodes_at_once_than_allowed_and_first_those_that_are_not_available() -> None:
    world = a_world(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}})
    ailing = world.report(world.pods()[1], ready=False)
    world.set(world.get(SETS, "agent"), "spec", "template", to=a_template("agent", hostNetwork=True))
    world.run()
    assert [pod.uid for pod in world.pods() if pod.deleting] == [ailing.uid]
    world.run(30)
    assert len(places(world)) == 2
    settle(world)
    assert all(pod.doc["spec"].get("hostNetwork") for pod in world.pods())
    assert status(world)["updatedNumberScheduled"] == 3


def test_on_delete_waits_for_somebody_to_delete() -> None:
    world = a_world(updateStrategy={"type": "OnDelete"})
    world.set(world.get(SETS, "agent"), "spec", "template", to=a_template("agent", hostNetwork=True))
    settle(world)
    assert status(world).get("updatedNumberScheduled", 0) == 0
    world.delete(world.pods()[0])
    settle(world)
    assert status(world)["updatedNumberScheduled"] == 1


DEEDS = st.lists(
    st.tuples(st.sampled_from(("delete", "cordon", "taint", "new", "image", "fail", "run")), st.integers(0, 4)),
    max_size=15,
)


@given(DEEDS)
def test_in_the_end_every_node_that_allows_it_has_exactly_one(deeds: list[tuple[str, int]]) -> None:
    world = a_world()
    for what, number in deeds:
        _do(world, what, number)
    settle(world)
    allowed = [
        node.key[1]
        for node in world.all("nodes")
        if not any(each["key"] == "k" for each in node.doc["spec"].get("taints") or ())
    ]
    kept = [name for name in places(world) if name not in allowed]
    assert [name for name in places(world) if name in allowed] == allowed and len(set(kept)) == len(kept)
    assert status(world)["desiredNumberScheduled"] == len(allowed)
    assert status(world)["numberMisscheduled"] == len(kept)
    assert status(world).get("updatedNumberScheduled", 0) == len(allowed)


def _do(world: World, what: str, number: int) -> None:
    nodes, there = world.all("nodes"), world.pods()
    node = nodes[number % len(nodes)]
    if what == "run":
        world.run(number)
    elif what == "cordon":
        world.set(node, "spec", "unschedulable", to=True)
    elif what == "taint":
        world.set(node, "spec", "taints", to=[{"key": "k", "effect": "NoSchedule"}])
    elif what == "new":
        world.create("nodes", a_node(f"n{len(nodes) + 1}"))
    elif what == "image":
        world.set(world.get(SETS, "agent"), "spec", "template", to=a_template("agent", hostname=str(number)))
    elif there and what == "delete":
        world.delete(there[number % len(there)])
    elif there and phase(there[number % len(there)]) == "Running":
        world.report(there[number % len(there)], phase="Failed", ready=False)
