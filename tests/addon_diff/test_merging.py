"""Merging configuration values: what is said above holds, and what changed is said."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.merging import (
    MISSING,
    differences,
    leaves,
    merged,
)
from kubectl_eksdoc.model.api_objects import same_json, with_value

Values = dict[str, Any]


def value_at(values: Values, path: tuple[str, ...]) -> Any:
    """What stands at a path, `MISSING` for nothing. Lists are not looked into."""
    found: Any = values
    for step in path:
        if not isinstance(found, dict) or step not in found:
            return MISSING
        found = found[step]
    return found


KEYS = st.sampled_from(["env", "init", "a", "b", ""])
scalars = st.none() | st.booleans() | st.integers(0, 2) | st.just(1.0) | st.sampled_from(["", "true"])
documents: st.SearchStrategy[Values] = st.recursive(
    st.dictionaries(KEYS, scalars | st.lists(scalars, max_size=2), max_size=3),
    lambda inner: st.dictionaries(KEYS, inner | scalars, max_size=3),
    max_leaves=10,
)
paths = st.lists(KEYS, min_size=1, max_size=4).map(tuple)


@given(documents, documents)
def test_above_holds_and_the_rest_stays(below: Values, above: Values) -> None:
    made = merged(below, above)
    for leaf in leaves(above):
        found = value_at(made.values, leaf.path)
        assert same_json(found, leaf.value) or (leaf.value == {} and isinstance(found, dict))
    said = {leaf.path for leaf in leaves(above)}
    for leaf in leaves(below):
        untouched = not any(leaf.path[: len(path)] == path or path[: len(leaf.path)] == leaf.path for path in said)
        assert not untouched or same_json(value_at(made.values, leaf.path), leaf.value)


@given(documents, documents)
def test_what_changed_is_said_and_nothing_else(below: Values, above: Values) -> None:
    made = merged(below, above)
    assert made.changed == differences(below, made.values)
    assert bool(made.changed) == (not same_json(below, made.values))
    for path in made.changed:
        assert not same_json(value_at(below, path), value_at(made.values, path)) or value_at(below, path) == {}


@given(documents)
def test_leaves_make_the_document_again(values: Values) -> None:
    made: Values = {}
    for leaf in leaves(values):
        made = with_value(made, leaf.path, leaf.value)
    assert same_json(made, values)


@given(documents, paths, scalars)
def test_a_value_that_was_put_is_there(values: Values, path: tuple[str, ...], value: Any) -> None:
    before = repr(values)
    put = with_value(values, path, value)
    assert same_json(value_at(put, path), value)
    assert repr(values) == before
    for leaf in leaves(values):
        apart = leaf.path[: len(path)] != path and path[: len(leaf.path)] != leaf.path
        assert not apart or same_json(value_at(put, leaf.path), leaf.value)


def test_true_is_not_1_and_null_is_not_nothing() -> None:
    assert not same_json(True, 1) and not same_json(None, MISSING) and same_json(MISSING, MISSING)
    assert differences({"a": 1}, {"a": True}) == differences({"a": None}, {}) == (("a",),)
