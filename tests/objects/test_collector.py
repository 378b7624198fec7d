"""Pages and single objects become sorted facts; invalid ones are rejected by name."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Resource
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.placement import HostPort
from kubectl_eksdoc.objects.collector import CollectedPage, FactCollector, InvalidAnswer, identity_from
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.objects.structs import fast_constructor
from tests.builders import a_pod
from tests.objects.observing import T0

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def page(*items: dict[str, Any], kind: str = "PodList", **meta: Any) -> bytes:
    return json.dumps({"kind": kind, "apiVersion": "v1", "metadata": meta, "items": list(items)}).encode()


def item(name: str, namespace: str | None = "shop", uid: str = "u", version: str = "1", **rest: Any) -> dict[str, Any]:
    meta = {"name": name, "uid": f"{uid}-{name}", "resourceVersion": version, **rest.pop("meta", {})}
    if namespace is not None:
        meta["namespace"] = namespace
    return {"metadata": meta, **rest}


def collector(*pages: bytes, resource: Resource = kinds.PODS) -> FactCollector:
    found = FactCollector(Source.LIVE)
    for number, body in enumerate(pages):
        found.add_page(resource, body, f"page {number}")
    return found


def test_a_page_says_what_follows() -> None:
    gathered = FactCollector(Source.LIVE)
    body = page(item("a"), item("b"), **{"continue": "token", "remainingItemCount": 7})
    assert gathered.add_page(kinds.PODS, body, "o") == CollectedPage(2, "token", 7)
    assert gathered.add_page(kinds.PODS, page(item("c")), "o") == CollectedPage(1, "", None)
    assert gathered.add_page(kinds.SERVICES, b'{"kind":"ServiceList","items":null}', "o") == CollectedPage(0, "", None)


def test_reads_are_as_marked_and_counted() -> None:
    gathered = collector(page(item("a"), item("b")))
    gathered.set_state(kinds.PODS, ReadState.READ)
    gathered.set_state(kinds.BUDGETS, ReadState.FORBIDDEN, "list poddisruptionbudgets.policy")
    gathered.add_page(kinds.SERVICES, page(item("a"), kind="ServiceList"), "o")
    assert gathered.cluster(Identity(), NOW).reads == (
        KindRead(kinds.BUDGETS, ReadState.FORBIDDEN, 0, "list poddisruptionbudgets.policy"),
        KindRead(kinds.PODS, ReadState.READ, 2),
        KindRead(kinds.SERVICES, ReadState.FAILED, 1, "its list was not read to its end"),
    )


def test_the_same_object_twice_is_kept_once() -> None:
    cluster = collector(page(item("a"), item("a")), page(item("a"), item("b"))).cluster(Identity(), NOW)
    assert [p.name for p in cluster.pods] == ["a", "b"]
    assert cluster.notes == (
        "1 Pod twice in page 0: kept once",
        "1 Pod in page 0 and again in page 1: kept once",
    )


@pytest.mark.parametrize("other", [item("a", version="2"), item("a", uid="v")])
def test_two_objects_of_one_name_cannot_be(other: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswer, match="two different Pods are called shop/a .origin page 0 and origin page 1."):
        collector(page(item("a")), page(other))


def test_objects_without_identity_are_the_same_only_if_all_is() -> None:
    bare = {"metadata": {"name": "a", "namespace": "shop"}}
    assert len(collector(page(bare), page(bare)).cluster(Identity(), NOW).pods) == 1
    with pytest.raises(InvalidAnswer, match="two different"):
        collector(page(bare), page({**bare, "spec": {"nodeName": "n"}}))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "o: Pod list: Input data was truncated"),
        (b'{"kind":"Status","status":"Failure"}', "o: expected a list of pods, got an object of kind Status"),
        (b"{}", "o: expected a list of pods, got an object without items"),
        (page(item("a"), item("b", spec={"nodeName": 7})), "o: Pod shop/b: Expected `str | null`, got `int` - at"),
        (page({"spec": {}}), "o: a Pod has no name at `$.metadata.name`"),
        (page(item("a", namespace=None)), "o: Pod a has no namespace"),
        (page({**item("a"), "kind": "Service"}), "o: Service a is in a list of pods"),
        (page(item("a", status={"containerStatuses": [1]})), "got `int` - at `$.status.containerStatuses[0]`"),
        (b'{"items":[{"x":' + b"[" * 100_000, "o: Pod list: maximum recursion depth"),
    ],
)
def test_bad_pages_are_refused_by_name(body: bytes, says: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        FactCollector(Source.LIVE).add_page(kinds.PODS, body, "o")
    assert says in str(caught.value)


def test_observed_at_is_the_newest_time_that_is_no_deletion() -> None:
    gathered = collector(
        page(
            item("a", meta={"creationTimestamp": "2026-11-20T10:00:00Z", "deletionTimestamp": "2027-01-01T00:00:00Z"}),
            item("b", status={"conditions": [{"type": "Ready", "lastTransitionTime": "2026-11-20T10:00:05Z"}]}),
        )
    )
    assert gathered.cluster(Identity(), None).observed_at.isoformat() == "2026-11-20T10:00:05+00:00"
    renewed = item("l", spec={"renewTime": "2026-11-20T10:00:09.500000Z"})
    gathered.add_page(kinds.LEASES, page(renewed, kind="LeaseList"), "o")
    assert gathered.cluster(Identity(), None).observed_at.isoformat() == "2026-11-20T10:00:09.500000+00:00"
    assert gathered.cluster(Identity(), NOW).observed_at == NOW


def test_without_any_time_a_note_says_so() -> None:
    cluster = collector(page(item("a"))).cluster(Identity(), None)
    assert cluster.observed_at.year == 1970
    assert "no object says when" in cluster.notes[0]


def test_identity_is_what_all_nodes_agree_about() -> None:
    def nodes(*labels: dict[str, str]) -> Any:
        items = [item(f"n{i}", None, meta={"labels": each}) for i, each in enumerate(labels)]
        return collector(page(*items, kind="NodeList"), resource=kinds.NODES).cluster(Identity(), NOW).nodes

    name, region = "alpha.eksctl.io/cluster-name", "topology.kubernetes.io/region"
    both = {name: "prod", region: "eu-west-1"}
    assert identity_from(nodes(both, {region: "eu-west-1"})) == Identity(cluster="prod", region="eu-west-1")
    assert identity_from(nodes(both, {name: "test", region: "eu-west-2"})) == Identity()
    assert identity_from(()) == Identity()


def test_what_replicas_share_is_one_value() -> None:
    meta = {"labels": {"app": "web"}, "ownerReferences": [{"controller": True, "kind": "ReplicaSet", "name": "w"}]}
    spec = {"nodeName": "n-1", "tolerations": [{"operator": "Exists"}]}
    one, two = collector(page(*(item(n, meta=meta, spec=spec) for n in "ab"))).cluster(Identity(), NOW).pods
    assert one.labels is two.labels
    assert one.owner is two.owner
    assert one.tolerations is two.tolerations
    assert one.node is two.node


INVALID: list[tuple[Resource, dict[str, Any], str, str | None]] = [
    (kinds.PODS, item("b", spec={"nodeName": "n", "priority": "x"}), "Pod shop/b: Expected `int | null`", "n"),
    (kinds.PODS, item("b"), "Pod shop/b has no spec", ""),
    (kinds.PODS, {"metadata": {"namespace": "shop"}, "spec": {"nodeName": "n"}}, "a Pod has no name", "n"),
    (
        kinds.PODS,
        item("b", spec={"nodeName": "n"}, meta={"creationTimestamp": "9999-12-31T23:59:59-23:59"}),
        '"creationTimestamp":"9999-12-31T23:59:59-23:59" is no time of a real object',
        "n",
    ),
    (kinds.BUDGETS, item("b"), "PodDisruptionBudget shop/b has no spec", None),
]


@pytest.mark.parametrize(("resource", "invalid", "said", "node"), INVALID)
@pytest.mark.parametrize("paged", [False, True])
def test_of_a_snapshot_what_is_not_valid_is_left_out_and_named(
    resource: Resource, invalid: dict[str, Any], said: str, node: str | None, paged: bool
) -> None:
    """The other objects are kept, as facts and as raw objects, and their kind counts as incomplete."""
    raw = RawObjects()
    gathered = FactCollector(Source.SNAPSHOT, raw)
    valid = item("a", spec={})
    if paged:
        body = json.dumps({"items": [valid, invalid], "metadata": {}}, separators=(",", ":")).encode()
        assert gathered.add_page(resource, body, "o") == CollectedPage(2, "", None)
    else:
        for each in (valid, invalid):
            gathered.add_item(resource, json.dumps(each, separators=(",", ":")).encode(), "o")
    gathered.set_state(resource, ReadState.READ)
    cluster = gathered.cluster(Identity(), NOW)
    (left_out,) = cluster.invalid_entries
    (read,) = cluster.reads
    assert said in left_out.message and left_out.node == node
    assert (read.state, read.count, read.known) == (ReadState.INVALID, 1, False) and left_out.message in read.detail
    assert f"left out, as it is not valid: {left_out.message}" in cluster.notes
    assert [each["metadata"]["name"] for each in raw.documents()] == ["a"]


def test_a_time_that_was_never_set_is_none_of_a_wrong_object() -> None:
    gathered = FactCollector(Source.SNAPSHOT)
    zero = item("a", spec={}, meta={"creationTimestamp": "0001-01-01T00:00:00Z"})
    gathered.add_item(kinds.PODS, json.dumps(zero).encode(), "o")
    assert gathered.cluster(Identity(), NOW).invalid_entries == ()


def test_of_many_that_are_not_valid_the_first_are_told_with_their_kind_and_all_in_notes() -> None:
    gathered = FactCollector(Source.SNAPSHOT)
    for number in range(5):
        gathered.add_item(kinds.PODS, json.dumps(item(f"p-{number}")).encode(), "o")
    gathered.set_state(kinds.PODS, ReadState.READ)
    cluster = gathered.cluster(Identity(), NOW)
    assert cluster.reads[0].detail.endswith("p-2 has no spec; and 2 more") and len(cluster.notes) >= 5


# Objects without a uid stay distinct, and references to them still work.

RS: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def meta(name: str, namespace: str | None = "shop", **rest: Any) -> dict[str, Any]:
    return {"spec": {}, "metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **rest}}


def gathered(*held: tuple[Resource, dict[str, Any]]) -> Cluster:
    collector = FactCollector(Source.SNAPSHOT)
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


@pytest.mark.parametrize(
    ("held", "said", "owner"),
    [
        ({}, {"uid": "gone"}, "ReplicaSet/shop/web"),  # it lost its uid, and its pods still know it
        ({"uid": "u-web"}, {}, "u-web"),
        ({"uid": "new"}, {"uid": "old"}, "old"),  # an object of the same name was created again
        ({}, {"uid": "theirs", "apiVersion": "example.io/v1"}, "theirs"),
    ],
)
def test_which_owner_a_reference_means(held: dict[str, Any], said: dict[str, Any], owner: str) -> None:
    refs = {"ownerReferences": [{**RS, **said}]}
    owned = ((kind, meta("a", **refs)) for kind in (kinds.PODS, kinds.JOBS, kinds.DEPLOYMENTS))
    cluster = gathered((kinds.REPLICA_SETS, meta("web", **held)), *owned)
    found = [each.owner.uid for each in (*cluster.pods, *cluster.jobs, *cluster.workloads) if each.owner is not None]
    assert found == [owner] * 3


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


# A fact that was made quickly is the fact, and as frozen as any.


@pytest.mark.parametrize("fact", [a_pod(), a_pod(owner=None, labels={}), a_pod(phase="Pending", priority=7)])
def test_it_is_equal_in_all_but_its_making(fact: Pod) -> None:
    made = fast_constructor(Pod)(*(getattr(fact, name) for name in Pod.__slots__))
    assert type(made) is Pod
    assert made == fact
    assert repr(made) == repr(fact)
    assert made.key == fact.key
    assert replace(made, name="other") == replace(fact, name="other")
    assert copy.copy(made) == pickle.loads(pickle.dumps(made)) == fact


def test_it_is_frozen_and_can_be_a_key() -> None:
    made = fast_constructor(ControllerOwner)("ReplicaSet", "web", "u")
    assert {made: 1}[ControllerOwner("ReplicaSet", "web", "u")] == 1
    with pytest.raises(FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]


def test_defaults_and_names_are_kept() -> None:
    assert fast_constructor(HostPort)(port=80) == HostPort(80)
    with pytest.raises(TypeError):
        fast_constructor(ControllerOwner)("ReplicaSet")  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True)
class _Bag:
    held: dict[str, int] = field(default_factory=dict)


def test_a_default_that_is_made_anew_is_made_anew() -> None:
    make = fast_constructor(_Bag)
    assert make().held is not make().held
