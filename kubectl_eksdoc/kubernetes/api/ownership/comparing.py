"""Which fields differ between two documents: added, changed, removed.

Source: structured-merge-diff, typed/compare.go. An object or list that is new is added itself, with all that is in it;
one that was null before is not. An atomic one, and one that is empty on both sides, counts as a single field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership.fields import NONE, FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.items import steps_of
from kubectl_eksdoc.kubernetes.api.ownership.steps import Step, field_step
from kubectl_eksdoc.kubernetes.api.ownership.trees import LEAF, Tree, node_of
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.model.api_objects import Doc


@dataclass(frozen=True, slots=True)
class FieldSetComparison:
    """No field is in more than one of the sets."""

    added: FieldSet = NONE
    changed: FieldSet = NONE
    removed: FieldSet = NONE

    def without(self, reset: FieldSet) -> FieldSetComparison:
        return FieldSetComparison(self.added.without(reset), self.changed.without(reset), self.removed.without(reset))

    @property
    def written(self) -> FieldSet:
        """What the newer document has and the older one had not, or not so."""
        return self.added | self.changed


def compare(old: Doc, new: Doc, place: SchemaPlace) -> FieldSetComparison:
    added, changed, removed = _children(old, new, place)
    return FieldSetComparison(FieldSet(added), FieldSet(changed), FieldSet(removed))


class _Absent:
    """Stands for a value that one side does not have; null is a value."""


_ABSENT = _Absent()

_Found = tuple[Tree | None, Tree | None, Tree | None]
"""Nodes of added, changed and removed fields; None where there are none."""

_Trees = tuple[Tree, Tree, Tree]

_SAME: _Found = (None, None, None)
_ADDED: _Found = (LEAF, None, None)
_CHANGED: _Found = (None, LEAF, None)
_REMOVED: _Found = (None, None, LEAF)


def _compared(old: Any, new: Any, place: SchemaPlace) -> _Found:
    if old is new:
        return _SAME
    if not _has_parts(old, new, place):
        return _as_one(old, new)
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
    """Whether a value was there before and after, of different types; null is of any."""
    if old is None or new is None or isinstance(old, _Absent) or isinstance(new, _Absent):
        return False
    return any(isinstance(old, t) != isinstance(new, t) for t in (dict, list))


def _has_parts(old: Any, new: Any, place: SchemaPlace) -> bool:
    """Whether the two are compared part by part: not when both are empty, atomic or plain values."""
    for value in (old, new):
        if isinstance(value, dict) and value:
            return not place.atomic
        if isinstance(value, list) and value:
            return place.list_type != "atomic"
    return False


def _as_one(old: Any, new: Any) -> _Found:
    if old is _ABSENT:
        return _ADDED
    if new is _ABSENT:
        return _REMOVED
    return _SAME if old == new else _CHANGED


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
    """Items with the same key: duplicates are compared as one value, and are new or gone as one."""
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
