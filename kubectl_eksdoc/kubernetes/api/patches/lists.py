"""How a strategic merge patch merges lists: entries by their merge key, scalars as a set.

Source: mergeSlice, mergeSliceWithSpecialElements, mergeSliceWithoutSpecialElements and sliceElementType in
staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kubectl_eksdoc.kubernetes.api.patches import directives, refusals
from kubectl_eksdoc.kubernetes.api.patches.element_order import arranged, identity_in, key_of
from kubectl_eksdoc.kubernetes.api.patches.go_values import LIST, MAP, NIL, Identity, identity, printed, type_of
from kubectl_eksdoc.model.api_objects import Doc

MergeEntry = Callable[[Doc, Doc], Doc]
"""An entry as it is, and its patch, to the entry after the patch."""


class Merged(NamedTuple):
    """A list after its patch; `served` is the order that the server's entries have when an order is asked for."""

    entries: list[Any]
    served: Sequence[Any]


def merged(held: list[Any], patch: list[Any], merge_key: str | None, merge_entry: MergeEntry) -> Merged:
    """`held` after `patch`. Raises `PatchRefused` where entries are of different types, or have no merge key."""
    if not held and not patch:
        return Merged(held, held)
    if entry_type(held, patch) != MAP:
        return Merged(arranged(_distinct([*held, *patch]), patch, held, merge_key), held)
    if merge_key is None:
        raise refusals.unexpected("cannot merge lists without merge key for string")
    plain = [entry for entry in patch if directives.MARK not in entry]
    left = _after_marks(held, patch, merge_key)
    if any(entry.get(directives.MARK) == "replace" for entry in patch):
        replaced = directives.whole(plain)
        return Merged(arranged(replaced, [], replaced, merge_key), held)
    entries = _merged_entries(left, plain, merge_key, merge_entry)
    # Upstream changes the server's list in place, so that an entry that is added takes the room of a deleted one.
    return Merged(arranged(entries, plain, left, merge_key), entries[: len(held)])


def without(held: list[Any], unwanted: list[Any]) -> list[Any]:
    """The scalars of `held` that are not in `unwanted`."""
    if not held and not unwanted:
        return held
    entry_type(held, unwanted)
    gone = {identity(entry) for entry in unwanted}
    return [entry for entry in held if identity(entry) not in gone]


def entry_type(*lists: list[Any]) -> str:
    """The Go type of all entries. Raises `PatchRefused` where it is not one, or there is no entry."""
    types = [type_of(entry) for entries in lists for entry in entries]
    if not types:
        raise refusals.unexpected("no elements in any of the given slices")
    if types[0] == LIST:
        raise refusals.does_not_fit("lists of lists are not supported")
    if types[0] == NIL:
        raise refusals.crash("null is the first entry of a list that is merged")
    if len(set(types)) > 1:
        raise refusals.unexpected(f"list element types are not identical: {printed(list(lists))}")
    return types[0]


def _after_marks(held: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """`held` without the entries that `patch` deletes."""
    left = held
    for entry in patch:
        match entry.get(directives.MARK):
            case "delete":
                gone = identity(key_of(entry, merge_key))
                left = [e for e in left if merge_key not in e or identity(e[merge_key]) != gone]
            case "merge":
                raise refusals.unexpected("merging lists cannot yet be specified in the patch")
            case mark if mark != "replace" and directives.MARK in entry:
                raise directives.unknown_mark(entry)
    return left


def _merged_entries(left: list[Any], plain: list[Any], merge_key: str, merge_entry: MergeEntry) -> list[Any]:
    """`left` with each entry of the patch merged into the first of the same key, or else behind all others."""
    entries = list(left)
    places: dict[Identity, int] = {}
    for place, entry in enumerate(entries):
        if merge_key in entry:
            places.setdefault(identity(entry[merge_key]), place)
    for entry in plain:
        wanted = identity_in(entry, merge_key)
        if wanted in places:
            entries[places[wanted]] = merge_entry(entries[places[wanted]], entry)
        else:
            places[wanted] = len(entries)
            entries.append(directives.whole(entry))
    return entries


def _distinct(scalars: list[Any]) -> list[Any]:
    return list({identity(scalar): scalar for scalar in scalars}.values())
