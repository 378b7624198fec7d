"""The server's patch types: their effect on an object, and the patches that they reject."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api import patches
from kubectl_eksdoc.kubernetes.api.patches import apply_json_patch, apply_merge, apply_strategic
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus
from kubectl_eksdoc.model.api_objects import Doc
from tests.kubernetes.api.pod_fields import BUDGET_FIELDS, POD_FIELDS


def op(kind: str, path: str, **more: Any) -> Doc:
    return {"op": kind, "path": path, **more}


def moved(kind: str, source: str, path: str) -> Doc:
    return {"op": kind, "from": source, "path": path}


def refused_code(doc: Doc, patch: Any) -> int:
    with pytest.raises(ApiRefusal) as raised:
        apply_json_patch(doc, patch)
    return raised.value.status.code


@pytest.mark.parametrize(
    ("doc", "operation", "after"),
    [
        ({"a": 1}, op("add", "/a"), {"a": None}),
        ({"a": [1, 2]}, op("add", "/a/-3", value=9), {"a": [9, 1, 2]}),
        ({"a": [1, 2, 3]}, op("remove", "/a/-1"), {"a": [1, 2]}),
        ({"a": 1}, op("replace", "", value={"b": 2}), {"b": 2}),
        ({"a": [1, 2, 3]}, moved("move", "/a/0", "/a/2"), {"a": [2, 3, 1]}),
        ({"a": {}}, moved("copy", "/a/b", "/c"), {"a": {}, "c": None}),
        ({"a": {"x": 1, "y": [2]}}, op("test", "/a", value={"y": [2], "x": 1}), {"a": {"x": 1, "y": [2]}}),
    ],
)
def test_one_operation(doc: Doc, operation: Doc, after: Doc) -> None:
    assert apply_json_patch(doc, [operation]) == after


@pytest.mark.parametrize(
    "operation",
    [
        op("remove", "/nope"),
        op("remove", ""),
        op("add", "/s/x", value=1),
        op("add", "/l/1_0", value=1),
        op("add", "/l/٣", value=1),
        op("replace", "", value=1),
        op("test", "/o", value={}),
        op("test", "/one", value=True),
        op("test", "/one", value=1.0),
        moved("move", "/o", "/o/inner"),
        moved("copy", "", "/a"),
        op("Add", "/a"),
        None,
    ],
)
def test_what_does_not_fit_is_refused(operation: Any) -> None:
    doc = {"o": {"a": 1}, "l": [1, 2, 3], "s": "text", "one": 1}
    before = copy.deepcopy(doc)
    assert refused_code(doc, [op("add", "/new", value=2), operation]) == 422 and doc == before
    assert refused_code(doc, {}) == 400


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    most = [op("test", "/a", value=1)] * patches.MAX_OPERATIONS
    assert apply_json_patch({"a": 1}, most) == {"a": 1}
    assert refused_code({"a": 1}, [*most, most[0]]) == 413


def test_copies_cannot_fill_the_memory() -> None:
    doubling = [moved("copy", "/a", f"/a/{n}") for n in range(60)]
    assert refused_code({"a": {"x": "some text"}}, doubling) == 422


def test_operations_cannot_nest_without_end() -> None:
    nesting = [moved("move", "/a", "/b"), op("add", "/a", value={}), moved("move", "/b", "/a/b")] * 200
    assert refused_code({"a": {}}, nesting) == 422


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"x": [1]}, {"x": [None, {"a": None, "b": 1}]}, {"x": [None, {"b": 1}]}),
        ({}, {"x": [[{"c": None}]]}, {"x": [[{}]]}),
    ],
)
def test_merging(doc: Doc, patch: Doc, after: Doc) -> None:
    assert apply_merge(doc, patch) == after


@pytest.mark.parametrize("patch", [None, [], True])
def test_what_is_no_object_is_no_merge_patch(patch: Any) -> None:
    with pytest.raises(ApiRefusal) as refused:
        apply_merge({"a": 1}, patch)
    assert (refused.value.status.code, refused.value.status.reason) == (400, "BadRequest")


def patched(doc: Doc, patch: Any) -> Doc:
    return apply_strategic(doc, patch, POD_FIELDS)


def rolling(**more: Any) -> Doc:
    return {"a": {"type": "RollingUpdate", "rollingUpdate": more}}


def refused(doc: Doc, patch: Any) -> ApiStatus:
    with pytest.raises(ApiRefusal) as raised:
        patched(doc, patch)
    return raised.value.status


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"a": 1}, None, {"a": 1}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2, "d": None}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete", "c": 2}}, {"a": {}}),
        ({"a": 1}, {"$patch": "replace", "b": 2}, {"b": 2}),
        (
            rolling(maxSurge=1),
            {"a": {"$retainKeys": ["rollingUpdate"], "rollingUpdate": {"x": 1}}},
            {"a": {"rollingUpdate": {"maxSurge": 1, "x": 1}}},
        ),
        (
            {},
            {"a": {"$retainKeys": ["b"], "$setElementOrder/b": [1], "$deleteFromPrimitiveList/c": [1], "b": [1]}},
            {"a": {"b": [1]}},
        ),
        ({"args": ["a", "b"]}, {"$deleteFromPrimitiveList/args": ["a"]}, {"args": ["b"]}),
        ({"spec": {}}, {"spec": {"$setElementOrder/containers": [{"name": "a"}]}}, {"spec": {}}),
        (
            {},
            {"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}, {"name": "b"}]}},
            {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
        ),
    ],
)
def test_members_merge(doc: Doc, patch: Any, after: Doc) -> None:
    assert patched(doc, patch) == after


def test_the_selector_of_a_budget_is_replaced() -> None:
    doc = {"spec": {"selector": {"matchLabels": {"app": "a"}}}}
    patch = {"spec": {"selector": {"matchExpressions": []}}}
    merged = {"matchLabels": {"app": "a"}, "matchExpressions": []}
    assert apply_strategic(doc, patch, POD_FIELDS) == {"spec": {"selector": merged}}
    replaced = apply_strategic(doc, patch, BUDGET_FIELDS)
    assert replaced == {"spec": {"selector": {"matchExpressions": []}}}


def pod(*containers: Any, **more: Any) -> Doc:
    return {"spec": {"containers": list(containers), **more}}


def named(*names: str) -> list[Doc]:
    return [{"name": name} for name in names]


def names_after(doc: Doc, patch: Any) -> str:
    return " ".join(entry["name"] for entry in patched(doc, patch)["spec"]["containers"])


def ordered(wanted: list[Any], *containers: Any) -> Doc:
    field = {"containers": list(containers)} if containers else {}
    return {"spec": {"$setElementOrder/containers": wanted, **field}}


@pytest.mark.parametrize(
    ("held", "patch", "after"),
    [
        ("a b", named("c"), "c a b"),
        ("a b c", [{"name": "b", "$patch": "delete"}], "a c"),
        ("a b c", [{"$patch": "replace"}, *named("d")], "d"),
        ("a b c", [*named("d"), {"$patch": "replace"}, {"name": "a", "$patch": "delete"}], "d"),
    ],
)
def test_entries_are_added_merged_and_deleted(held: str, patch: list[Any], after: str) -> None:
    assert names_after(pod(*named(*held.split())), pod(*patch)) == after


@pytest.mark.parametrize(
    ("held", "wanted", "patch", "after"),
    [
        ("a b", "a c b", named("c"), "a c b"),
        ("a side b", "b a", named("a"), "side b a"),
        ("a b", "b x", [{"name": "a", "$patch": "delete"}], "b"),
        ("a side c", "d c", [{"name": "a", "$patch": "delete"}, *named("d")], "side d c"),
    ],
)
def test_an_order_can_be_asked_for(held: str, wanted: str, patch: list[Any], after: str) -> None:
    assert names_after(pod(*named(*held.split())), ordered(named(*wanted.split()), *patch)) == after


@pytest.mark.parametrize(
    ("doc", "patch"),
    [
        (pod({"image": "x"}), pod(*named("a"))),
        (pod(), pod(None)),
        (pod(*named("a")), pod({"$patch": "x"})),
        ({}, {"$setElementOrder": []}),
        (rolling(), {"a": {"$retainKeys": {"type": 1}, "type": "R"}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "merge"}}),
        ({"metadata": {"finalizers": ["1"]}}, {"metadata": {"finalizers": [1]}}),
        ({"metadata": {"finalizers": ["a"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": [["a"]]}}),
        ({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"$setElementOrder/tolerations": [{"key": "a"}]}}),
    ],
)
def test_what_cannot_be_merged_is_an_error_of_the_server(doc: Doc, patch: Doc) -> None:
    answer = refused(doc, patch)
    assert (answer.code, answer.reason) == (500, "")
    assert refused(doc, []).code == 400


def finalizers(*found: Any, **more: Any) -> Doc:
    return {"metadata": {"finalizers": list(found), **more}}


@pytest.mark.parametrize(
    ("held", "patch", "after"),
    [
        ("a b", finalizers("b", "a"), "b a"),
        ("a b", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}}, "b"),
        ("a b", {"metadata": {"$deleteFromPrimitiveList/finalizers": None}}, None),
        ("a b c", {"metadata": {"$setElementOrder/finalizers": ["c", "a"]}}, "b c a"),
        ("a b", {"metadata": {"$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]}}, "c a b"),
    ],
)
def test_scalars_are_merged_as_a_set(held: str, patch: Doc, after: str | None) -> None:
    metadata = patched(finalizers(*held.split()), patch)["metadata"]
    assert metadata == ({} if after is None else {"finalizers": after.split()})
