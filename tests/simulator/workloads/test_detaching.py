"""Volumes leave a node a moment after the last pod there that uses them."""

from __future__ import annotations

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.workloads.garbage import ATTACHMENTS, TAKES_S, DetachController
from tests.simulator.workloads.world import World

CLAIMS, PODS, NODES = "persistentvolumeclaims", "pods", "nodes"


def a_world(volume: str = "pv-0", node: str = "n1") -> World:
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


def test_it_stays_as_long_as_a_pod_uses_it() -> None:
    world = a_world()
    world.delete(world.get(PODS, "one"), grace_s=0)
    world.run(60)
    assert is_attached(world)
    world.delete(world.get(PODS, "two"), grace_s=0)
    world.run(TAKES_S - 1)
    assert is_attached(world), "it takes its time"
    world.run(1)
    assert not is_attached(world)


def test_what_no_pod_on_its_node_uses_goes() -> None:
    world = a_world(node="n2")
    world.run(TAKES_S)
    assert not is_attached(world)


def test_what_a_pod_holds_inline_is_nobody_s_business() -> None:
    world = a_world(volume="")
    for pod in ("one", "two"):
        world.delete(world.get(PODS, pod), grace_s=0)
    world.run(60)
    assert is_attached(world)
