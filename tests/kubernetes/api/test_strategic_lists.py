"""Strategic merge patches of lists: entries by merge key, scalars as a set, and the order of both."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.patches import apply_strategic
from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal, ApiStatus
from kubectl_eksdoc.model.api_objects import Doc
from tests.kubernetes.api.pod_fields import POD_FIELDS


def pod(*containers: Any, **more: Any) -> Doc:
    return {"spec": {"containers": list(containers), **more}}


def named(*names: str) -> list[Doc]:
    return [{"name": name} for name in names]


def patched(doc: Doc, patch: Any) -> Doc:
    return apply_strategic(doc, patch, POD_FIELDS)


def names_after(doc: Doc, patch: Any) -> str:
    return " ".join(entry["name"] for entry in patched(doc, patch)["spec"]["containers"])


def refused(doc: Doc, patch: Any) -> ApiStatus:
    with pytest.raises(ApiRefusal) as raised:
        patched(doc, patch)
    return raised.value.status


def ordered(wanted: list[Any], *containers: Any) -> Doc:
    field = {"containers": list(containers)} if containers else {}
    return {"spec": {"$setElementOrder/containers": wanted, **field}}


def test_an_entry_is_merged_by_its_key() -> None:
    doc = pod({"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"})
    after = patched(doc, pod({"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "3"}]}))
    env = [{"name": "Y", "value": "2"}, {"name": "X", "value": "3"}]
    assert after == pod({"name": "a", "image": "a:1", "env": env}, {"name": "b"})


@pytest.mark.parametrize(
    ("held", "patch", "after"),
    [
        ("a b", named("c"), "c a b"),
        ("a b c", named("c", "a"), "b c a"),
        ("a b c", [{"name": "b", "$patch": "delete"}], "a c"),
        ("a b c", [{"name": "x", "$patch": "delete"}], "a b c"),
        ("a b c", [{"$patch": "replace"}, *named("d")], "d"),
        ("a b c", [{"$patch": "replace"}], ""),
        ("a b c", [*named("d"), {"$patch": "replace"}, {"name": "a", "$patch": "delete"}], "d"),
        ("", named("a", "b"), "a b"),
        ("a b", [*named("b"), {"name": "b", "image": "b:1"}], "a b"),
    ],
)
def test_entries_are_added_merged_and_deleted(held: str, patch: list[Any], after: str) -> None:
    assert names_after(pod(*named(*held.split())), pod(*patch)) == after


@pytest.mark.parametrize(
    ("held", "wanted", "patch", "after"),
    [
        ("a b", "a c b", named("c"), "a c b"),
        ("a side b", "b a", named("a"), "side b a"),
        ("side a b", "b a", named("a"), "side b a"),
        ("a b", "b x", [{"name": "a", "$patch": "delete"}], "b"),
        ("a side c", "d c", [{"name": "a", "$patch": "delete"}, *named("d")], "side d c"),
        ("a b", "", named("c", "d"), "a b d c"),
    ],
)
def test_an_order_can_be_asked_for(held: str, wanted: str, patch: list[Any], after: str) -> None:
    assert names_after(pod(*named(*held.split())), ordered(named(*wanted.split()), *patch)) == after


def test_an_order_for_a_list_that_is_nowhere_says_nothing() -> None:
    assert patched({"spec": {}}, ordered(named("a"))) == {"spec": {}}


def test_a_list_that_is_new_is_put_in_order() -> None:
    assert names_after({"spec": {}}, ordered(named("b", "a"), *named("b", "a"))) == "b a"


@pytest.mark.parametrize(
    ("doc", "patch"),
    [
        (pod(*named("a")), pod({"image": "x"})),
        (pod({"image": "x"}), pod(*named("a"))),
        (pod(*named("a")), pod("a")),
        (pod(), pod(None)),
        (pod(*named("a")), pod({"name": {}})),
        (pod(), pod(["a"])),
        (pod(*named("a")), pod({"$patch": "delete"})),
        (pod(*named("a")), pod({"$patch": "x"})),
        (pod(*named("a")), ordered([{"x": 1}])),
        ({"spec": {"containers": "a"}}, ordered([])),
        ({}, {"$setElementOrder/x": None}),
        ({}, {"$setElementOrder/x": [], "x": {}}),
        ({}, {"$setElementOrder": []}),
        ({}, {"$deleteFromPrimitiveList": []}),
    ],
)
def test_lists_that_cannot_be_merged(doc: Doc, patch: Doc) -> None:
    assert refused(doc, patch).code == 500


def finalizers(*found: Any, **more: Any) -> Doc:
    return {"metadata": {"finalizers": list(found), **more}}


@pytest.mark.parametrize(
    ("held", "patch", "after"),
    [
        ("a b", finalizers("c"), "c a b"),
        ("a b", finalizers("b"), "a b"),
        ("a b", finalizers("b", "a"), "b a"),
        ("a a b", finalizers("c"), "c a b"),
        ("a b", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}}, "b"),
        ("a b", {"metadata": {"$deleteFromPrimitiveList/finalizers": None}}, None),
        ("a b c", {"metadata": {"$setElementOrder/finalizers": ["c", "a"]}}, "b c a"),
        ("a b", {"metadata": {"$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]}}, "c a b"),
    ],
)
def test_scalars_are_merged_as_a_set(held: str, patch: Doc, after: str | None) -> None:
    metadata = patched(finalizers(*held.split()), patch)["metadata"]
    assert metadata == ({} if after is None else {"finalizers": after.split()})


def test_scalars_are_deleted_also_from_a_list_that_is_replaced() -> None:
    assert patched({"args": ["a", "b"]}, {"$deleteFromPrimitiveList/args": ["a"]}) == {"args": ["b"]}


def test_scalars_of_different_types_are_different() -> None:
    assert refused(finalizers("1"), finalizers(1)).code == 500
    assert refused(finalizers(1), finalizers(True)).code == 500
    assert refused(finalizers("a"), {"metadata": {"$deleteFromPrimitiveList/finalizers": [["a"]]}}).code == 500


def test_an_order_of_objects_without_a_merge_key_is_refused() -> None:
    doc = {"spec": {"tolerations": [{"key": "a"}]}}
    assert refused(doc, {"spec": {"$setElementOrder/tolerations": [{"key": "a"}]}}).code == 500


def test_what_is_deleted_from_a_list_is_scalars() -> None:
    assert refused({"args": [{"a": 1}]}, {"$deleteFromPrimitiveList/args": [{"a": 1}]}).code == 500
