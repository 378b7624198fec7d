"""Strategic merge patches: objects, fields and directives; lists of objects and of scalars have their own tests."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.patches import apply_strategic
from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal, ApiStatus
from kubectl_eksdoc.model.api_objects import Doc
from tests.kubernetes.api.pod_fields import BUDGET_FIELDS, POD_FIELDS


def patched(doc: Doc, patch: Any) -> Doc:
    return apply_strategic(doc, patch, POD_FIELDS)


def refused(doc: Doc, patch: Any) -> ApiStatus:
    with pytest.raises(ApiRefusal) as raised:
        patched(doc, patch)
    return raised.value.status


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": 1}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({}, {"a": {"b": 1, "c": None, "d": [{"e": None}]}}, {"a": {"b": 1, "d": [{}]}}),
        ({"a": [{"b": 1}]}, {"a": [{"c": 2, "d": None}]}, {"a": [{"c": 2}]}),
        ({"a": 1}, None, {"a": 1}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_members_merge(doc: Doc, patch: Any, after: Doc) -> None:
    assert patched(doc, patch) == after


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2, "d": None}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete", "c": 2}}, {"a": {}}),
        ({"b": 1}, {"a": {"$patch": "delete"}}, {"b": 1}),
        ({"a": "text"}, {"a": {"$patch": "replace", "c": 2}}, {}),
        ({"a": 1}, {"$patch": "replace", "b": 2}, {"b": 2}),
        ({"a": 1}, {"$patch": "delete"}, {}),
        ({}, {"a": {"b": 1, "c": {"$patch": "delete"}, "d": [{"$patch": "delete"}, {"e": 1}]}}, None),
    ],
)
def test_a_mark_says_what_becomes_of_an_object(doc: Doc, patch: Doc, after: Doc | None) -> None:
    assert patched(doc, patch) == ({"a": {"b": 1, "d": [{"e": 1}]}} if after is None else after)


@pytest.mark.parametrize(
    "mark",
    [
        "merge",
        1,
        None,
    ],
)
def test_an_unknown_mark_is_an_error_of_the_server(mark: Any) -> None:
    answer = refused({"a": {"b": 1}}, {"a": {"$patch": mark}})
    assert answer.code == 500
    assert not answer.reason


STRATEGY = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "replicas": 2}}


def test_only_keys_that_are_retained_stay() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert patched(STRATEGY, patch) == {"spec": {"strategy": {"type": "Recreate"}, "replicas": 2}}


def test_retained_keys_are_merged() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "rollingUpdate": {"maxUnavailable": 1}}}}
    after = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    assert patched(STRATEGY, patch) == {"spec": {"strategy": after, "replicas": 2}}


@pytest.mark.parametrize("keys", ["type", None, {"type": 1}])
def test_keys_to_retain_must_be_a_list(keys: Any) -> None:
    assert refused(STRATEGY, {"spec": {"strategy": {"$retainKeys": keys, "type": "Recreate"}}}).code == 500


def test_a_null_needs_not_be_retained() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": None}}}
    assert patched(STRATEGY, patch)["spec"]["strategy"] == {"type": "Recreate"}


def test_directives_are_not_stored_with_an_object_that_is_new() -> None:
    patch = {"a": {"$retainKeys": ["b"], "$setElementOrder/b": [1], "$deleteFromPrimitiveList/c": [1], "b": [1]}}
    assert patched({}, patch) == {"a": {"b": [1]}}


def test_the_selector_of_a_budget_is_replaced() -> None:
    doc = {"spec": {"selector": {"matchLabels": {"app": "a"}}}}
    patch = {"spec": {"selector": {"matchExpressions": []}}}
    merged = {"matchLabels": {"app": "a"}, "matchExpressions": []}
    assert apply_strategic(doc, patch, POD_FIELDS) == {"spec": {"selector": merged}}
    replaced = apply_strategic(doc, patch, BUDGET_FIELDS)
    assert replaced == {"spec": {"selector": {"matchExpressions": []}}}


@pytest.mark.parametrize(
    "patch",
    [
        [],
        False,
    ],
)
def test_what_is_no_object_is_no_strategic_merge_patch(patch: Any) -> None:
    assert refused({"a": 1}, patch).code == 400


def test_what_did_not_change_is_shared() -> None:
    doc = {"spec": {"a": 1}, "status": {"b": 2}}
    assert patched(doc, {"spec": {"a": 2}})["status"] is doc["status"]
