"""Invariants of every patch: inverses, idempotence, unchanged inputs, and no other error than our own."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.patches import MAX_DEPTH, apply_json_patch, apply_merge, apply_strategic
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc
from tests.kubernetes.api.pod_fields import BUDGET_FIELDS


def same(left: Any, right: Any) -> bool:
    """Whether both are the same JSON, with members in any order; 1, 1.0 and true are different."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def pointer(steps: Sequence[str]) -> str:
    """The JSON pointer that goes through `steps`."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


Patching = Callable[[Doc, Any], Doc]

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from("abc")
PLAIN = st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
NAMES = st.sampled_from(["a", "b", "a/b", "m~n", "~1", "", "0", "-"])


def values(scalars: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )


def docs(scalars: st.SearchStrategy[Any], names: st.SearchStrategy[str] = NAMES) -> st.SearchStrategy[Doc]:
    return st.dictionaries(names, values(scalars, names), max_size=4)


ANY_JSON = values(SCALARS, NAMES)

# Names that mean something to a strategic merge patch, so that patches get past the first member.
FIELDS = st.sampled_from(
    ["metadata", "spec", "containers", "env", "name", "finalizers", "args", "$patch", "$retainKeys"]
    + [f"{prefix}/{field}" for prefix in ("$setElementOrder", "$deleteFromPrimitiveList") for field in ("containers",)]
    + ["$setElementOrder/finalizers", "$deleteFromPrimitiveList/finalizers", "$setElementOrder", "$setElementOrder/"]
)
WORDS = SCALARS | st.sampled_from(["delete", "replace", "merge", "name", "a"])
STRATEGIC = docs(WORDS, FIELDS)

ENTRIES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcdef")}, optional={"image": st.sampled_from(["1", "2"])}),
    max_size=6,
    unique_by=lambda entry: entry["name"],
)

OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
        optional={
            "path": st.lists(NAMES, max_size=3).map(pointer),
            "from": st.lists(NAMES, max_size=3).map(pointer),
            "value": ANY_JSON,
        },
    ),
    max_size=4,
)


def strategically(doc: Doc, patch: Any) -> Doc:
    return apply_strategic(doc, patch, BUDGET_FIELDS)


def difference(before: Doc, after: Doc) -> Doc:
    """A merge patch from one document to another, neither of which has nulls."""
    found: Doc = {name: None for name in before if name not in after}
    for name, value in after.items():
        held = before.get(name)
        if isinstance(held, dict) and isinstance(value, dict):
            found[name] = difference(held, value)
        elif name not in before or not same(held, value):
            found[name] = value
    return found


@given(docs(PLAIN), docs(PLAIN))
def test_a_merge_patch_of_the_difference_leads_there(before: Doc, after: Doc) -> None:
    patch = difference(before, after)
    assert same(apply_merge(before, patch), after)
    assert same(apply_merge(after, patch), after)


@given(ENTRIES, st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_asking_for_an_order_loses_no_entry(held: list[Doc], wanted: list[str]) -> None:
    if not held:
        return
    patch = {"spec": {"$setElementOrder/containers": [{"name": name} for name in wanted]}}
    after = strategically({"spec": {"containers": held}}, patch)["spec"]["containers"]
    assert sorted(map(repr, after)) == sorted(map(repr, held))
    names = [entry["name"] for entry in after]
    assert [n for n in names if n in wanted] == [n for n in wanted if n in names]


@given(docs(PLAIN), ENTRIES, st.lists(st.sampled_from("abc"), unique=True))
def test_the_whole_object_as_its_patch_changes_nothing(doc: Doc, containers: list[Doc], finalizers: list[str]) -> None:
    whole = {**doc, "spec": {"containers": containers, "x": doc}, "metadata": {"finalizers": finalizers}}
    assert same(strategically(whole, whole), whole)
    assert same(strategically({}, whole), whole)


@pytest.mark.parametrize("apply", [apply_merge, apply_json_patch, strategically])
@given(docs(SCALARS) | STRATEGIC, st.one_of(ANY_JSON, docs(SCALARS), STRATEGIC, OPERATIONS))
@example({}, {"spec": {"containers": [{"name": {}}]}})
def test_any_patch_is_applied_or_refused_and_changes_nothing_in_place(apply: Patching, doc: Doc, patch: Any) -> None:
    held, given_patch = copy.deepcopy(doc), copy.deepcopy(patch)
    try:
        after = apply(doc, patch)
    except ApiRefusal as refused:
        assert refused.status.code in (400, 422, 500)
    else:
        assert isinstance(after, dict)
    assert same(doc, held)
    assert same(patch, given_patch)


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = wrap(value)
    return value


WRAPS: list[Callable[[Any], Any]] = [
    lambda inner: {"a": inner},
    lambda inner: [inner],
    lambda inner: {"spec": inner, "$retainKeys": ["spec"]},
    lambda inner: {"containers": [{"name": "a", "x": inner}]},
]


@pytest.mark.parametrize("wrap", WRAPS)
def test_what_is_nested_too_deeply_is_refused(wrap: Callable[[Any], Any]) -> None:
    patch = nested(MAX_DEPTH - 1, WRAPS[0])
    assert apply_merge(patch, patch) == strategically(patch, patch) == patch
    deepest = {"a": nested(40, wrap)}
    assert strategically(strategically({}, deepest), deepest)
    for depth in (MAX_DEPTH, 100_000 if wrap is WRAPS[0] else 20_000):
        deep = nested(depth, wrap)
        for apply in (apply_merge, strategically):
            with pytest.raises(ApiRefusal) as refused:
                apply({}, {"a": deep})
            assert refused.value.status.code == 400, (apply, depth)
        with pytest.raises(ApiRefusal) as refused:
            apply_json_patch({}, [{"op": "add", "path": "/a", "value": deep}])
        assert refused.value.status.code == 400, depth
