"""The node lifecycle: taints, evictions by taints, and volumes that detach."""

from __future__ import annotations

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.workloads.garbage import ATTACHMENTS, DETACH_S, DetachController
from kubectl_eksdoc.simulator.workloads.taints import NodeTaints, TaintEvictions
from tests.simulator.workloads.world import World, a_node, a_pod

TAINT = {"key": "example.com/out", "value": "yes", "effect": "NoExecute"}


def a_world() -> World:
    world = World(lambda registry, index: [NodeTaints(registry, index), TaintEvictions(registry, index)])
    world.create("nodes", a_node("n1"))
    return world


def taints(world: World) -> list[tuple[str, str]]:
    return [(each["key"], each["effect"]) for each in world.get("nodes", "n1").doc["spec"].get("taints", ())]


def taint(world: World, *given: Doc) -> None:
    world.set(world.get("nodes", "n1"), "spec", "taints", to=list(given))
    world.run()


def test_a_cordoned_node_gets_its_taint_and_loses_it_again() -> None:
    world = a_world()
    world.set(world.get("nodes", "n1"), "spec", "taints", to=[{**TAINT, "effect": "NoSchedule"}])
    world.set(world.get("nodes", "n1"), "spec", "unschedulable", to=True)
    world.run()
    assert taints(world) == [
        ("example.com/out", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]
    assert world.get("nodes", "n1").doc["spec"]["taints"][1]["timeAdded"] == "2026-11-20T08:55:00Z"
    world.set(world.get("nodes", "n1"), "spec", "unschedulable", to=None)
    world.run()
    assert taints(world) == [("example.com/out", "NoSchedule")]


def test_a_node_that_is_not_heard_of_is_unreachable_and_its_pods_stay_for_five_minutes() -> None:
    world = a_world()
    tolerated = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    world.create("pods", a_pod(node="n1", tolerations=[{**tolerated, "tolerationSeconds": 300}]))
    node = world.get("nodes", "n1")
    unknown = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    world.registry.update(node, {**node.doc, "status": unknown}, status=True)
    world.run(299)
    assert taints(world) == [
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
    ]
    assert not world.get("pods", "p").deleting
    world.run(1)
    assert world.get("pods", "p").deleting


def test_pods_that_do_not_tolerate_a_taint_are_deleted_with_their_grace() -> None:
    world = a_world()
    world.create("pods", a_pod("out", node="n1"))
    world.create("pods", a_pod("stays", node="n1", tolerations=[{"operator": "Exists"}]))
    world.create("pods", a_pod("elsewhere", node="n2"))
    taint(world, TAINT)
    gone = world.get("pods", "out")
    assert gone.deleting and gone.doc["metadata"]["deletionGracePeriodSeconds"] == 30
    (target,) = gone.doc["status"]["conditions"]
    assert (target["reason"], target["status"]) == ("DeletionByTaintManager", "True")
    assert not world.get("pods", "stays").deleting and not world.get("pods", "elsewhere").deleting


def test_a_taint_that_goes_in_time_changes_nothing_and_the_shortest_toleration_that_is_used_decides() -> None:
    world = a_world()
    long = {"key": "example.com/out", "operator": "Exists", "tolerationSeconds": 90}
    short = {"key": "example.com/out", "operator": "Equal", "value": "yes", "tolerationSeconds": 60}
    world.create("pods", a_pod(node="n1", tolerations=[long, short]))
    taint(world, TAINT)
    world.run(59)
    taint(world)
    world.run(10)
    assert not world.get("pods", "p").deleting
    taint(world, TAINT)
    world.run(59)
    assert not world.get("pods", "p").deleting, "its time begins anew"
    world.run(1)
    assert world.get("pods", "p").deleting


CLAIMS, PODS, NODES = "persistentvolumeclaims", "pods", "nodes"


def attached(volume: str = "pv-0", node: str = "n1") -> World:
    world = World(lambda registry, index: [DetachController(registry, index)])
    claim: Doc = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    world.create(CLAIMS, {**claim, "spec": {"volumeName": "pv-0"}})
    for pod in ("one", "two"):
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        spec = {"containers": [{"name": "c"}], "volumes": volumes, "nodeName": "n1"}
        world.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod}, "spec": spec})
    source: Doc = {"persistentVolumeName": volume} if volume else {"inlineVolumeSpec": {}}
    attachment: Doc = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "csi-0"}}
    spec = {"attacher": "ebs.csi.aws.com", "nodeName": node, "source": source}
    world.registry.create(ATTACHMENTS, {**attachment, "spec": spec})
    return world


def is_attached(world: World) -> bool:
    return world.registry.store.get(ATTACHMENTS, ("", "csi-0")) is not None


def test_it_stays_as_long_as_a_pod_on_its_node_uses_it() -> None:
    world, elsewhere, inline = attached(), attached(node="n2"), attached(volume="")
    for each in (world, inline):
        each.delete(each.get(PODS, "one"), grace_s=0)
    world.run(60)
    assert is_attached(world)
    for each in (world, inline):
        each.delete(each.get(PODS, "two"), grace_s=0)
        each.run(DETACH_S - 1)
    assert is_attached(world), "it takes its time"
    for each in (world, inline, elsewhere):
        each.run(DETACH_S)
    assert [is_attached(each) for each in (world, inline, elsewhere)] == [False, True, False], "inline: nobody's"
