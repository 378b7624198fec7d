"""Pages of lists and lines of watches become facts with versions, or a sentence that says which object cannot be."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import ReportedEvent, Revision
from kubectl_eksdoc.model.kinds import NotHeld
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.objects.collector import BadObject
from kubectl_eksdoc.objects.held import Changing, FactEvent, FactEventKind, HeldChanges, revision
from kubectl_eksdoc.objects.held import event as event_of
from tests.anything import anything

PATH = "/api/v1/pods"


def a_pod(**meta: Any) -> dict[str, Any]:
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
    return Changing(kinds.PODS).event(line(kind, document), PATH)


@pytest.mark.parametrize(("kind", "what"), [("MODIFIED", FactEventKind.IS), ("DELETED", FactEventKind.GONE)])
def test_an_event_is_a_fact_with_its_version(kind: str, what: FactEventKind) -> None:
    found = event(kind, a_pod())
    assert (found.what, found.version) == (what, 41)
    assert isinstance(found.fact, Pod)
    assert (found.fact.key, found.fact.uid, found.fact.node) == ("shop/web-0", "uid-0", "node-1")


def test_a_bookmark_is_a_version_and_an_error_its_status() -> None:
    blank = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "12746", "creationTimestamp": None}}
    assert event("BOOKMARK", {**blank, "spec": {"containers": None}, "status": {}}) == FactEvent(
        FactEventKind.BOOKMARK, 12746
    )
    status = {"kind": "Status", "metadata": {}, "status": "Failure", "message": "too old", "reason": "Expired"}
    assert event("ERROR", {**status, "code": 410}) == FactEvent(FactEventKind.ERROR, code=410, said="too old")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (line("ADDED", a_pod(resourceVersion=None)), "Pod shop/web-0 has no resourceVersion that is a number: None"),
        (line("ADDED", a_pod(resourceVersion="x1")), "'x1'"),
        (line("ADDED", a_pod(name=None)), "lacks its name"),
        (line("ADDED", {**a_pod(), "kind": "Node"}), "Node web-0 among pods"),
        (line("ADDED", {**a_pod(), "status": "ok"}), "Pod shop/web-0: Expected"),
        (line("DELETED", {**a_pod(), "spec": {"tolerations": 1}}), r"Pod shop/web-0: .*\$\.spec\.tolerations"),
        (line("BOOKMARK", {"metadata": {}}), "a bookmark has no resourceVersion"),
        (line("CHANGED", a_pod()), "'CHANGED'"),
        (b"<html>", "a line of a watch of pods"),
    ],
)
def test_what_cannot_be_is_named(bad: bytes, said: str) -> None:
    with pytest.raises(BadObject, match=said) as caught:
        Changing(kinds.PODS).event(bad, PATH)
    assert str(caught.value).startswith(f"{PATH}: ")


def a_list(*items: Any, **meta: Any) -> bytes:
    return json.dumps({"kind": "PodList", "metadata": {"resourceVersion": "99", **meta}, "items": items}).encode()


def test_a_page() -> None:
    bare = {key: value for key, value in a_pod().items() if key not in ("kind", "apiVersion")}
    page = Changing(kinds.PODS).page(a_list(bare, a_pod(name="web-1", resourceVersion="7"), **{"continue": "t"}), PATH)
    assert [(pod.name, version) for pod, version in page.items] == [("web-0", 41), ("web-1", 7)]
    assert (page.version, page.continue_token) == (99, "t")
    page = Changing(kinds.PODS).page(b'{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":null}', PATH)
    assert (page.items, page.version, page.continue_token) == ([], 5, "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps(a_pod()).encode(), "expected a list of pods, got an object of kind Pod"),
        (a_list(a_pod(), {**a_pod(), "status": 3}), "Pod shop/web-0"),
        (a_list(a_pod(), resourceVersion=None), "the list of pods has no resourceVersion"),
        (a_list(a_pod())[:-5], "Pod list"),
    ],
)
def test_a_page_that_cannot_be_is_named(body: bytes, said: str) -> None:
    with pytest.raises(BadObject, match=said):
        Changing(kinds.PODS).page(body, PATH)


# Revisions and Events of API objects that may lack anything.

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
    assert revision(NEW_SET) == Revision(Subject("Deployment", "web", "shop"), AT, "7")
    assert revision({**NEW_SET, "metadata": {**NEW_SET["metadata"], "ownerReferences": []}}) is None


def test_a_controller_revision_tells_its_number_itself() -> None:
    owner = [{"kind": "DaemonSet", "name": "aws-node", "controller": True}]
    doc = {
        "kind": "ControllerRevision",
        "revision": 4,
        "metadata": {"creationTimestamp": "2026-11-20T08:00:00Z", "namespace": "k", "ownerReferences": owner},
    }
    assert revision(doc) == Revision(Subject("DaemonSet", "aws-node", "k"), AT, "4")


def test_an_event_tells_no_credentials() -> None:
    found = event_of({**EVENT, "message": "no https://ann:hunter2@r.example/a?X-Amz-Signature=hunter2: 403"})
    assert found is not None and "hunter2" not in found.message and found.message.endswith("403")


def test_an_event_is_told_with_its_last_time() -> None:
    told = ReportedEvent(AT, "FailedScheduling", Subject("Pod", "web-1", "shop"), "no room", True, 3)
    assert event_of(EVENT) == told
    newer = {**EVENT, "lastTimestamp": None, "count": None, "eventTime": "2026-11-20T07:00:00.000000Z"}
    series = {"count": 3, "lastObservedTime": "2026-11-20T08:00:00.000000Z"}
    assert event_of({**newer, "series": series}) == told


def test_what_is_held_of_a_dump_is_each_once_and_what_is_not_is_unknown() -> None:
    held = HeldChanges("the dump")
    page = json.dumps({"kind": "ReplicaSetList", "items": [NEW_SET]}).encode()
    held.add_page(kinds.REPLICA_SETS, page)
    held.forget(kinds.REPLICA_SETS)
    held.add_page(kinds.REPLICA_SETS, page)
    assert held.told().events == NotHeld("the dump holds no events")
    held.add_other("Event", "v1", json.dumps(EVENT).encode())
    held.add_other("Secret", "v1", b"{}")
    told = held.told()
    assert told.revisions["Deployment"] == (Revision(Subject("Deployment", "web", "shop"), AT, "7"),)
    assert told.revisions["DaemonSet"] == NotHeld("the dump holds no controllerrevisions")
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
        revision(doc)
        event_of(doc)
