"""Strategic merge patches of lists: entries by merge key, scalars as a set, and the order of both."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.patches.refusals import PatchRefused, Refusal
from kubectl_eksdoc.kubernetes.api.patches.strategic import apply_strategic
from kubectl_eksdoc.model.api_objects import Doc
from tests.kubernetes.api.pod_fields import PodFields

PANIC = "This request caused apiserver to panic. Look in the logs for details."


def pod(*containers: Any, **more: Any) -> Doc:
    return {"spec": {"containers": list(containers), **more}}


def named(*names: str) -> list[Doc]:
    return [{"name": name} for name in names]


def patched(doc: Doc, patch: Any) -> Doc:
    return apply_strategic(doc, patch, PodFields())


def names_after(doc: Doc, patch: Any) -> str:
    return " ".join(entry["name"] for entry in patched(doc, patch)["spec"]["containers"])


def refused(doc: Doc, patch: Any) -> Refusal:
    with pytest.raises(PatchRefused) as raised:
        patched(doc, patch)
    return raised.value.refusal


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
        ("a b c", named("b"), "a b c"),
        ("a b c", [{"name": "b", "$patch": "delete"}], "a c"),
        ("a b c", [{"name": "x", "$patch": "delete"}], "a b c"),
        ("a b c", [{"$patch": "replace"}, *named("d")], "d"),
        ("a b c", [{"$patch": "replace"}], ""),
        ("a b c", [*named("d"), {"$patch": "replace"}, {"name": "a", "$patch": "delete"}], "d"),
        ("", named("a", "b"), "a b"),
        ("a", [], "a"),
        ("a b", [*named("b"), {"name": "b", "image": "b:1"}], "a b"),
    ],
)
def test_entries_are_added_merged_and_deleted(held: str, patch: list[Any], after: str) -> None:
    assert names_after(pod(*named(*held.split())), pod(*patch)) == after


@pytest.mark.parametrize(
    ("held", "wanted", "patch", "after"),
    [
        ("a b c", "c b a", [], "c b a"),
        ("a b c", "c a", [], "b c a"),
        ("a b", "a c b", named("c"), "a c b"),
        ("a side b", "b a", named("a"), "side b a"),
        ("side a b", "b a", named("a"), "side b a"),
        ("a b", "b x", [{"name": "a", "$patch": "delete"}], "b"),
        ("a side c", "d c", [{"name": "a", "$patch": "delete"}, *named("d")], "side d c"),
        ("a b", "", named("c", "d"), "a b d c"),
        ("", "b a", named("b", "a"), "b a"),
    ],
)
def test_an_order_can_be_asked_for(held: str, wanted: str, patch: list[Any], after: str) -> None:
    assert names_after(pod(*named(*held.split())), ordered(named(*wanted.split()), *patch)) == after


def test_an_order_for_a_list_that_is_nowhere_says_nothing() -> None:
    assert patched({"spec": {}}, ordered(named("a"))) == {"spec": {}}


def test_a_list_that_is_new_is_put_in_order() -> None:
    assert names_after({"spec": {}}, ordered(named("b", "a"), *named("b", "a"))) == "b a"


@pytest.mark.parametrize(
    ("doc", "patch", "code", "message"),
    [
        (pod(*named("a")), pod({"image": "x"}), 500, "map: map[image:x] does not contain declared merge key: name"),
        (pod({"image": "x"}), pod(*named("a")), 500, "map: map[image:x] does not contain declared merge key: name"),
        (pod(*named("a")), pod("a"), 500, "list element types are not identical: [[map[name:a]] [a]]"),
        (pod(*named("a")), pod(None), 500, "list element types are not identical: [[map[name:a]] [<nil>]]"),
        (pod("a"), pod("b"), 500, "expected a map[string]interface {}, but received a string"),
        (pod(), pod(None), 500, PANIC),
        (pod(*named("a")), pod({"name": {}}), 500, PANIC),
        (pod(), pod(["a"]), 422, "the server rejected our request due to an error in our request"),
        (pod(*named("a")), pod({"$patch": "delete"}), 500, "does not contain declared merge key: name"),
        (pod(*named("a")), pod({"$patch": "merge"}), 500, "merging lists cannot yet be specified in the patch"),
        (pod(*named("a")), pod({"$patch": "x"}), 500, "unknown patch type: x in map: map[$patch:x]"),
        (pod(*named("a")), ordered(named("b"), *named("a")), 500, "doesn't match $setElementOrder list"),
        (pod(*named("a", "b")), ordered(named("a", "b"), *named("b", "a")), 500, "The order in patch list"),
        (pod(*named("a")), ordered([{"x": 1}]), 500, "does not contain declared merge key: name"),
        (pod(), ordered([]), 500, "no elements in any of the given slices"),
        ({"spec": {"containers": "a"}}, ordered([]), 500, "expected a []interface {}, but received a string"),
        ({}, {"$setElementOrder/x": None}, 500, "expected a []interface {}, but received a %!s(<nil>)"),
        ({}, {"$setElementOrder/x": [], "x": {}}, 500, "but received a map[string]interface {}"),
        ({}, {"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({}, {"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
    ],
)
def test_lists_that_cannot_be_merged(doc: Doc, patch: Doc, code: int, message: str) -> None:
    answer = refused(doc, patch)
    assert answer.code == code
    assert message in answer.message


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
        ("a b", {"metadata": {"$deleteFromPrimitiveList/finalizers": []}}, "a b"),
        ("a b", {"metadata": {"$deleteFromPrimitiveList/finalizers": None}}, None),
        ("a b", {"metadata": {"$deleteFromPrimitiveList/others": ["a"]}}, "a b"),
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


def test_an_order_of_objects_without_a_merge_key_crashes_the_server() -> None:
    doc = {"spec": {"tolerations": [{"key": "a"}]}}
    assert refused(doc, {"spec": {"$setElementOrder/tolerations": [{"key": "a"}]}}).message == PANIC


def test_what_is_deleted_from_a_list_is_scalars() -> None:
    answer = refused({"args": [{"a": 1}]}, {"$deleteFromPrimitiveList/args": [{"a": 1}]})
    assert answer.message == "cannot merge lists without merge key for string"
