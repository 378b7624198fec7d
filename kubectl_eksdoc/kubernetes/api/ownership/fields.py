"""A set of fields of a document, as managedFields has it (FieldsV1), and the set that a document spells out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership import trees
from kubectl_eksdoc.kubernetes.api.ownership.items import steps_of
from kubectl_eksdoc.kubernetes.api.ownership.steps import field_step
from kubectl_eksdoc.kubernetes.api.ownership.trees import LEAF, Path, Tree, node_of
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.model.api_objects import Doc


@dataclass(frozen=True, slots=True)
class FieldSet:
    """A set of paths. A field's parents and children are not in the set unless they were put there."""

    tree: Tree

    @classmethod
    def read(cls, fields_v1: Doc) -> FieldSet:
        """From the FieldsV1 JSON form. Raises MalformedStep."""
        return cls(trees.parsed(fields_v1))

    @classmethod
    def of_paths(cls, *paths: Iterable[str]) -> FieldSet:
        """From paths of field names: ``FieldSet.of_paths(("metadata", "name"), ("status",))``."""
        tree: Tree = {}
        for path in paths:
            tree = trees.united(tree, trees.tree_of(tuple(field_step(name) for name in path)))
        return cls(tree)

    def printed(self) -> Doc:
        """The FieldsV1 JSON form, in the server's order."""
        return trees.printed_tree(self.tree)

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __iter__(self) -> Iterator[Path]:
        """Each path, as steps; in the order in which the server names conflicts."""
        return trees.paths_of(self.tree)

    def __contains__(self, path: Path) -> bool:
        node = self.tree
        for step in path:
            if step not in node:
                return False
            node = node[step]
        return bool(path) and trees.is_member(node)

    def __or__(self, other: FieldSet) -> FieldSet:
        return FieldSet(trees.united(self.tree, other.tree))

    def __and__(self, other: FieldSet) -> FieldSet:
        return FieldSet(trees.common(self.tree, other.tree))

    def __sub__(self, other: FieldSet) -> FieldSet:
        return FieldSet(trees.minus(self.tree, other.tree))

    def without(self, reset: FieldSet) -> FieldSet:
        """Less `reset` and all that is below it."""
        return FieldSet(trees.minus_all_below(self.tree, reset.tree)) if reset else self


NONE = FieldSet({})


def fields_of(doc: Doc, place: SchemaPlace) -> FieldSet:
    """The fields that `doc` gives a value: leaves, items of lists, and keys of maps (TypedValue.ToFieldSet)."""
    node = _node(doc, place)
    return FieldSet({} if node is None else {step: below for step, below in node.items() if step != trees.SELF})


def _node(value: Any, place: SchemaPlace) -> Tree | None:
    """What of `value` is in the set; None for an object or list that is not, and has nothing in it."""
    if isinstance(value, dict):
        return LEAF if place.atomic else node_of(_below_object(value, place), False)
    if isinstance(value, list):
        return LEAF if place.list_type == "atomic" else node_of(_below_list(value, place), False)
    return LEAF


def _below_object(doc: Doc, place: SchemaPlace) -> Tree:
    found: Tree = {}
    for name, value in doc.items():
        node = _node(value, place.under(name))
        if value is None or value == {} or not place.is_field(name):
            node = _as_member(node)
        if node is not None:
            found[field_step(name)] = node
    return found


def _below_list(items: list[Any], place: SchemaPlace) -> Tree:
    found: Tree = {}
    for step, same in steps_of(items, place).items():
        # Items that are there twice are owned together, and nothing in them by itself.
        found[step] = LEAF if len(same) > 1 else _as_member(_node(same[0], place.of_items()))
    return found


def _as_member(node: Tree | None) -> Tree:
    return node_of({step: below for step, below in (node or LEAF).items() if step != trees.SELF}, True) or LEAF


def with_named(fields: FieldSet, place: SchemaPlace) -> FieldSet:
    """`fields` and the declared fields on the way to them (Set.EnsureNamedFieldsAreMembers)."""
    return FieldSet(_with_named(fields.tree, place))


def _with_named(tree: Tree, place: SchemaPlace) -> Tree:
    result: Tree = {trees.SELF: LEAF} if trees.SELF in tree else {}
    for step, node in trees.children_of(tree):
        named = step.startswith("f:") and place.is_field(step[2:])
        below = _with_named(node, place.under(step[2:]) if step.startswith("f:") else place.of_items())
        result[step] = _as_member(below) if named and below else below
    return result
