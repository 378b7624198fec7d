"""Strategic merge patches, Content-Type application/strategic-merge-patch+json.

As a JSON merge patch, but lists whose type says so are merged too: objects by their merge key, scalars as a set.
Directives say what else is meant: ``$patch: delete`` or ``replace`` in an object, ``$deleteFromPrimitiveList/field``,
``$setElementOrder/field`` and ``$retainKeys`` beside the fields they are about.

Upstream refuses fields that a type does not have where it has to look them up; here they are merged as maps, and
replaced as lists, because only merge keys are known.

Source: StrategicMergeMapPatch, mergeMap and mergePatchIntoOriginal in
staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, and strategicPatchObject in
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

from kubectl_eksdoc.kubernetes.api.patches import directives, lists, nesting, refusals
from kubectl_eksdoc.kubernetes.api.patches.element_order import arranged, check_order
from kubectl_eksdoc.kubernetes.api.patches.go_values import LIST, MAP, json_word, type_in_message, type_of
from kubectl_eksdoc.model.api_objects import Doc

Path = tuple[str, ...]
"""The names of fields from the object's root, entries of lists left out: ``("spec", "containers", "env")``."""


class MergeKeys(Protocol):
    """What the type of an object says of its lists (patchStrategy and patchMergeKey upstream)."""

    def merge_key(self, path: Path) -> str | None:
        """By which member the objects in a list are told apart; None where the list is replaced as a whole."""

    def merges_scalars(self, path: Path) -> bool:
        """Whether a list of scalars is merged as a set; finalizers are."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the object a patch has got to, and what is known of its type."""

    keys: MergeKeys
    replaced: Collection[Path]
    path: Path = ()

    def at(self, field: str) -> _Place:
        return _Place(self.keys, self.replaced, (*self.path, field))

    def merge_key(self) -> str | None:
        return self.keys.merge_key(self.path)

    def merges_list(self) -> bool:
        return self.merge_key() is not None or self.keys.merges_scalars(self.path)


def apply_strategic(doc: Doc, patch: Any, keys: MergeKeys, replaced: Collection[Path] = ()) -> Doc:
    """`doc` after `patch`, a JSON object; null, which is none either, changes nothing.

    `replaced` are objects that are not merged (patchStrategy replace): the selector of a budget of policy/v1.
    Raises `PatchRefused` where `patch` is no object, or not one for `doc`.
    """
    if patch is None:
        return doc
    if not isinstance(patch, dict):
        raise refusals.malformed(f"json: cannot unmarshal {json_word(patch)} into Go value of type {MAP}")
    if nesting.too_deep(patch):
        raise refusals.malformed(nesting.ERROR)
    return _merged(doc, patch, _Place(keys, replaced))


def _merged(held: Doc, patch: Doc, place: _Place) -> Doc:
    if directives.MARK in patch:
        return directives.replacement(patch)
    result = directives.retained(held, patch)
    ordered = _ordered_lists(result, patch, place)
    result.update(ordered)
    for name, value in patch.items():
        if name != directives.RETAIN and not name.startswith(directives.ORDER) and name not in ordered:
            _set_member(result, name, value, place)
    return result


def _set_member(result: Doc, name: str, value: Any, place: _Place) -> None:
    """Changes `result`, which nobody else has yet, by one member of a patch."""
    removes = name.startswith(directives.REMOVE)
    field = directives.field_of(name, directives.REMOVE) if removes else name
    if value is None:
        result.pop(field, None)
    elif field in result and type_of(result[field]) == type_of(value):
        result[field] = _merged_member(result[field], value, place.at(field), removes)
    elif not removes:
        result.pop(field, None)
        if not directives.is_marked(value):
            result[field] = directives.added(value)


def _merged_member(held: Any, value: Any, place: _Place, removes: bool) -> Any:
    """What becomes of `held`, a value of the same type as `value`."""
    if isinstance(value, dict):
        return directives.whole(value) if place.path in place.replaced else _merged(held, value, place)
    if not isinstance(value, list):
        return value
    if removes and _are_scalars(held, value):
        return lists.without(held, value)
    return _merged_list(held, value, place, removes).entries


def _are_scalars(held: list[Any], value: list[Any]) -> bool:
    return bool(held or value) and lists.entry_type(held, value) != MAP


def _merged_list(held: list[Any], value: list[Any], place: _Place, always: bool = False) -> lists.Merged:
    if not place.merges_list() and not always:
        return lists.Merged(directives.whole(value), held)
    return lists.merged(held, value, place.merge_key(), lambda entry, patch: _merged(entry, patch, place))


def _ordered_lists(held: Doc, patch: Doc, place: _Place) -> Doc:
    """The fields of `held` for which `patch` asks for an order, merged with their patches and in that order."""
    found: Doc = {}
    for name, wanted in patch.items():
        if not name.startswith(directives.ORDER):
            continue
        _check_list(wanted)
        field = directives.field_of(name, directives.ORDER)
        sides = [side[field] for side in (held, patch) if field in side]
        for side in sides:
            _check_list(side)
        in_patch = patch.get(field, [])
        check_order(in_patch, wanted, place.at(field).merge_key())
        if sides:
            found[field] = _ordered_list(held.get(field), patch.get(field), wanted, place.at(field))
    return found


def _ordered_list(held: list[Any] | None, patch: list[Any] | None, wanted: list[Any], place: _Place) -> list[Any]:
    """`held` and `patch`, None where they are missing, merged and then in the order of `wanted`."""
    if held is None:
        merged = lists.Merged(directives.added(patch), [])
    elif patch is None:
        merged = lists.Merged(held, held)
    else:
        merged = _merged_list(held, patch, place)
    entries = arranged(merged.entries, wanted, merged.served, place.merge_key())
    # Upstream asks last: of two empty lists it does not know what to put in order.
    lists.entry_type(held or [], patch or [])
    return entries


def _check_list(value: Any) -> None:
    if not isinstance(value, list):
        raise refusals.unexpected(f"expected a {LIST}, but received a {type_in_message(value)}")
