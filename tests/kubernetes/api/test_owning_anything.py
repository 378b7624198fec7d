"""What holds for whatever is owned, written and applied: laws of sets of fields, updates and applies."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.types import SchemaPlace
from kubectl_eksdoc.kubernetes.ownership.applying import AppliedDocument, Conflicts, apply
from kubectl_eksdoc.kubernetes.ownership.comparing import NONE, FieldSet, Path, compare, fields_of, steps_of
from kubectl_eksdoc.kubernetes.ownership.entries import (
    UNTRACKED,
    FieldManager,
    owner_of,
    read,
    updated,
    without_entries,
)
from kubectl_eksdoc.kubernetes.ownership.steps import canonical, key_step, keys_of, value_of, value_step
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from tests.kubernetes.api.any_workloads import SCHEMA, filled_workloads, workloads

EARLY, LATE = "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"

managers = st.sampled_from(["ann", "bob", "eks"])
writes = st.lists(st.tuples(managers, st.sampled_from(["update", "apply"]), workloads()), min_size=1, max_size=4)
filled = st.lists(st.tuples(managers, st.sampled_from(["update", "apply"]), filled_workloads()), min_size=1, max_size=4)
scalars = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none())


def sets() -> st.SearchStrategy[FieldSet]:
    return workloads().map(lambda doc: fields_of(doc, SCHEMA.root))


def applied(live: Doc | None, config: Doc, manager: str, force: bool = True, now: str = EARLY) -> Doc:
    result = apply(live, config, manager, force, now, SCHEMA)
    assert isinstance(result, AppliedDocument)
    return result.doc


def history(steps: list[tuple[str, str, Doc]]) -> Doc:
    """A document after writes of several managers."""
    live: Doc | None = None
    for manager, how, doc in steps:
        live = applied(live, doc, manager) if how == "apply" else updated(live, doc, manager, EARLY, SCHEMA)
    assert live is not None
    return live


def owned(doc: Doc) -> FieldSet:
    union = NONE
    for entry in read(doc).values():
        union |= entry.fields
    return union


@given(scalars, scalars)
def test_steps_read_back(one: Any, other: Any) -> None:
    assert value_of(value_step(one)) == one
    step = key_step({"b": one, "a": other}, SchemaPlace(list_type="map", keys=("b", "a")))
    assert keys_of(step) == {"a": other, "b": one}
    assert canonical(step) == step
    assert canonical(step.replace("{", "{ ", 1)) == step


@given(sets(), sets(), sets())
def test_sets_behave_as_sets(a: FieldSet, b: FieldSet, c: FieldSet) -> None:
    assert FieldSet.read(a.printed()) == a
    assert set(a | b) == set(a) | set(b)
    assert set(a & b) == set(a) & set(b)
    assert set(a - b) == set(a) - set(b)
    assert (a | b) | c == a | (b | c)
    assert all(path in a for path in a)
    assert bool(a - b) == bool(set(a) - set(b))
    assert not a.without(a)


@given(workloads(), workloads())
def test_a_comparison_sees_each_difference_once(one: Doc, other: Doc) -> None:
    seen, back = compare(one, other, SCHEMA.root), compare(other, one, SCHEMA.root)
    assert not (seen.added & seen.changed or seen.added & seen.removed or seen.changed & seen.removed)
    assert (seen.added, seen.changed, seen.removed) == (back.removed, back.changed, back.added)
    assert (one == other) <= (not seen.written and not seen.removed)


@given(filled, filled_workloads(), managers)
def test_applying_twice_is_applying_once(steps: list[tuple[str, str, Doc]], config: Doc, manager: str) -> None:
    once = applied(history(steps), config, manager)
    assert apply(once, config, manager, False, LATE, SCHEMA) == AppliedDocument(once)


@given(filled, filled_workloads(), managers)
def test_a_forced_apply_has_what_was_applied(steps: list[tuple[str, str, Doc]], config: Doc, manager: str) -> None:
    result = applied(history(steps), config, manager)
    assert _holds(result, config, SCHEMA.root)
    mine = read(result).get(owner_of(manager, "Apply", "", ""))
    assert (mine.fields if mine else NONE) == fields_of(config, SCHEMA.root) - UNTRACKED


def _holds(doc: Any, config: Any, place: SchemaPlace) -> bool:
    """Whether `doc` has all of `config`, each part where the schema says it is the same."""
    if isinstance(config, dict) and not place.atomic:
        return all(name in doc and _holds(doc[name], value, place.under(name)) for name, value in config.items())
    if isinstance(config, list) and place.list_type != "atomic":
        there, wanted = steps_of(doc, place), steps_of(config, place)
        return all(_holds(there[step][0], wanted[step][0], place.of_items()) for step in wanted)
    return bool(doc == config)


@given(filled, filled_workloads(), managers, st.booleans())
def test_nobody_loses_a_value_of_his_unless_forced(
    steps: list[tuple[str, str, Doc]], config: Doc, manager: str, force: bool
) -> None:
    """Fields that another owns, with the items they are in, stay; and keep their values unless these are applied."""
    live = history(steps)
    result = apply(live, config, manager, force, LATE, SCHEMA)
    if isinstance(result, Conflicts):
        assert not force
        return
    assert isinstance(result, AppliedDocument)
    after, wanted = fields_of(result.doc, SCHEMA.root), fields_of(config, SCHEMA.root)
    seen = compare(without_entries(live), without_entries(result.doc), SCHEMA.root)
    for owner, entry in read(live).items():
        if owner == FieldManager(manager, "Apply", "", ""):
            continue
        there = [path for path in entry.fields & fields_of(live, SCHEMA.root) if _with_its_items(path, entry.fields)]
        assert all(path in after for path in there)
        assert all(path not in seen.changed or (force and path in wanted) for path in there)


def _with_its_items(path: Path, fields: FieldSet) -> bool:
    return all(path[: at + 1] in fields for at, step in enumerate(path) if not step.startswith("f:"))


@given(writes, workloads())
def test_an_update_owns_what_it_changed_and_nothing_that_is_gone(steps: list[tuple[str, str, Doc]], new: Doc) -> None:
    live = history(steps)
    result = updated(live, new, "ann", LATE, SCHEMA)
    if not at(live, "metadata", "managedFields"):
        assert not at(result, "metadata", "managedFields")
        return
    seen = compare(SCHEMA.filled(without_entries(live)), SCHEMA.filled(new), SCHEMA.root)
    mine = read(result).get(owner_of("ann", "Update", "apps/v1", ""))
    gained = seen.written - UNTRACKED
    assert not gained - (mine.fields if mine else NONE)
    assert not owned(result) & seen.removed
    assert not gained or (mine is not None and mine.time == LATE)


@given(writes)
def test_whatever_was_written_can_be_read(steps: list[tuple[str, str, Doc]]) -> None:
    doc = history(steps)
    assert (
        with_value(doc, ("metadata", "managedFields"), at(doc, "metadata", "managedFields")) == doc or read(doc) == {}
    )
    assert all(entry.fields for entry in read(doc).values())
