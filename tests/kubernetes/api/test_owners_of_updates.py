"""Updates by rule: subresources, what is reset, what is not tracked, entries that clients send, the cap on entries."""

from __future__ import annotations

from functools import reduce

import pytest

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.ownership.entries import MalformedEntries, owner_of, read, updated, without_entries
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from tests.kubernetes.api.replays import MAIN, STATUS, owners

EARLY, LATE = "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"
NODES = schema_of("v1", "Node")
NODE: Doc = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"a": "1"}}, "spec": {}}


def node(live: Doc | None, new: Doc, manager: str, now: str = EARLY, subresource: str = "") -> Doc:
    return updated(live, new, manager, now, NODES, subresource, STATUS if subresource else MAIN)


def who(doc: Doc) -> list[tuple[str, str, str]]:
    return [(entry["manager"], entry.get("subresource", ""), entry["time"]) for entry in owners(doc)]


def test_a_status_has_entries_of_its_own() -> None:
    live = node(None, NODE, "kubelet")
    ready = {"type": "Ready", "status": "True"}
    new = {**live, "spec": {"unschedulable": True}, "status": {"conditions": [ready]}}
    result = node(live, new, "kubelet", LATE, "status")
    assert who(result) == [("kubelet", "", EARLY), ("kubelet", "status", LATE)]
    assert owners(result)[1]["fieldsV1"] == {
        "f:status": {"f:conditions": {".": {}, 'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}}}
    }


def test_one_manager_has_an_entry_for_each_api_version() -> None:
    live = node(None, NODE, "ann")
    other = with_value({**live, "apiVersion": "v2"}, ("metadata", "labels", "b"), "2")
    assert [entry["apiVersion"] for entry in owners(node(live, other, "ann"))] == ["v1", "v2"]


@pytest.mark.parametrize("emptied", [[], [{}]])
def test_sending_no_entries_takes_all_away(emptied: list[Doc]) -> None:
    live = node(None, NODE, "ann")
    sent = with_value(live, ("metadata", "managedFields"), emptied)
    assert "managedFields" not in node(live, sent, "bob")["metadata"]


def test_entries_can_be_edited_but_not_through_a_subresource() -> None:
    live = node(None, NODE, "ann")
    renamed = [{**owners(live)[0], "manager": "eve"}]
    sent = with_value(live, ("metadata", "managedFields"), renamed)
    assert who(node(live, sent, "bob")) == [("eve", "", EARLY)]
    assert who(node(live, sent, "bob", subresource="status")) == [("ann", "", EARLY)]


def test_entries_that_cannot_be_read_are_those_that_were_there() -> None:
    live = node(None, NODE, "ann")
    sent = with_value(live, ("metadata", "managedFields"), [{"manager": "eve", "operation": "Guess"}])
    assert node(live, sent, "bob") == live


@pytest.mark.parametrize(
    "entry",
    [
        {"manager": "a", "operation": "Guess", "apiVersion": "v1", "fieldsType": "FieldsV1"},
        {"manager": "a", "operation": "Update", "fieldsType": "FieldsV1"},
        {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"k:{": {}}},
        {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"v:x": {}}},
    ],
)
def test_malformed_entries(entry: Doc) -> None:
    with pytest.raises(MalformedEntries):
        read({"metadata": {"managedFields": [entry]}})


def test_the_eleventh_updater_makes_the_oldest_ancient() -> None:
    """Two of the oldest become one; appliers would not count."""

    def label(live: Doc, number: int) -> Doc:
        new = with_value(live, ("metadata", "labels", f"by-{number}"), "x")
        return node(live, new, f"m{number:02}", f"2026-11-20T08:00:{number:02}Z")

    ten = reduce(label, range(1, 10), node(None, NODE, "m00", "2026-11-20T08:00:00Z"))
    assert len(owners(ten)) == 10
    eleven = label(ten, 10)
    assert len(owners(eleven)) == 10
    assert who(eleven)[0] == ("ancient-changes", "", "2026-11-20T08:00:01Z")
    ancient = read(eleven)[owner_of("ancient-changes", "Update", "v1", "")].fields
    assert ancient.tree == {"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:by-1": {}}}}
    assert who(label(eleven, 11))[0] == ("ancient-changes", "", "2026-11-20T08:00:02Z")
    assert at(without_entries(eleven), "metadata", "labels", "by-10") == "x"
