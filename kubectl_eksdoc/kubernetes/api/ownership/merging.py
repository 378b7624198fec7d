"""A configuration merged into a live document, and fields taken out of a document.

Source: structured-merge-diff, typed/merge.go and typed/remove.go. Nothing is ever lost by merging; where both have a
leaf, the configuration's stays. Items keep the configuration's order, with items only the live list has in between
where they were.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership.fields import FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.items import step_of, steps_of
from kubectl_eksdoc.kubernetes.api.ownership.steps import Step, field_step
from kubectl_eksdoc.kubernetes.api.ownership.trees import Tree, is_member
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.model.api_objects import Doc


def merged(live: Doc, config: Doc, place: SchemaPlace) -> Doc:
    """`live` with what `config` says."""
    return {**live, **{name: _merged(live.get(name), wanted, place.under(name)) for name, wanted in config.items()}}


def _merged(live: Any, wanted: Any, place: SchemaPlace) -> Any:
    if wanted is None:
        # Null keeps a granular object or list that has something in it, and replaces anything else.
        return live if _is_granular(live, place) else None
    if isinstance(wanted, dict) and isinstance(live, dict) and not place.atomic:
        return merged(live, wanted, place)
    if isinstance(wanted, list) and isinstance(live, list) and place.list_type != "atomic":
        return _merged_items(live, wanted, place)
    return wanted


def _is_granular(value: Any, place: SchemaPlace) -> bool:
    if isinstance(value, dict):
        return bool(value) and not place.atomic
    return isinstance(value, list) and bool(value) and place.list_type != "atomic"


def _merged_items(live: list[Any], wanted: list[Any], place: SchemaPlace) -> list[Any]:
    """Both lists in one; see `_order` for the order. Live duplicates are replaced where the configuration has one."""
    before, after = steps_of(live, place), steps_of(wanted, place)
    result: list[Any] = []
    for step, at in _order([step_of(item, place) for item in live], list(after)):
        if step not in after:
            result.append(live[at])
            continue
        same = before.get(step, [])
        item = after[step][0]
        result.append(_merged(same[0], item, place.of_items()) if len(same) == 1 else item)
    return result


def _order(live: list[Step], wanted: list[Step]) -> list[tuple[Step, int]]:
    """The steps of the merged list, with the position in `live` of those that only it has.

    The two lists are walked side by side; a shared item is placed when the configuration's turn for it comes, and
    whatever only the live list has goes as far forward as that allows.
    """
    known, config = set(live), set(wanted)
    shared = [step for step in wanted if step in known]
    done: set[Step] = set()
    placed: list[tuple[Step, int]] = []
    left = right = following = 0
    while left < len(live) or right < len(wanted):
        expected = shared[following] if following < len(shared) else None
        if left < len(live) and right < len(wanted):
            if live[left] == wanted[right]:
                placed.append((live[left], left))
                done.add(live[left])
                left, right, following = left + 1, right + 1, following + 1
                continue
            if live[left] in config and expected is not None and expected != live[left]:
                left += 1
                continue
        if left < len(live):
            if live[left] not in config:
                placed.append((live[left], left))
                left += 1
                continue
            if live[left] in done:
                left += 1
        if right < len(wanted):
            placed.append((wanted[right], -1))
            done.add(wanted[right])
            right += 1
    return placed


def removed(doc: Doc, gone: FieldSet, place: SchemaPlace) -> Doc:
    """`doc` without the fields of the set and all that is in them; objects and lists that this empties become null."""
    return _removed_fields(doc, gone.tree, place)


def _removed(value: Any, gone: Tree, place: SchemaPlace) -> Any:
    """Null where nothing is left. Atomic values lose nothing in part: a field below one takes the whole."""
    if isinstance(value, dict):
        return None if place.atomic else _removed_fields(value, gone, place) or None
    if isinstance(value, list):
        return None if place.list_type == "atomic" else _removed_items(value, gone, place) or None
    return value


def _removed_fields(doc: Doc, gone: Tree, place: SchemaPlace) -> Doc:
    result: Doc = {}
    for name, value in doc.items():
        node = gone.get(field_step(name))
        if node is None:
            result[name] = value
        elif not is_member(node):
            result[name] = _removed(value, node, place.under(name))
    return result


def _removed_items(items: list[Any], gone: Tree, place: SchemaPlace) -> list[Any]:
    result = []
    for item in items:
        node = gone.get(step_of(item, place))
        if node is None:
            result.append(item)
        elif not is_member(node):
            kept = _removed(item, node, place.of_items())
            if kept is not None:
                result.append(kept)
    return result


def without_new_nulls(value: Any, before: Any) -> Any:
    """`value` without the nulls that `before` has not: a server's types have no room for them."""
    if value is before:
        return value
    if isinstance(value, dict):
        old = before if isinstance(before, dict) else {}
        return {
            name: without_new_nulls(inner, old.get(name))
            for name, inner in value.items()
            if inner is not None or (name in old and old[name] is None)
        }
    return [without_new_nulls(item, None) for item in value] if isinstance(value, list) else value
