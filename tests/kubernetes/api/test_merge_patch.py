"""JSON merge patches: the cases of RFC 7386, and where the server's library is not of its mind."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.patches.merge import apply_merge
from kubectl_eksdoc.kubernetes.api.patches.refusals import PatchRefused, Refusal
from kubectl_eksdoc.model.api_objects import Doc


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"b": None}, {"a": 1}),
    ],
)
def test_merging(doc: Doc, patch: Doc, after: Doc) -> None:
    assert apply_merge(doc, patch) == after


def test_a_list_that_replaces_no_object_loses_the_nulls_of_its_objects() -> None:
    entries = [None, {"a": None, "b": 1}, [{"c": None}]]
    assert apply_merge({"x": [1]}, {"x": entries}) == {"x": [None, {"b": 1}, [{}]]}
    assert apply_merge({}, {"x": entries}) == {"x": [None, {"b": 1}, [{}]]}


def test_a_list_that_replaces_an_object_is_taken_as_it_is() -> None:
    entries = [None, {"a": None, "b": 1}]
    assert apply_merge({"x": {"y": 1}}, {"x": entries}) == {"x": entries}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("a", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (1.5, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_no_object_is_no_merge_patch(patch: Any, message: str) -> None:
    with pytest.raises(PatchRefused) as refused:
        apply_merge({"a": 1}, patch)
    assert refused.value.refusal == Refusal(400, "BadRequest", message)
    assert refused.value.refusal.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "BadRequest",
        "code": 400,
    }


def test_what_did_not_change_is_shared() -> None:
    doc = {"spec": {"a": 1}, "status": {"b": 2}}
    assert apply_merge(doc, {"spec": {"a": 2}})["status"] is doc["status"]
