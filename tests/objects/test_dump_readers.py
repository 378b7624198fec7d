"""A second pass over a dump: lists unchanged, single pods, and signs of old API versions."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.removed_apis import find_removed_api
from kubectl_eksdoc.amazon.written_kinds import resource_of
from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import (
    KindUsage,
    ManifestText,
    ObjectName,
    WriteRecord,
    WriteSource,
    WrittenObject,
)
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import KubernetesEvent, Revision
from kubectl_eksdoc.model.kinds import Absent, NotInSnapshot, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey, Pod
from kubectl_eksdoc.objects.collector import InvalidAnswer
from kubectl_eksdoc.objects.dump_readers import (
    DumpChangeReader,
    DumpObjectReader,
    DumpPodReader,
    FactEvent,
    FactEventKind,
    WatchDecoder,
    revision_from_document,
)
from kubectl_eksdoc.objects.dump_readers import event_from_document as event_of
from kubectl_eksdoc.objects.manifests import written_object
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.objects.snapshot_answers import DumpApiUsage
from tests.any_json import anything
from tests.objects.test_helm_releases import HELD, TOKEN, a_secret

WANTED = (ObjectName("apps/v1", "DaemonSet", "kube-system", "aws-node"),)


def item(name: str, namespace: str = "kube-system") -> bytes:
    return json.dumps({"metadata": {"name": name, "namespace": namespace}}).encode()


def test_lists_of_the_namespaces_that_are_asked_about_are_kept() -> None:
    held = DumpObjectReader(WANTED, "the snapshot", (kinds.CONTROLLER_REVISIONS, kinds.REPLICA_SETS))
    assert kinds.REPLICA_SETS in held.resources
    held.add_other("ControllerRevision", "apps/v1", item("a"))
    held.add_other("ControllerRevision", "apps/v1", item("b", "shop"))
    held.add_page(kinds.REPLICA_SETS, b'{"items": [' + item("c") + b"," + item("d") + b"]}")
    found = held.list_history(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert not isinstance(found, Unknown) and [doc["metadata"]["name"] for doc in found] == ["a"]
    sets = held.list_history(kinds.REPLICA_SETS, "kube-system")
    assert not isinstance(sets, Unknown) and [doc["kind"] for doc in sets] == ["ReplicaSet", "ReplicaSet"]


def test_a_list_that_is_not_held_is_unknown() -> None:
    held = DumpObjectReader(WANTED, "the snapshot", (kinds.CONTROLLER_REVISIONS,))
    found = held.list_history(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert found == NotInSnapshot("the snapshot holds no ControllerRevision of namespace kube-system")


LOG = LogKey("shop", "b", "app")


def a_pod(name: str, **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def read(raw: RawObjects) -> None:
    raw.add_item(kinds.NODES, json.dumps(a_pod("a")).encode())
    raw.add_other("Widget", "x/v1", json.dumps(a_pod("b")).encode())
    raw.add_item(kinds.PODS, json.dumps(a_pod("a")).encode())
    several = [a_pod("b", containers=[{"name": "app"}]), a_pod("c", containers=3)]
    raw.add_page(kinds.PODS, json.dumps({"items": several}).encode())


def test_those_that_are_asked_for() -> None:
    pods = DumpPodReader(read, "the snapshot")
    found = pods.containers(["shop/b", "shop/c", "shop/d"])
    assert found["shop/b"] == (Container("app"),) and found["shop/d"] == Absent("the snapshot has no pod shop/d")
    told = found["shop/c"]
    assert isinstance(told, Unknown) and "containers" in told.why
    assert pods.logs([LOG]) == {LOG: NotInSnapshot("the snapshot holds no logs")}


def test_what_cannot_be_read_twice_is_unknown() -> None:
    def refuse(raw: RawObjects) -> None:
        raise SnapshotError("it is standard input")

    pods = DumpPodReader(refuse, "the snapshot")
    told = pods.containers(["shop/b"])["shop/b"]
    assert isinstance(told, Unknown) and told.why.endswith("it is standard input") and pods.containers([]) == {}


ROW = find_removed_api("policy/v1beta1", "PodDisruptionBudget")
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


def told(held: DumpApiUsage, resource: Resource = PDB) -> KindUsage:
    (found,) = held.written((resource,))
    return found


def test_signs_of_a_removed_version_are_kept_and_nothing_else() -> None:
    held = DumpApiUsage("the snapshot x")
    held.add_item(kinds.BUDGETS, raw(an_object(applied(), OLD)))
    held.add_item(kinds.BUDGETS, raw(an_object(applied("policy/v1"), OLD | {"apiVersion": "policy/v1"})))
    signs = (
        WriteRecord(WriteSource.LAST_APPLIED, "policy/v1beta1", "PodDisruptionBudget"),
        WriteRecord(WriteSource.MANAGED_FIELDS, "policy/v1beta1", "PodDisruptionBudget", "web", "Update", "t"),
    )
    of = ObjectName("policy/v1", "PodDisruptionBudget", "shop", "web")
    assert told(held) == KindUsage(PDB, (WrittenObject(of, signs),))
    assert TOKEN not in repr(told(held))


def test_objects_of_pages_and_of_no_fact_come_by() -> None:
    held = DumpApiUsage("the snapshot x")
    held.add_page(kinds.BUDGETS, raw({"items": [an_object(applied())]}))
    held.add_other("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", raw(an_object(None, OLD)))
    assert not isinstance(told(held).objects, Unknown) and told(held).objects != ()
    held.forget(kinds.BUDGETS)
    assert isinstance(told(held).objects, Unknown)


def test_a_kind_that_is_not_held_is_unknown_unless_all_is_held() -> None:
    assert told(DumpApiUsage("the snapshot x")).objects == NotInSnapshot("the snapshot x holds no poddisruptionbudgets")
    assert told(DumpApiUsage("the demo", complete=True)) == KindUsage(PDB, ())
    empty = DumpApiUsage("the snapshot x")
    empty.add_page(kinds.BUDGETS, b'{"items": []}')
    assert told(empty) == KindUsage(PDB, ())


def test_a_dump_without_managed_fields_lacks_what_clients_wrote() -> None:
    held = DumpApiUsage("the snapshot x")
    held.add_item(kinds.BUDGETS, raw(an_object()))
    lacking = told(held).lacking
    assert told(held).objects == () and lacking is not None and "--show-managed-fields" in lacking.why


def test_releases_of_helm_are_read_where_there_are_secrets() -> None:
    held = DumpApiUsage("the snapshot x")
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
    held = DumpApiUsage("the snapshot x")
    assert isinstance(held.requested(), Unknown)
    held.add_metrics("# HELP apiserver_requested_deprecated_apis\napiserver_requested_deprecated_apis{} 1\nother 1\n")
    assert held.requested() == ("apiserver_requested_deprecated_apis{} 1",)


ANY = st.none() | st.integers() | st.text(max_size=6) | st.lists(st.none() | st.text(max_size=3), max_size=2)
META = st.dictionaries(st.sampled_from(["name", "namespace", "annotations", "managedFields", "labels"]), ANY)


@given(st.dictionaries(st.sampled_from(["metadata", "type", "data"]), ANY | META), ANY, st.lists(ANY, max_size=2))
def test_any_object_is_read(doc: dict[str, Any], last: Any, entries: list[Any]) -> None:
    for each in (doc, an_object(last, *entries)):
        written_object(each, "PodDisruptionBudget", "policy/v1")
        held = DumpApiUsage("the snapshot x")
        held.add_item(kinds.BUDGETS, raw(each))
        held.add_other("Secret", "v1", raw(each))
        told(held)
        held.releases()


def test_what_is_no_object_is_passed_over() -> None:
    held = DumpApiUsage("the snapshot x")
    for odd in (b"[]", b'"managedFields"', b"{", b"[managedFields"):
        held.add_item(kinds.BUDGETS, odd)
    assert told(held).objects == ()


# Pages of lists and lines of watches become facts with versions, or a sentence that names the invalid object.

PATH = "/api/v1/pods"


def pod_doc(**meta: Any) -> dict[str, Any]:
    given = {"name": "web-0", "namespace": "shop", "uid": "uid-0", "resourceVersion": "41", **meta}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {key: value for key, value in given.items() if value is not None},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Running"},
    }


def line(kind: str, document: Any) -> bytes:
    return json.dumps({"type": kind, "object": document}).encode()


def event(kind: str, document: Any) -> FactEvent:
    return WatchDecoder(kinds.PODS).event(line(kind, document), PATH)


@pytest.mark.parametrize(("kind", "what"), [("MODIFIED", FactEventKind.CHANGED), ("DELETED", FactEventKind.REMOVED)])
def test_an_event_is_a_fact_with_its_version(kind: str, what: FactEventKind) -> None:
    found = event(kind, pod_doc())
    assert (found.kind, found.version) == (what, 41)
    assert isinstance(found.fact, Pod)
    assert (found.fact.key, found.fact.uid, found.fact.node) == ("shop/web-0", "uid-0", "node-1")


def test_a_bookmark_is_a_version_and_an_error_its_status() -> None:
    blank = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "12746", "creationTimestamp": None}}
    assert event("BOOKMARK", {**blank, "spec": {"containers": None}, "status": {}}) == FactEvent(
        FactEventKind.BOOKMARK, 12746
    )
    status = {"kind": "Status", "metadata": {}, "status": "Failure", "message": "too old", "reason": "Expired"}
    assert event("ERROR", {**status, "code": 410}) == FactEvent(FactEventKind.ERROR, code=410, message="too old")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (line("ADDED", pod_doc(resourceVersion=None)), "Pod shop/web-0 has no resourceVersion that is a number: None"),
        (line("ADDED", pod_doc(resourceVersion="x1")), "'x1'"),
        (line("ADDED", pod_doc(name=None)), "lacks its name"),
        (line("ADDED", {**pod_doc(), "kind": "Node"}), "Node web-0 among pods"),
        (line("ADDED", {**pod_doc(), "status": "ok"}), "Pod shop/web-0: Expected"),
        (line("DELETED", {**pod_doc(), "spec": {"tolerations": 1}}), r"Pod shop/web-0: .*\$\.spec\.tolerations"),
        (line("BOOKMARK", {"metadata": {}}), "a bookmark has no resourceVersion"),
        (line("CHANGED", pod_doc()), "'CHANGED'"),
        (b"<html>", "a line of a watch of pods"),
    ],
)
def test_what_cannot_be_is_named(bad: bytes, said: str) -> None:
    with pytest.raises(InvalidAnswer, match=said) as caught:
        WatchDecoder(kinds.PODS).event(bad, PATH)
    assert str(caught.value).startswith(f"{PATH}: ")


def a_list(*items: Any, **meta: Any) -> bytes:
    return json.dumps({"kind": "PodList", "metadata": {"resourceVersion": "99", **meta}, "items": items}).encode()


def test_a_page() -> None:
    other = pod_doc(name="web-1", resourceVersion="7")
    bare = {key: value for key, value in pod_doc().items() if key not in ("kind", "apiVersion")}
    page = WatchDecoder(kinds.PODS).page(a_list(bare, other, **{"continue": "t"}), PATH)
    assert [(pod.name, version) for pod, version in page.items] == [("web-0", 41), ("web-1", 7)]
    assert (page.version, page.continue_token) == (99, "t")
    page = WatchDecoder(kinds.PODS).page(b'{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":null}', PATH)
    assert (page.items, page.version, page.continue_token) == ([], 5, "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps(pod_doc()).encode(), "expected a list of pods, got an object of kind Pod"),
        (a_list(pod_doc(), {**pod_doc(), "status": 3}), "Pod shop/web-0"),
        (a_list(pod_doc(), resourceVersion=None), "the list of pods has no resourceVersion"),
        (a_list(pod_doc())[:-5], "Pod list"),
    ],
)
def test_a_page_that_cannot_be_is_named(body: bytes, said: str) -> None:
    with pytest.raises(InvalidAnswer, match=said):
        WatchDecoder(kinds.PODS).page(body, PATH)


# Revisions and Events of API objects that may lack any field.

AT = datetime(2026, 11, 20, 8, 0, tzinfo=timezone.utc)
NEW_SET: dict[str, Any] = {
    "kind": "ReplicaSet",
    "metadata": {
        "namespace": "shop",
        "name": "web-1f",
        "creationTimestamp": "2026-11-20T08:00:00Z",
        "annotations": {"deployment.kubernetes.io/revision": "7"},
        "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
    },
}
EVENT: dict[str, Any] = {
    "kind": "Event",
    "metadata": {"name": "x", "namespace": "shop"},
    "type": "Warning",
    "reason": "FailedScheduling",
    "message": "no room",
    "count": 3,
    "lastTimestamp": "2026-11-20T08:00:00Z",
    "involvedObject": {"kind": "Pod", "name": "web-1", "namespace": "shop"},
}


def test_a_replica_set_is_a_revision_of_its_deployment() -> None:
    assert revision_from_document(NEW_SET) == Revision(Subject("Deployment", "web", "shop"), AT, "7")
    assert revision_from_document({**NEW_SET, "metadata": {**NEW_SET["metadata"], "ownerReferences": []}}) is None


def test_a_controller_revision_tells_its_number_itself() -> None:
    owner = [{"kind": "DaemonSet", "name": "aws-node", "controller": True}]
    doc = {
        "kind": "ControllerRevision",
        "revision": 4,
        "metadata": {"creationTimestamp": "2026-11-20T08:00:00Z", "namespace": "k", "ownerReferences": owner},
    }
    assert revision_from_document(doc) == Revision(Subject("DaemonSet", "aws-node", "k"), AT, "4")


def test_an_event_tells_no_credentials() -> None:
    found = event_of({**EVENT, "message": "no https://ann:hunter2@r.example/a?X-Amz-Signature=hunter2: 403"})
    assert found is not None and "hunter2" not in found.message and found.message.endswith("403")


def test_an_event_is_told_with_its_last_time() -> None:
    told = KubernetesEvent(AT, "FailedScheduling", Subject("Pod", "web-1", "shop"), "no room", True, 3)
    assert event_of(EVENT) == told
    newer = {**EVENT, "lastTimestamp": None, "count": None, "eventTime": "2026-11-20T07:00:00.000000Z"}
    series = {"count": 3, "lastObservedTime": "2026-11-20T08:00:00.000000Z"}
    assert event_of({**newer, "series": series}) == told


def test_what_is_held_of_a_dump_is_each_once_and_what_is_not_is_unknown() -> None:
    held = DumpChangeReader("the dump")
    page = json.dumps({"kind": "ReplicaSetList", "items": [NEW_SET]}).encode()
    held.add_page(kinds.REPLICA_SETS, page)
    held.forget(kinds.REPLICA_SETS)
    held.add_page(kinds.REPLICA_SETS, page)
    assert held.reported_changes().events == NotInSnapshot("the dump holds no events")
    held.add_other("Event", "v1", json.dumps(EVENT).encode())
    held.add_other("Secret", "v1", b"{}")
    told = held.reported_changes()
    assert told.revisions["Deployment"] == (Revision(Subject("Deployment", "web", "shop"), AT, "7"),)
    assert told.revisions["DaemonSet"] == NotInSnapshot("the dump holds no controllerrevisions")
    assert isinstance(told.events, tuple)
    assert len(told.events) == 1


ANYTHING = anything(st.just("2026-11-20T08:00:00Z"))


@given(
    st.sampled_from(
        ("metadata", "involvedObject", "reason", "count", "series", "lastTimestamp", "revision")
        + ("ownerReferences", "creationTimestamp", "annotations", "namespace")
    ),
    ANYTHING,
)
def test_whatever_stands_there_nothing_falls_over(key: str, value: Any) -> None:
    meta = {**NEW_SET["metadata"], key: value}
    for doc in ({**NEW_SET, key: value}, {**EVENT, key: value}, {**NEW_SET, "metadata": meta}):
        revision_from_document(doc)
        event_of(doc)
