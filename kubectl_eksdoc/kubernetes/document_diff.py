"""Comparison of two documents: fields that were added, changed and removed.

Source: structured-merge-diff, typed/compare.go. A new object or list is itself an added field, with everything in it;
one that was null before is not. An atomic one, and one that is empty on both sides, counts as a single field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc

from .api.types import SchemaPlace
from .field_paths import (
    Step,
    canonical_step,
    field_step,
    key_step,
    keys_of,
    step_sort_key,
    value_step,
)

# Items of a list that is a set or a map, by the path step that identifies each.


def item_step(item: Any, place: SchemaPlace) -> Step:
    """The step of one item of the list at `place`."""
    if place.list_type == "map":
        return key_step(item if isinstance(item, dict) else {}, place)
    return value_step(item)


def items_by_step(items: list[Any], place: SchemaPlace) -> dict[Step, list[Any]]:
    """Each step once, in the order of the list, with the items that have it (more than one is a duplicate)."""
    by_step: dict[Step, list[Any]] = {}
    for item in items:
        by_step.setdefault(item_step(item, place), []).append(item)
    return by_step


# Sets of fields as trees in the JSON form of FieldsV1, and set operations on two of them.
#
# A node maps steps to nodes. ``{}`` is a field of the set without fields below it; ``{".": {}, ...}`` is a field with
# more below; any other node is only on the path to its children. Nodes are immutable and are shared. Source:
# structured-merge-diff, fieldpath/set.go and serialize.go.


Tree = Doc
Path = tuple[Step, ...]

LEAF: Tree = {}
SELF = "."


def is_item_or_key(path: Path) -> bool:
    """Whether the path is an item of a list, or one of the keys that identify the item: no value of its own."""
    return path[-1].startswith("k:") or (
        len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in keys_of(path[-2])
    )


def is_member(node: Tree) -> bool:
    return not node or SELF in node


def build_node(children: Tree, member: bool) -> Tree | None:
    """A node, or None if it is neither in the set nor on the path to a field of it."""
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


def children_of(node: Tree) -> Iterator[tuple[Step, Tree]]:
    return ((step, below) for step, below in node.items() if step != SELF)


def union(first: Tree, second: Tree) -> Tree:
    """The fields of either tree."""
    if first is second or not second:
        return first
    if not first:
        return second
    result = dict(first)
    for step, node in children_of(second):
        first_node = result.get(step)
        result[step] = node if first_node is None else _union_node(first_node, node)
    return result


def _union_node(first: Tree, second: Tree) -> Tree:
    if first is second:
        return first
    children = union(_without_self(first), _without_self(second))
    return build_node(children, is_member(first) or is_member(second)) or LEAF


def difference(one: Tree, other: Tree) -> Tree:
    """The fields of `one` that are not in `other`; fields below a field of `other` remain."""
    return _subtract(one, other, recursive=False)


def difference_recursive(one: Tree, other: Tree) -> Tree:
    """The fields of `one` that are neither in `other` nor below a field of it."""
    return _subtract(one, other, recursive=True)


def _subtract(one: Tree, other: Tree, *, recursive: bool) -> Tree:
    result: Tree = {}
    for step, node in children_of(one):
        other_node = other.get(step)
        remaining: Tree | None = node
        if other_node is not None:
            if recursive and is_member(other_node):
                continue
            children = _subtract(node, other_node, recursive=recursive)
            remaining = build_node(children, is_member(node) and not is_member(other_node))
        if remaining is not None:
            result[step] = remaining
    return result


def intersection(one: Tree, other: Tree) -> Tree:
    """The fields in both."""
    result: Tree = {}
    for step, node in children_of(one):
        other_node = other.get(step)
        if other_node is not None:
            shared = build_node(intersection(node, other_node), is_member(node) and is_member(other_node))
            if shared is not None:
                result[step] = shared
    return result


def canonical_tree(tree: Tree) -> Tree:
    """`tree` with its steps as the server prints them. Raises MalformedStep; steps of unknown kinds are dropped."""
    result: Tree = {}
    for step, node in tree.items():
        if step == SELF:
            result[SELF] = LEAF
        elif step[1:2] != ":" or step[0] in "fkvi":
            result[canonical_step(step)] = canonical_tree(node) if node else LEAF
    return result


def sorted_tree(tree: Tree) -> Tree:
    """`tree` with its steps in the order in which the server prints them."""
    if not tree:
        return tree
    ordered = sorted((step for step in tree if step != SELF), key=step_sort_key)
    result: Tree = {SELF: LEAF} if SELF in tree else {}
    for step in ordered:
        result[step] = sorted_tree(tree[step])
    return result


def paths_of(tree: Tree, before: Path = ()) -> Iterator[Path]:
    """The fields of the set, the fields of a node before those further down (Set.Iterate)."""
    steps = sorted((step for step in tree if step != SELF), key=step_sort_key)
    for step in steps:
        if is_member(tree[step]):
            yield (*before, step)
    for step in steps:
        if tree[step]:
            yield from paths_of(tree[step], (*before, step))


def path_tree(path: Path) -> Tree:
    """The set of one field."""
    node: Tree = LEAF
    for step in reversed(path):
        node = {step: node}
    return node


def _without_self(node: Tree) -> Tree:
    return {step: below for step, below in node.items() if step != SELF} if SELF in node else node


# A set of fields of a document, as in managedFields (FieldsV1), and the set of fields that a document contains.


@frozen
class FieldSet:
    """A set of paths. Parents and children of a field are not in the set unless they were added."""

    tree: Tree

    @classmethod
    def parse(cls, fields_v1: Doc) -> FieldSet:
        """Parse the FieldsV1 JSON form. Raises MalformedStep."""
        return cls(canonical_tree(fields_v1))

    @classmethod
    def of_paths(cls, *paths: Iterable[str]) -> FieldSet:
        """From paths of field names: ``FieldSet.of_paths(("metadata", "name"), ("status",))``."""
        tree: Tree = {}
        for path in paths:
            tree = union(tree, path_tree(tuple(field_step(name) for name in path)))
        return cls(tree)

    def to_json(self) -> Doc:
        """The FieldsV1 JSON form, in the server's order."""
        return sorted_tree(self.tree)

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __iter__(self) -> Iterator[Path]:
        """Each path, as steps, in the order in which the server names conflicts."""
        return paths_of(self.tree)

    def __contains__(self, path: Path) -> bool:
        node = self.tree
        for step in path:
            if step not in node:
                return False
            node = node[step]
        return bool(path) and is_member(node)

    def __or__(self, other: FieldSet) -> FieldSet:
        return FieldSet(union(self.tree, other.tree))

    def __and__(self, other: FieldSet) -> FieldSet:
        return FieldSet(intersection(self.tree, other.tree))

    def __sub__(self, other: FieldSet) -> FieldSet:
        return FieldSet(difference(self.tree, other.tree))

    def without(self, reset: FieldSet) -> FieldSet:
        """The set without `reset` and everything below it."""
        return FieldSet(difference_recursive(self.tree, reset.tree)) if reset else self


NO_FIELDS = FieldSet({})


def fields_of(doc: Doc, place: SchemaPlace) -> FieldSet:
    """The fields to which `doc` gives a value: leaves, items of lists, and keys of maps (TypedValue.ToFieldSet)."""
    node = _value_node(doc, place)
    return FieldSet({} if node is None else {step: below for step, below in node.items() if step != SELF})


def _value_node(value: Any, place: SchemaPlace) -> Tree | None:
    """The part of `value` that is in the set; None for an object or list that is not, and has nothing in it."""
    if isinstance(value, dict):
        return LEAF if place.atomic else build_node(_object_children(value, place), False)
    if isinstance(value, list):
        return LEAF if place.list_type == "atomic" else build_node(_list_children(value, place), False)
    return LEAF


def _object_children(doc: Doc, place: SchemaPlace) -> Tree:
    children: Tree = {}
    for name, value in doc.items():
        node = _value_node(value, place.under(name))
        if value is None or value == {} or not place.is_field(name):
            node = _as_member(node)
        if node is not None:
            children[field_step(name)] = node
    return children


def _list_children(items: list[Any], place: SchemaPlace) -> Tree:
    children: Tree = {}
    for step, step_items in items_by_step(items, place).items():
        # Duplicate items are owned together; their parts are not owned individually.
        children[step] = LEAF if len(step_items) > 1 else _as_member(_value_node(step_items[0], place.item_place()))
    return children


def _as_member(node: Tree | None) -> Tree:
    return build_node({step: below for step, below in (node or LEAF).items() if step != SELF}, True) or LEAF


def with_named_fields(fields: FieldSet, place: SchemaPlace) -> FieldSet:
    """`fields` and the declared fields on the path to them (Set.EnsureNamedFieldsAreMembers)."""
    return FieldSet(_tree_with_named_fields(fields.tree, place))


def _tree_with_named_fields(tree: Tree, place: SchemaPlace) -> Tree:
    result: Tree = {SELF: LEAF} if SELF in tree else {}
    for step, node in children_of(tree):
        is_declared = step.startswith("f:") and place.is_field(step[2:])
        below = _tree_with_named_fields(node, place.under(step[2:]) if step.startswith("f:") else place.item_place())
        result[step] = _as_member(below) if is_declared and below else below
    return result


@frozen
class FieldSetComparison:
    """No field is in more than one of the sets."""

    added: FieldSet = NO_FIELDS
    changed: FieldSet = NO_FIELDS
    removed: FieldSet = NO_FIELDS

    def without(self, reset: FieldSet) -> FieldSetComparison:
        return FieldSetComparison(self.added.without(reset), self.changed.without(reset), self.removed.without(reset))

    @property
    def written(self) -> FieldSet:
        """The fields that the newer document has and the older one lacks, or has with another value."""
        return self.added | self.changed


def compare(old: Doc, new: Doc, place: SchemaPlace) -> FieldSetComparison:
    added, changed, removed = _compare_objects(old, new, place)
    return FieldSetComparison(FieldSet(added), FieldSet(changed), FieldSet(removed))


class _Absent:
    """Stands for a value that one side does not have; null is a value."""


_ABSENT = _Absent()

_NodeChanges = tuple[Tree | None, Tree | None, Tree | None]
"""Nodes of added, changed and removed fields; None if there are none."""

_Trees = tuple[Tree, Tree, Tree]

_SAME: _NodeChanges = (None, None, None)
_ADDED: _NodeChanges = (LEAF, None, None)
_CHANGED: _NodeChanges = (None, LEAF, None)
_REMOVED: _NodeChanges = (None, None, LEAF)


def _compare_values(old: Any, new: Any, place: SchemaPlace) -> _NodeChanges:
    if old is new:
        return _SAME
    if not _is_compared_by_parts(old, new, place):
        if old is _ABSENT:
            return _ADDED
        if new is _ABSENT:
            return _REMOVED
        return _SAME if old == new else _CHANGED
    if isinstance(old, dict) or isinstance(new, dict):
        added, changed, removed = _compare_objects(_parts_or_empty(old, {}), _parts_or_empty(new, {}), place)
    else:
        added, changed, removed = _compare_lists(_parts_or_empty(old, []), _parts_or_empty(new, []), place)
    return (
        build_node(added, old is _ABSENT),
        build_node(changed, _type_changed(old, new)),
        build_node(removed, new is _ABSENT),
    )


def _type_changed(old: Any, new: Any) -> bool:
    """Whether the value exists on both sides, with different types; null matches any type."""
    if old is None or new is None or isinstance(old, _Absent) or isinstance(new, _Absent):
        return False
    return any(isinstance(old, t) != isinstance(new, t) for t in (dict, list))


def _is_compared_by_parts(old: Any, new: Any, place: SchemaPlace) -> bool:
    """Whether the two are compared part by part: not if both are empty, atomic or plain values."""
    for value in (old, new):
        if isinstance(value, dict) and value:
            return not place.atomic
        if isinstance(value, list) and value:
            return place.list_type != "atomic"
    return False


def _parts_or_empty(value: Any, empty: Any) -> Any:
    return value if isinstance(value, type(empty)) else empty


def _compare_objects(old: Doc, new: Doc, place: SchemaPlace) -> _Trees:
    changes: _Trees = ({}, {}, {})
    for name, before in old.items():
        _record_change(changes, field_step(name), _compare_values(before, new.get(name, _ABSENT), place.under(name)))
    for name, after in new.items():
        if name not in old:
            _record_change(changes, field_step(name), _compare_values(_ABSENT, after, place.under(name)))
    return changes


def _compare_lists(old: list[Any], new: list[Any], place: SchemaPlace) -> _Trees:
    changes: _Trees = ({}, {}, {})
    before, after = items_by_step(old, place), items_by_step(new, place)
    for step in [*before, *(step for step in after if step not in before)]:
        _record_change(changes, step, _compare_items(before.get(step, []), after.get(step, []), place.item_place()))
    return changes


def _compare_items(old: list[Any], new: list[Any], place: SchemaPlace) -> _NodeChanges:
    """Compare items with the same key: duplicates are compared as one value, and are added or removed as one."""
    if len(old) <= 1 and len(new) <= 1:
        return _compare_values(old[0] if old else _ABSENT, new[0] if new else _ABSENT, place)
    if len(old) > 1 and len(new) > 1:
        return _SAME if old == new else _CHANGED
    if len(old) > 1:
        added, changed, _ = _compare_values(_ABSENT, new[0], place) if new else _SAME
        return added, changed, LEAF
    _, changed, removed = _compare_values(old[0], _ABSENT, place) if old else _SAME
    return LEAF, changed, removed


def _record_change(changes: _Trees, step: Step, nodes: _NodeChanges) -> None:
    for tree, node in zip(changes, nodes, strict=True):
        if node is not None:
            tree[step] = node
