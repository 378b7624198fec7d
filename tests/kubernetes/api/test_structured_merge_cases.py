"""Upstream's own tests of structured merging as data: merges, comparisons, field sets, histories of writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from kubectl_eksdoc.kubernetes.api.types import PLAIN, UNTYPED, Schema, SchemaPlace
from kubectl_eksdoc.kubernetes.document_diff import FieldSet, compare, fields_of
from kubectl_eksdoc.kubernetes.managed_fields import read_entries, with_update, without_entries
from kubectl_eksdoc.kubernetes.server_side_apply import AppliedDocument, ApplyConflictSet, apply, merge
from kubectl_eksdoc.model.api_objects import Doc
from tests import raw_facts
from tests.for_each import for_each

NOW = "2026-11-20T08:00:00Z"

LEFT_OUT = {
    "typed/symdiff_test.go:TestSymdiff/untyped separable/5": "a value that may be a list by keys or anything else",
    "typed/symdiff_test.go:TestSymdiff/untyped separable/7": "the same",
    # Servers store no nulls, so that no manager can own one.
    **{
        f"merge/multiple_appliers_test.go:TestMultipleAppliers{kind}": "stored nulls"
        for kind in (
            "NestedType/multiple_appliers_recursive_map",
            "DeducedType/multiple_appliers_recursive_map_deduced",
        )
    },
}


@cache
def held() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((raw_facts.DATA / "cases" / "structured-merge.json").read_text())
    return found


def asking(what: str) -> list[Any]:
    return [case for case in held()["cases"] if case["asks"] == what and case["source"] not in LEFT_OUT]


def each_asking(what: str) -> Callable[[Any], Any]:
    return for_each("case", asking(what), ids=lambda case: case["source"])


def place_of(case: dict[str, Any]) -> SchemaPlace:
    schema = held()["schemas"][case["schema"]]
    return _place({declared["name"]: declared for declared in schema["types"]}, {"namedType": schema["root"]}, 8)


def _place(types: dict[str, Doc], of: Doc, depth: int) -> SchemaPlace:
    """Parse upstream's notation for types; recursive types end after some levels."""
    if depth == 0:
        return PLAIN
    name = of.get("namedType")
    if name is not None:
        return UNTYPED if name == "__untyped_deduced_" else _place(types, types.get(name, {}), depth)
    a_map, a_list = of.get("map") or {}, of.get("list") or {}
    declared = {field["name"]: _place(types, field["type"], depth - 1) for field in a_map.get("fields") or ()}
    keys = tuple(a_list.get("keys") or ())
    associative = a_list.get("elementRelationship") == "associative"
    return SchemaPlace(
        atomic=a_map.get("elementRelationship") == "atomic",
        named=declared,
        entries=_place(types, a_map["elementType"], depth - 1) if "elementType" in a_map else None,
        list_type=("map" if keys else "set") if associative else "atomic",
        keys=keys,
        items=_place(types, a_list["elementType"], depth - 1) if a_list else None,
        defaults=_defaults(types, a_list.get("elementType", {})),
    )


def _defaults(types: dict[str, Doc], items: Doc) -> Doc:
    resolved = types.get(items.get("namedType", ""), items)
    found = (resolved.get("map") or {}).get("fields") or ()
    return {field["name"]: field["default"] for field in found if "default" in field}


def test_every_case_is_asked() -> None:
    asked = {what: len(asking(what)) for what in ("merge", "compare", "fields", "history")}
    assert asked == {"merge": 64, "compare": 70, "fields": 29, "history": 81}
    assert sum(asked.values()) + len(LEFT_OUT) == len(held()["cases"])


@each_asking("merge")
def test_merging(case: dict[str, Any]) -> None:
    assert merge(case["given"]["live"], case["given"]["config"], place_of(case)) == case["expect"]


@each_asking("compare")
def test_comparing(case: dict[str, Any]) -> None:
    seen = compare(case["given"]["old"], case["given"]["new"], place_of(case))
    ours = {"added": seen.added, "modified": seen.changed, "removed": seen.removed}
    assert {name: set(fields) for name, fields in ours.items()} == _sets(case["expect"])


@each_asking("fields")
def test_the_fields_of_a_document(case: dict[str, Any]) -> None:
    assert set(fields_of(case["given"], place_of(case))) == {tuple(path) for path in case["expect"]}


@each_asking("history")
def test_histories_of_updates_and_applies(case: dict[str, Any]) -> None:
    live: Doc | None = None
    schema = Schema(place_of(case), {})
    for step in case["given"]:
        doc = {"apiVersion": step["version"], **(step["object"] or {})}
        if step["op"] == "Update":
            live = with_update(live, doc, step["manager"], NOW, schema)
            continue
        result = apply(live, doc, step["manager"], step["op"] == "ForceApply", NOW, schema)
        if isinstance(result, AppliedDocument):
            assert not step.get("conflicts")
            live = result.doc
        elif isinstance(result, ApplyConflictSet):
            # Upstream names them in some cases, and in other cases only states that there are some.
            expected = {(found["manager"], tuple(found["path"])) for found in step["conflicts"]}
            assert not expected or {(found.owner.manager, found.path) for found in result.conflicts} == expected
        else:
            assert case["expect"].get("refused"), result
            return
    _check(live or {}, case["expect"])


def _check(live: Doc, expect: dict[str, Any]) -> None:
    assert not expect.get("refused")
    owned: dict[str, FieldSet] = {}
    for owner, entry in read_entries(live).items():
        owned[owner.manager] = owned.get(owner.manager, FieldSet({})) | entry.fields
    if expect["owned"] is not None:
        assert {manager: set(fields) for manager, fields in owned.items()} == _sets(expect["owned"])
    if expect["object"] is not None:
        ours = {name: value for name, value in without_entries(live).items() if name not in ("apiVersion", "metadata")}
        assert _without_nulls(ours) == _without_nulls(expect["object"])


def _sets(listed: dict[str, list[list[str]]]) -> dict[str, set[tuple[str, ...]]]:
    return {name: {tuple(path) for path in paths} for name, paths in listed.items()}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
