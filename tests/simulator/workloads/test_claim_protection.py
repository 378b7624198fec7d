"""Claims in deletion stay exactly as long as a pod on a node uses them."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.workloads.garbage import CLAIM_PROTECTION_FINALIZER as FINALIZER
from kubectl_eksdoc.simulator.workloads.garbage import ClaimProtection, NamespaceController
from tests.simulator.workloads.world import NAMESPACE, World

CLAIMS, PODS = "persistentvolumeclaims", "pods"
NAMED = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
EPHEMERAL = {"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}


def a_world() -> World:
    world = World(lambda registry, index: [ClaimProtection(registry, index), NamespaceController(registry)])
    for name in ("data", "user-data"):
        meta = {"name": name, "finalizers": [FINALIZER]}
        world.create(CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": {}})
    return world


def a_user(world: World, volume: Doc, node: str) -> None:
    spec = {"containers": [{"name": "c"}], "volumes": [volume], **({"nodeName": node} if node else {})}
    world.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"}, "spec": spec})


@pytest.mark.parametrize(("volume", "claim"), [(NAMED, "data"), (EPHEMERAL, "user-data")])
def test_a_claim_in_use_goes_with_its_last_pod(volume: Doc, claim: str) -> None:
    world = a_world()
    a_user(world, volume, "n1")
    world.set(world.get(CLAIMS, "data"), "metadata", "finalizers", to=[FINALIZER, "example.com/backup"])
    for name in ("data", "user-data"):
        world.delete(world.get(CLAIMS, name))
    world.run(60)
    assert FINALIZER in world.get(CLAIMS, claim).doc["metadata"]["finalizers"]
    assert world.there(CLAIMS, "user-data") is (claim == "user-data"), "nobody uses the other one"
    world.delete(world.get(PODS, "user"), grace_s=0)
    world.run(1)
    assert not world.there(CLAIMS, "user-data")
    assert world.get(CLAIMS, "data").doc["metadata"]["finalizers"] == ["example.com/backup"], "others hold on"


def test_claims_do_not_hold_up_their_namespace() -> None:
    world = a_world()
    world.delete(world.get("namespaces", NAMESPACE))
    world.run(5)
    assert not world.all(CLAIMS) and not world.there("namespaces", NAMESPACE)
