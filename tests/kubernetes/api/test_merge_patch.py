"""JSON merge patches: the cases of RFC 7386, and where the server's library is not of its mind."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.patches import apply_merge
from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
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


@pytest.mark.parametrize("patch", [None, [], "a", 1.5, True])
def test_what_is_no_object_is_no_merge_patch(patch: Any) -> None:
    with pytest.raises(ApiRefusal) as refused:
        apply_merge({"a": 1}, patch)
    assert (refused.value.status.code, refused.value.status.reason) == (400, "BadRequest")


def test_what_did_not_change_is_shared() -> None:
    doc = {"spec": {"a": 1}, "status": {"b": 2}}
    assert apply_merge(doc, {"spec": {"a": 2}})["status"] is doc["status"]
