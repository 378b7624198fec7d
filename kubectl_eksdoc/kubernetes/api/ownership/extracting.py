"""The part of a document that a set of fields names, as a configuration that would own just these.

Source: structured-merge-diff, typed/remove.go (ExtractItems, with its keys); client-go, applyconfigurations (Extract).
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership.fields import FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.items import step_of
from kubectl_eksdoc.kubernetes.api.ownership.steps import field_step
from kubectl_eksdoc.kubernetes.api.ownership.trees import Tree, children_of
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.model.api_objects import Doc


def kept(doc: Doc, fields: FieldSet, place: SchemaPlace) -> Doc:
    """What of `doc` the set names. Items of lists keep their keys, without which they would be others."""
    return _fields(doc, fields.tree, place)


def _kept(value: Any, node: Tree, place: SchemaPlace) -> Any:
    if isinstance(value, dict) and not place.atomic:
        return _fields(value, node, place)
    if isinstance(value, list) and place.list_type != "atomic":
        return _items(value, node, place)
    return value


def _fields(doc: Doc, tree: Tree, place: SchemaPlace) -> Doc:
    named = {name: tree.get(field_step(name)) for name in doc}
    return {name: _kept(doc[name], node, place.under(name)) for name, node in named.items() if node is not None}


def _items(items: list[Any], tree: Tree, place: SchemaPlace) -> list[Any]:
    steps = dict(children_of(tree))
    return [_item(item, steps[step], place) for item in items if (step := step_of(item, place)) in steps]


def _item(item: Any, node: Tree, place: SchemaPlace) -> Any:
    if not isinstance(item, dict):
        return item
    keys = {key: item[key] for key in place.keys if key in item}
    return {**keys, **_fields(item, node, place.of_items())}
