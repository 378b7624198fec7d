"""Revisions and Events of API objects that may lack anything."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import ReportedEvent, Revision
from kubectl_eksdoc.model.kinds import NotHeld
from kubectl_eksdoc.objects.held import HeldChanges, event, revision

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


def test_a_controller_revision_tells_its_number_itself() -> None:
    owner = [{"kind": "DaemonSet", "name": "aws-node", "controller": True}]
    doc = {
        "kind": "ControllerRevision",
        "revision": 4,
        "metadata": {"creationTimestamp": "2026-11-20T08:00:00Z", "namespace": "k", "ownerReferences": owner},
    }
    assert revision(doc) == Revision(Subject("DaemonSet", "aws-node", "k"), AT, "4")


def test_one_that_nobody_controls_is_none() -> None:
    assert revision({**NEW_SET, "metadata": {**NEW_SET["metadata"], "ownerReferences": []}}) is None


def test_an_event_tells_no_credentials() -> None:
    found = event({**EVENT, "message": "Failed to pull https://ann:hunter2@r.example/a?X-Amz-Signature=hunter2: 403"})
    assert found is not None and "hunter2" not in found.message and found.message.endswith("403")


def test_an_event_is_told_with_its_last_time() -> None:
    told = ReportedEvent(AT, "FailedScheduling", Subject("Pod", "web-1", "shop"), "no room", True, 3)
    assert event(EVENT) == told
    newer = {**EVENT, "lastTimestamp": None, "count": None, "eventTime": "2026-11-20T07:00:00.000000Z"}
    series = {"count": 3, "lastObservedTime": "2026-11-20T08:00:00.000000Z"}
    assert event({**newer, "series": series}) == told


def test_what_is_held_of_a_dump_is_each_once_and_what_is_not_is_unknown() -> None:
    held = HeldChanges("the dump")
    page = json.dumps({"kind": "ReplicaSetList", "items": [NEW_SET]}).encode()
    held.add_page(kinds.REPLICA_SETS, page)
    held.forget(kinds.REPLICA_SETS)
    held.add_page(kinds.REPLICA_SETS, page)
    held.add_other("Event", "v1", json.dumps(EVENT).encode())
    held.add_other("Secret", "v1", b"{}")
    told = held.told()
    assert told.revisions["Deployment"] == (Revision(Subject("Deployment", "web", "shop"), AT, "7"),)
    assert told.revisions["DaemonSet"] == NotHeld("the dump holds no controllerrevisions")
    assert isinstance(told.events, tuple)
    assert len(told.events) == 1


def test_a_dump_without_events_does_not_say_that_there_were_none() -> None:
    assert HeldChanges("the dump").told().events == NotHeld("the dump holds no events")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("2026-11-20T08:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(("metadata", "involvedObject", "reason", "count", "series", "lastTimestamp", "revision")), ANYTHING
)
def test_whatever_stands_there_nothing_falls_over(key: str, value: Any) -> None:
    for doc in ({**NEW_SET, key: value}, {**EVENT, key: value}):
        revision(doc)
        event(doc)


@given(st.sampled_from(("ownerReferences", "creationTimestamp", "annotations", "namespace")), ANYTHING)
def test_nor_inside_of_the_metadata(key: str, value: Any) -> None:
    revision({**NEW_SET, "metadata": {**NEW_SET["metadata"], key: value}})
