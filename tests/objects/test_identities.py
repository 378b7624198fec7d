"""Objects without a uid stay apart, and what refers to them still finds them."""

from __future__ import annotations

import json
from typing import Any

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import Collector
from tests.objects.observing import T0

RS: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def meta(name: str, namespace: str | None = "shop", **rest: Any) -> dict[str, Any]:
    return {"spec": {}, "metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **rest}}


def gathered(*held: tuple[Resource, dict[str, Any]]) -> Cluster:
    collector = Collector(Source.SNAPSHOT)
    for resource, item in held:
        collector.add_item(resource, json.dumps(item).encode(), "dump")
    return collector.cluster(Identity(), T0)


def test_an_object_without_a_uid_is_known_by_its_name_and_a_note_says_so() -> None:
    cluster = gathered(
        (kinds.NODES, meta("old-1", None)),
        (kinds.PODS, meta("a")),
        (kinds.PODS, meta("a", "other", uid="")),
        (kinds.PODS, meta("b", uid="u-b")),
    )
    assert [p.uid for p in cluster.pods] == ["Pod/other/a", "Pod/shop/a", "u-b"]
    assert [n.uid for n in cluster.nodes] == ["Node/old-1"]
    assert cluster.notes == ("without a uid, so known by kind, namespace and name: 1 Node, 2 Pods",)


def test_an_owner_that_lost_its_uid_is_found_by_pods_that_still_know_it() -> None:
    refs = {"ownerReferences": [{**RS, "uid": "gone"}]}
    cluster = gathered((kinds.REPLICA_SETS, meta("web")), (kinds.PODS, meta("a", uid="u", **refs)))
    owner = cluster.pods[0].owner
    assert owner is not None
    assert owner.uid == cluster.workloads[0].uid == "ReplicaSet/shop/web"


def test_a_reference_without_a_uid_takes_that_of_the_object() -> None:
    cluster = gathered(
        (kinds.REPLICA_SETS, meta("web", uid="u-web")), (kinds.PODS, meta("a", uid="u", ownerReferences=[RS]))
    )
    owner = cluster.pods[0].owner
    assert owner is not None and owner.uid == "u-web"


def test_an_owner_of_the_same_name_that_was_made_anew_is_not_the_owner() -> None:
    refs = {"ownerReferences": [{**RS, "uid": "old"}]}
    cluster = gathered(
        (kinds.REPLICA_SETS, meta("web", uid="new")), (kinds.PODS, meta("a", **refs)), (kinds.PODS, meta("b"))
    )
    owner = cluster.pods[0].owner
    assert owner is not None and owner.uid == "old"


def test_a_kind_of_another_group_is_not_the_owner() -> None:
    refs = {"ownerReferences": [{**RS, "apiVersion": "example.io/v1", "uid": "theirs"}]}
    cluster = gathered((kinds.REPLICA_SETS, meta("web")), (kinds.PODS, meta("a", **refs)))
    owner = cluster.pods[0].owner
    assert owner is not None and owner.uid == "theirs"


def test_endpoints_find_pods_that_lost_their_uid() -> None:
    target = {"kind": "Pod", "name": "a", "namespace": "shop", "uid": "gone"}
    piece = {
        **meta("s", uid="u"),
        "endpoints": [{"addresses": ["10.0.0.1"], "targetRef": target}, {"addresses": ["x"]}],
    }
    cluster = gathered((kinds.PODS, meta("a")), (kinds.ENDPOINT_SLICES, piece))
    assert [e.pod_uid for e in cluster.endpoint_slices[0].endpoints] == ["Pod/shop/a", ""]


def test_the_cluster_is_known_by_its_namespace_kube_system() -> None:
    system = (kinds.NAMESPACES, meta("kube-system", None, uid="c-1"))
    assert gathered(system, (kinds.NAMESPACES, meta("shop", None, uid="c-2"))).identity.uid == "c-1"
    assert gathered((kinds.NAMESPACES, meta("shop", None, uid="c-2"))).identity.uid == ""
    assert gathered((kinds.NAMESPACES, meta("kube-system", None))).identity.uid == ""
