"""What is held of a dump that is gone through once more: lists as they are, single pods, and signs of old versions."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.removed_apis import removed_api
from kubectl_eksdoc.amazon.written_kinds import resource_of
from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import KindUsage, ManifestText, ObjectName, Written, WrittenBy, WrittenObject
from kubectl_eksdoc.model.kinds import Absent, NotHeld, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.objects.held import HeldObjects, HeldPods
from kubectl_eksdoc.objects.held_answers import HeldApis
from kubectl_eksdoc.objects.manifests import written_object
from kubectl_eksdoc.objects.single import RawObjects
from tests.objects.test_helm_releases import HELD, TOKEN, a_secret

WANTED = (ObjectName("apps/v1", "DaemonSet", "kube-system", "aws-node"),)


def item(name: str, namespace: str = "kube-system") -> bytes:
    return json.dumps({"metadata": {"name": name, "namespace": namespace}}).encode()


def test_lists_of_the_namespaces_that_are_asked_about_are_kept() -> None:
    held = HeldObjects(WANTED, "the snapshot", (kinds.CONTROLLER_REVISIONS, kinds.REPLICA_SETS))
    assert kinds.REPLICA_SETS in held.resources
    held.add_other("ControllerRevision", "apps/v1", item("a"))
    held.add_other("ControllerRevision", "apps/v1", item("b", "shop"))
    held.add_page(kinds.REPLICA_SETS, b'{"items": [' + item("c") + b"," + item("d") + b"]}")
    found = held.listed(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert not isinstance(found, Unknown) and [doc["metadata"]["name"] for doc in found] == ["a"]
    sets = held.listed(kinds.REPLICA_SETS, "kube-system")
    assert not isinstance(sets, Unknown) and [doc["kind"] for doc in sets] == ["ReplicaSet", "ReplicaSet"]


def test_a_list_that_is_not_held_is_unknown() -> None:
    held = HeldObjects(WANTED, "the snapshot", (kinds.CONTROLLER_REVISIONS,))
    found = held.listed(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert found == NotHeld("the snapshot holds no ControllerRevision of namespace kube-system")


LOG = LogOf("shop", "b", "app")


def a_pod(name: str, **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def read(raw: RawObjects) -> None:
    raw.add_item(kinds.NODES, json.dumps(a_pod("a")).encode())
    raw.add_other("Widget", "x/v1", json.dumps(a_pod("b")).encode())
    raw.add_item(kinds.PODS, json.dumps(a_pod("a")).encode())
    several = [a_pod("b", containers=[{"name": "app"}]), a_pod("c", containers=3)]
    raw.add_page(kinds.PODS, json.dumps({"items": several}).encode())


def test_those_that_are_asked_for() -> None:
    pods = HeldPods(read, "the snapshot")
    found = pods.containers(["shop/b", "shop/c", "shop/d"])
    assert found["shop/b"] == (Container("app"),) and found["shop/d"] == Absent("the snapshot has no pod shop/d")
    told = found["shop/c"]
    assert isinstance(told, Unknown) and "containers" in told.why
    assert pods.logs([LOG]) == {LOG: NotHeld("the snapshot holds no logs")}


def test_what_cannot_be_read_twice_is_unknown() -> None:
    def refuse(raw: RawObjects) -> None:
        raise SnapshotError("it is standard input")

    pods = HeldPods(refuse, "the snapshot")
    told = pods.containers(["shop/b"])["shop/b"]
    assert isinstance(told, Unknown) and told.why.endswith("it is standard input") and pods.containers([]) == {}


ROW = removed_api("policy/v1beta1", "PodDisruptionBudget")
assert ROW is not None
PDB = resource_of(ROW)
OLD = {"apiVersion": "policy/v1beta1", "manager": "web", "operation": "Update", "time": "t"}


def an_object(last: Any = None, *entries: Any, name: str = "web") -> dict[str, Any]:
    notes = {} if last is None else {"kubectl.kubernetes.io/last-applied-configuration": last}
    meta = {"name": name, "namespace": "shop", "annotations": notes}
    return {"metadata": meta | ({"managedFields": list(entries)} if entries else {}), "spec": {"token": TOKEN}}


def raw(doc: Any) -> bytes:
    return json.dumps(doc).encode()


def applied(version: str = "policy/v1beta1") -> str:
    return json.dumps({"apiVersion": version, "kind": "PodDisruptionBudget", "spec": {"token": TOKEN}})


def told(held: HeldApis, resource: Resource = PDB) -> KindUsage:
    (found,) = held.written((resource,))
    return found


def test_signs_of_a_removed_version_are_kept_and_nothing_else() -> None:
    held = HeldApis("the snapshot x")
    held.add_item(kinds.BUDGETS, raw(an_object(applied(), OLD)))
    held.add_item(kinds.BUDGETS, raw(an_object(applied("policy/v1"), OLD | {"apiVersion": "policy/v1"})))
    signs = (
        Written(WrittenBy.LAST_APPLIED, "policy/v1beta1", "PodDisruptionBudget"),
        Written(WrittenBy.MANAGED_FIELDS, "policy/v1beta1", "PodDisruptionBudget", "web", "Update", "t"),
    )
    of = ObjectName("policy/v1", "PodDisruptionBudget", "shop", "web")
    assert told(held) == KindUsage(PDB, (WrittenObject(of, signs),))
    assert TOKEN not in repr(told(held))


def test_objects_of_pages_and_of_no_fact_come_by() -> None:
    held = HeldApis("the snapshot x")
    held.add_page(kinds.BUDGETS, raw({"items": [an_object(applied())]}))
    held.add_other("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", raw(an_object(None, OLD)))
    assert not isinstance(told(held).objects, Unknown) and told(held).objects != ()
    held.forget(kinds.BUDGETS)
    assert isinstance(told(held).objects, Unknown)


def test_a_kind_that_is_not_held_is_unknown_unless_all_is_held() -> None:
    assert told(HeldApis("the snapshot x")).objects == NotHeld("the snapshot x holds no poddisruptionbudgets")
    assert told(HeldApis("the demo", complete=True)) == KindUsage(PDB, ())
    empty = HeldApis("the snapshot x")
    empty.add_page(kinds.BUDGETS, b'{"items": []}')
    assert told(empty) == KindUsage(PDB, ())


def test_a_dump_without_managed_fields_lacks_what_clients_wrote() -> None:
    held = HeldApis("the snapshot x")
    held.add_item(kinds.BUDGETS, raw(an_object()))
    lacking = told(held).lacking
    assert told(held).objects == () and lacking is not None and "--show-managed-fields" in lacking.why


def test_releases_of_helm_are_read_where_there_are_secrets() -> None:
    held = HeldApis("the snapshot x")
    assert isinstance(held.releases(), Unknown)
    held.add_other("Secret", "v1", raw({"metadata": {"name": "plain"}, "data": {"helm": TOKEN}}))
    assert held.releases() == ()
    held.add_other("Secret", "v1", raw(a_secret(HELD, version="2", status="superseded")))
    held.add_other("Secret", "v1", raw(a_secret()))
    held.add_other("Secret", "v1", raw(a_secret(name="other") | {"type": "Opaque"}))
    found = held.releases()
    assert not isinstance(found, Unknown)
    (release,) = found
    assert release.revision == 3 and isinstance(release.manifest, ManifestText) and release.manifest.documents
    assert TOKEN not in repr(found)


def test_a_dump_never_holds_what_the_server_counts() -> None:
    held = HeldApis("the snapshot x")
    assert isinstance(held.requested(), Unknown)
    held.count("# HELP apiserver_requested_deprecated_apis\napiserver_requested_deprecated_apis{} 1\nother 1\n")
    assert held.requested() == ("apiserver_requested_deprecated_apis{} 1",)


ANY = st.none() | st.integers() | st.text(max_size=6) | st.lists(st.none() | st.text(max_size=3), max_size=2)
META = st.dictionaries(st.sampled_from(["name", "namespace", "annotations", "managedFields", "labels"]), ANY)


@given(st.dictionaries(st.sampled_from(["metadata", "type", "data"]), ANY | META), ANY, st.lists(ANY, max_size=2))
def test_any_object_is_read(doc: dict[str, Any], last: Any, entries: list[Any]) -> None:
    for each in (doc, an_object(last, *entries)):
        written_object(each, "PodDisruptionBudget", "policy/v1")
        held = HeldApis("the snapshot x")
        held.add_item(kinds.BUDGETS, raw(each))
        held.add_other("Secret", "v1", raw(each))
        told(held)
        held.releases()


def test_what_is_no_object_is_passed_over() -> None:
    held = HeldApis("the snapshot x")
    for odd in (b"[]", b'"managedFields"', b"{", b"[managedFields"):
        held.add_item(kinds.BUDGETS, odd)
    assert told(held).objects == ()
