"""JSON patches: the operations of RFC 6902 as the server's library performs them, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api import patches
from kubectl_eksdoc.kubernetes.api.patches import apply_json_patch
from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc


def op(kind: str, path: str, **more: Any) -> Doc:
    return {"op": kind, "path": path, **more}


def moved(kind: str, source: str, path: str) -> Doc:
    return {"op": kind, "from": source, "path": path}


def refused(doc: Doc, patch: Any) -> int:
    with pytest.raises(ApiRefusal) as raised:
        apply_json_patch(doc, patch)
    return raised.value.status.code


@pytest.mark.parametrize(
    ("doc", "operation", "after"),
    [
        ({"a": 1}, op("add", "/a", value=2), {"a": 2}),
        ({"a": 1}, op("add", "/a"), {"a": None}),
        ({"a": 1}, op("add", "/", value=2), {"a": 1, "": 2}),
        ({"a": [1, 2]}, op("add", "/a/1", value=9), {"a": [1, 9, 2]}),
        ({"a": [1, 2]}, op("add", "/a/2", value=9), {"a": [1, 2, 9]}),
        ({"a": [1, 2]}, op("add", "/a/-", value=9), {"a": [1, 2, 9]}),
        ({"a": [1, 2]}, op("add", "/a/-1", value=9), {"a": [1, 2, 9]}),
        ({"a": [1, 2]}, op("add", "/a/-3", value=9), {"a": [9, 1, 2]}),
        ({"a": [1, 2]}, op("add", "/a/+01", value=9), {"a": [1, 9, 2]}),
        ({"a": [1, 2, 3]}, op("remove", "/a/-1"), {"a": [1, 2]}),
        ({"a": 1}, op("replace", "/b", value=2), {"a": 1, "b": 2}),
        ({"a": 1}, op("replace", "", value={"b": 2}), {"b": 2}),
        ({"a": [1, 2, 3]}, moved("move", "/a/0", "/a/2"), {"a": [2, 3, 1]}),
        ({"a": {"b": 1}}, moved("copy", "/a", "/c"), {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": {}}, moved("copy", "/a/b", "/c"), {"a": {}, "c": None}),
        ({"a": [1]}, moved("copy", "/a/0", "/a/-"), {"a": [1, 1]}),
        ({"a": {"x": 1, "y": [2]}}, op("test", "/a", value={"y": [2], "x": 1}), {"a": {"x": 1, "y": [2]}}),
        ({"a": 1}, op("test", "/b", value=None), {"a": 1}),
        ({"a": 1}, op("test", "/b"), {"a": 1}),
        ({"b": 1}, op("add", "ignored/a", value=2), {"b": 1, "a": 2}),
    ],
)
def test_one_operation(doc: Doc, operation: Doc, after: Doc) -> None:
    assert apply_json_patch(doc, [operation]) == after


@pytest.mark.parametrize(
    "operation",
    [
        op("remove", "/nope"),
        op("remove", "/l/3"),
        op("remove", "/l/-4"),
        op("remove", "/l/-"),
        op("remove", ""),
        op("add", "", value={}),
        op("add", "b", value=1),
        op("add", "/s/x", value=1),
        op("add", "/l/4", value=1),
        op("add", "/l/-5", value=1),
        op("add", "/l/x", value=1),
        op("add", "/l/1_0", value=1),
        op("add", "/l/" + "9" * 5000, value=1),
        op("add", "/l/٣", value=1),
        op("replace", "/l/3", value=1),
        op("replace", "", value=1),
        op("test", "/o", value={}),
        op("test", "/one", value=True),
        op("test", "/one", value=1.0),
        op("test", "/one"),
        moved("move", "/nope", "/a"),
        moved("move", "/o", "/o/inner"),
        moved("copy", "", "/a"),
        {"op": "move", "path": "/a"},
        {"op": "add", "value": 1},
        op("Add", "/a"),
        {"path": "/a"},
        None,
    ],
)
def test_what_does_not_fit_is_refused(operation: Any) -> None:
    doc = {"o": {"a": 1}, "l": [1, 2, 3], "s": "text", "one": 1}
    assert refused(doc, [operation]) == 422


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({}, 400),
        ([1], 422),
        ([{"op": 1, "path": "/a"}], 422),
        ([{"op": "add", "path": ["a"]}], 422),
        ([{"op": "move", "path": "/a", "from": {}}], 422),
    ],
)
def test_what_is_no_list_of_operations_is_no_json_patch(patch: Any, code: int) -> None:
    assert refused({}, patch) == code


def test_null_is_a_patch_without_operations() -> None:
    assert apply_json_patch({"a": 1}, None) == {"a": 1}


def test_either_all_operations_are_performed_or_none() -> None:
    doc = {"a": [1]}
    assert refused(doc, [op("add", "/a/-", value=2), op("test", "/a/1", value=3)]) == 422
    assert doc == {"a": [1]}


def test_the_document_may_be_a_list_in_between() -> None:
    patch = [op("replace", "", value=[{"a": 1}]), op("test", "/0/a", value=1), op("replace", "", value={"b": 1})]
    assert apply_json_patch({}, patch) == {"b": 1}


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    most = [op("test", "/a", value=1)] * patches.MOST_OPERATIONS
    assert apply_json_patch({"a": 1}, most) == {"a": 1}
    assert refused({"a": 1}, [*most, most[0]]) == 413


def test_copies_cannot_fill_the_memory() -> None:
    doubling = [moved("copy", "/a", f"/a/{n}") for n in range(60)]
    assert refused({"a": {"x": "some text"}}, doubling) == 422


def test_operations_cannot_nest_without_end() -> None:
    nesting = [moved("move", "/a", "/b"), op("add", "/a", value={}), moved("move", "/b", "/a/b")] * 200
    assert refused({"a": {}}, nesting) == 422


def test_what_did_not_change_is_shared() -> None:
    doc = {"spec": {"a": 1}, "status": {"b": 2}}
    assert apply_json_patch(doc, [op("remove", "/spec/a")])["status"] is doc["status"]
