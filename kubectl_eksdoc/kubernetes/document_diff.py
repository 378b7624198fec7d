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
    canonical,
    field_step,
    key_step,
    keys_of,
    order_of,
    value_step,
)

# Items of a list that is a set or a map, by the path step that identifies each.


def step_of(item: Any, place: SchemaPlace) -> Step:
    """The step of one item of the list at `place`."""
    if place.list_type == "map":
        return key_step(item if isinstance(item, dict) else {}, place)
    return value_step(item)


def steps_of(items: list[Any], place: SchemaPlace) -> dict[Step, list[Any]]:
    """Each step once, in the order of the list, with the items that have it (more than one is a duplicate)."""
    found: dict[Step, list[Any]] = {}
    for item in items:
        found.setdefault(step_of(item, place), []).append(item)
    return found


# Sets of fields as trees in the JSON form of FieldsV1, and set operations on two of them.
#
# A node maps steps to nodes. ``{}`` is a field of the set without fields below it; ``{".": {}, ...}`` is a field with
# more below; any other node is only on the path to its children. Nodes are immutable and are shared. Source:
# structured-merge-diff, fieldpath/set.go and serialize.go.


Tree = Doc
Path = tuple[Step, ...]

LEAF: Tree = {}
SELF = "."


def names_item(path: Path) -> bool:
    """Whether the path is an item of a list, or one of the keys that identify the item: no value of its own."""
    return path[-1].startswith("k:") or (
        len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in keys_of(path[-2])
    )


def is_member(node: Tree) -> bool:
    return not node or SELF in node


def node_of(children: Tree, member: bool) -> Tree | None:
    """A node, or None if it is neither in the set nor on the path to a field of it."""
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


def children_of(node: Tree) -> Iterator[tuple[Step, Tree]]:
    return ((step, below) for step, below in node.items() if step != SELF)


def united(one: Tree, other: Tree) -> Tree:
    """The fields of either tree."""
    if one is other or not other:
        return one
    if not one:
        return other
    result = dict(one)
    for step, node in children_of(other):
        mine = result.get(step)
        result[step] = node if mine is None else _united_node(mine, node)
    return result


def _united_node(one: Tree, other: Tree) -> Tree:
    if one is other:
        return one
    children = united(_without_self(one), _without_self(other))
    return node_of(children, is_member(one) or is_member(other)) or LEAF


def minus(one: Tree, other: Tree) -> Tree:
    """The fields of `one` that are not in `other`; fields below a field of `other` remain."""
    return _kept(one, other, below_too=False)


def minus_all_below(one: Tree, other: Tree) -> Tree:
    """The fields of `one` that are neither in `other` nor below a field of it."""
    return _kept(one, other, below_too=True)


def _kept(one: Tree, other: Tree, *, below_too: bool) -> Tree:
    result: Tree = {}
    for step, node in children_of(one):
        against = other.get(step)
        kept: Tree | None = node
        if against is not None:
            if below_too and is_member(against):
                continue
            children = _kept(node, against, below_too=below_too)
            kept = node_of(children, is_member(node) and not is_member(against))
        if kept is not None:
            result[step] = kept
    return result


def common(one: Tree, other: Tree) -> Tree:
    """The fields in both."""
    result: Tree = {}
    for step, node in children_of(one):
        against = other.get(step)
        if against is not None:
            both = node_of(common(node, against), is_member(node) and is_member(against))
            if both is not None:
                result[step] = both
    return result


def parsed(tree: Tree) -> Tree:
    """`tree` with its steps as the server prints them. Raises MalformedStep; steps of unknown kinds are dropped."""
    result: Tree = {}
    for step, node in tree.items():
        if step == SELF:
            result[SELF] = LEAF
        elif step[1:2] != ":" or step[0] in "fkvi":
            result[canonical(step)] = parsed(node) if node else LEAF
    return result


def printed_tree(tree: Tree) -> Tree:
    """`tree` with its steps in the order in which the server prints them."""
    if not tree:
        return tree
    ordered = sorted((step for step in tree if step != SELF), key=order_of)
    result: Tree = {SELF: LEAF} if SELF in tree else {}
    for step in ordered:
        result[step] = printed_tree(tree[step])
    return result


def paths_of(tree: Tree, before: Path = ()) -> Iterator[Path]:
    """The fields of the set, the fields of a node before those further down (Set.Iterate)."""
    steps = sorted((step for step in tree if step != SELF), key=order_of)
    for step in steps:
        if is_member(tree[step]):
            yield (*before, step)
    for step in steps:
        if tree[step]:
            yield from paths_of(tree[step], (*before, step))


def tree_of(path: Path) -> Tree:
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
    def read(cls, fields_v1: Doc) -> FieldSet:
        """Parse the FieldsV1 JSON form. Raises MalformedStep."""
        return cls(parsed(fields_v1))

    @classmethod
    def of_paths(cls, *paths: Iterable[str]) -> FieldSet:
        """From paths of field names: ``FieldSet.of_paths(("metadata", "name"), ("status",))``."""
        tree: Tree = {}
        for path in paths:
            tree = united(tree, tree_of(tuple(field_step(name) for name in path)))
        return cls(tree)

    def printed(self) -> Doc:
        """The FieldsV1 JSON form, in the server's order."""
        return printed_tree(self.tree)

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
        return FieldSet(united(self.tree, other.tree))

    def __and__(self, other: FieldSet) -> FieldSet:
        return FieldSet(common(self.tree, other.tree))

    def __sub__(self, other: FieldSet) -> FieldSet:
        return FieldSet(minus(self.tree, other.tree))

    def without(self, reset: FieldSet) -> FieldSet:
        """The set without `reset` and everything below it."""
        return FieldSet(minus_all_below(self.tree, reset.tree)) if reset else self


NONE = FieldSet({})


def fields_of(doc: Doc, place: SchemaPlace) -> FieldSet:
    """The fields to which `doc` gives a value: leaves, items of lists, and keys of maps (TypedValue.ToFieldSet)."""
    node = _node(doc, place)
    return FieldSet({} if node is None else {step: below for step, below in node.items() if step != SELF})


def _node(value: Any, place: SchemaPlace) -> Tree | None:
    """The part of `value` that is in the set; None for an object or list that is not, and has nothing in it."""
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
        # Duplicate items are owned together; their parts are not owned individually.
        found[step] = LEAF if len(same) > 1 else _as_member(_node(same[0], place.of_items()))
    return found


def _as_member(node: Tree | None) -> Tree:
    return node_of({step: below for step, below in (node or LEAF).items() if step != SELF}, True) or LEAF


def with_named(fields: FieldSet, place: SchemaPlace) -> FieldSet:
    """`fields` and the declared fields on the path to them (Set.EnsureNamedFieldsAreMembers)."""
    return FieldSet(_with_named(fields.tree, place))


def _with_named(tree: Tree, place: SchemaPlace) -> Tree:
    result: Tree = {SELF: LEAF} if SELF in tree else {}
    for step, node in children_of(tree):
        named = step.startswith("f:") and place.is_field(step[2:])
        below = _with_named(node, place.under(step[2:]) if step.startswith("f:") else place.of_items())
        result[step] = _as_member(below) if named and below else below
    return result


@frozen
class FieldSetComparison:
    """No field is in more than one of the sets."""

    added: FieldSet = NONE
    changed: FieldSet = NONE
    removed: FieldSet = NONE

    def without(self, reset: FieldSet) -> FieldSetComparison:
        return FieldSetComparison(self.added.without(reset), self.changed.without(reset), self.removed.without(reset))

    @property
    def written(self) -> FieldSet:
        """The fields that the newer document has and the older one lacks, or has with another value."""
        return self.added | self.changed


def compare(old: Doc, new: Doc, place: SchemaPlace) -> FieldSetComparison:
    added, changed, removed = _children(old, new, place)
    return FieldSetComparison(FieldSet(added), FieldSet(changed), FieldSet(removed))


class _Absent:
    """Stands for a value that one side does not have; null is a value."""


_ABSENT = _Absent()

_Found = tuple[Tree | None, Tree | None, Tree | None]
"""Nodes of added, changed and removed fields; None if there are none."""

_Trees = tuple[Tree, Tree, Tree]

_SAME: _Found = (None, None, None)
_ADDED: _Found = (LEAF, None, None)
_CHANGED: _Found = (None, LEAF, None)
_REMOVED: _Found = (None, None, LEAF)


def _compared(old: Any, new: Any, place: SchemaPlace) -> _Found:
    if old is new:
        return _SAME
    if not _has_parts(old, new, place):
        if old is _ABSENT:
            return _ADDED
        if new is _ABSENT:
            return _REMOVED
        return _SAME if old == new else _CHANGED
    if isinstance(old, dict) or isinstance(new, dict):
        added, changed, removed = _children(_parts(old, {}), _parts(new, {}), place)
    else:
        added, changed, removed = _items(_parts(old, []), _parts(new, []), place)
    return (
        node_of(added, old is _ABSENT),
        node_of(changed, _is_another_type(old, new)),
        node_of(removed, new is _ABSENT),
    )


def _is_another_type(old: Any, new: Any) -> bool:
    """Whether the value exists on both sides, with different types; null matches any type."""
    if old is None or new is None or isinstance(old, _Absent) or isinstance(new, _Absent):
        return False
    return any(isinstance(old, t) != isinstance(new, t) for t in (dict, list))


def _has_parts(old: Any, new: Any, place: SchemaPlace) -> bool:
    """Whether the two are compared part by part: not if both are empty, atomic or plain values."""
    for value in (old, new):
        if isinstance(value, dict) and value:
            return not place.atomic
        if isinstance(value, list) and value:
            return place.list_type != "atomic"
    return False


def _parts(value: Any, empty: Any) -> Any:
    return value if isinstance(value, type(empty)) else empty


def _children(old: Doc, new: Doc, place: SchemaPlace) -> _Trees:
    found: _Trees = ({}, {}, {})
    for name, before in old.items():
        _note(found, field_step(name), _compared(before, new.get(name, _ABSENT), place.under(name)))
    for name, after in new.items():
        if name not in old:
            _note(found, field_step(name), _compared(_ABSENT, after, place.under(name)))
    return found


def _items(old: list[Any], new: list[Any], place: SchemaPlace) -> _Trees:
    found: _Trees = ({}, {}, {})
    before, after = steps_of(old, place), steps_of(new, place)
    for step in [*before, *(step for step in after if step not in before)]:
        _note(found, step, _same_items(before.get(step, []), after.get(step, []), place.of_items()))
    return found


def _same_items(old: list[Any], new: list[Any], place: SchemaPlace) -> _Found:
    """Compare items with the same key: duplicates are compared as one value, and are added or removed as one."""
    if len(old) <= 1 and len(new) <= 1:
        return _compared(old[0] if old else _ABSENT, new[0] if new else _ABSENT, place)
    if len(old) > 1 and len(new) > 1:
        return _SAME if old == new else _CHANGED
    if len(old) > 1:
        added, changed, _ = _compared(_ABSENT, new[0], place) if new else _SAME
        return added, changed, LEAF
    _, changed, removed = _compared(old[0], _ABSENT, place) if old else _SAME
    return LEAF, changed, removed


def _note(found: _Trees, step: Step, nodes: _Found) -> None:
    for tree, node in zip(found, nodes, strict=True):
        if node is not None:
            tree[step] = node
