"""Strategic merge patches, Content-Type application/strategic-merge-patch+json, as kubectl sends them.

Lists whose place says so are merged: objects by their merge key, scalars as a set. The order of the entries: first the
order that the patch requests, then the order of the list; an entry that only the server has keeps its place before
those entries of the patch that it preceded.

Source: staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, Kubernetes v1.36.

JSON patches (RFC 6902), Content-Type application/json-patch+json.

Where the RFC and the server's library differ, this follows the library: replacing a missing member adds it, copying a
missing one adds null, testing a missing one against null passes, an operation without a value has null, and indices may
be negative.

Source: patch.go of github.com/evanphx/json-patch v4.13; the limit of copied bytes is JSONPatchMaxCopyBytes in
staging/src/k8s.io/apiserver/pkg/server/config.go, Kubernetes v1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, same_json, without_nulls

from .resources import ApiRefusal, ApiStatus, StatusDetails, bad_request
from .types import SchemaPlace

# Refusals of a patch, as the API server answers them.
#
# Source: applyJSPatch, applyPatchToObject and interpretStrategicMergePatchError in
# staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.


PATCH_ERRORS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""Errors that are raised if a patch is malformed, or needs fields that its object does not have."""

MAX_DEPTH = 128
"""A server accepts 10,000 levels. This limit is far lower, and far above the needs of any object, because the code
recurses."""


def validated_patch(patch: Any, expected: type) -> Any:
    """Return `patch` after validation.

    Raises:
        ApiRefusal: 400, it is not of the expected type, or nested too deeply.
    """
    if not isinstance(patch, expected):
        raise bad_request("error decoding patch: json: it is of another type")
    if is_too_deep(patch):
        raise bad_request("error decoding patch: invalid character '{' exceeded max depth")
    return patch


def is_too_deep(value: Any) -> bool:
    """Checked without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            each for container in level for each in (container.values() if isinstance(container, dict) else container)
        ]
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


def patch_refused() -> ApiRefusal:
    """The refusal of a JSON patch that does not fit this object, or whose test fails."""
    return ApiRefusal(
        ApiStatus(422, "Invalid", "the server rejected our request due to an error in our request", StatusDetails())
    )


MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

# No list has an entry whose index needs more than 18 digits.
_INDEX = re.compile(r"[+-]?0*[0-9]{1,18}", re.ASCII)


def apply_json_patch(doc: Doc, patch: Any) -> Doc:
    """`doc` after all operations of `patch`.

    Raises:
        ApiRefusal: 400, 413 and 422.
    """
    operations = validated_patch([] if patch is None else patch, list)
    if len(operations) > MAX_OPERATIONS:
        raise ApiRefusal(
            ApiStatus(413, "RequestEntityTooLarge", f"Request entity too large: {len(operations)} operations")
        )
    changed: Any = doc
    copied = 0
    try:
        for operation in operations:
            if operation.get("op") == "copy":  # a few copy operations could fill any memory
                copied += len(repr(_value_at(changed, operation["from"])))
            changed = _apply_operation(changed, operation) if copied <= MAX_COPIED_BYTES else None
    except PATCH_ERRORS as error:
        raise patch_refused() from error
    if not isinstance(changed, dict) or is_too_deep(changed):
        raise patch_refused()
    return changed


def _apply_operation(root: Any, operation: Doc) -> Any:
    """`root` after one operation."""
    path, value = operation["path"], operation.get("value")
    match operation["op"]:
        case "add":
            return _change_at(root, _pointer_steps(path), lambda held, step: _inserted(held, step, value))
        case "remove":
            return _change_at(root, _pointer_steps(path), _removed)
        case "replace":
            return (
                _change_at(root, _pointer_steps(path), lambda held, step: _replaced(held, step, value))
                if path
                else value
            )
        case "move":
            moved = {"op": "add", "path": path, "value": _value_at(root, operation["from"])}
            return _apply_operation(_change_at(root, _pointer_steps(operation["from"]), _removed), moved)
        case "copy":
            return _apply_operation(root, {"op": "add", "path": path, "value": _value_at(root, operation["from"])})
        case "test" if same_json(_value_at(root, path) if path else root, value):
            return root
    raise ValueError(operation["op"])


def _pointer_steps(pointer: str) -> list[str]:
    """The names and indices of a JSON pointer (RFC 6901), at least one. Text before the first slash is ignored, as in
    the library."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    if not steps:
        raise KeyError(pointer)
    return steps


def _value_at(root: Any, path: str) -> Any:
    """The value at `path`; None also for a missing member of an existing object."""
    for step in _pointer_steps(path):
        root = root.get(step) if isinstance(root, dict) else root[_index(root, step)]
    return root


def _change_at(root: Any, steps: Sequence[str], change: Callable[[Any, str], Any]) -> Any:
    """`root` with the container of the last step changed; everything off the path is shared."""
    first, *rest = steps
    if not rest:
        return change(root, first)
    inner = root[first] if isinstance(root, dict) else root[_index(root, first)]
    return _replaced(root, first, _change_at(inner, rest, change))


def _replaced(container: Any, step: str, value: Any) -> Any:
    if isinstance(container, dict):
        return {**container, step: value}
    place = _index(container, step)
    return [*container[:place], value, *container[place + 1 :]]


def _inserted(container: Any, step: str, value: Any) -> Any:
    if isinstance(container, dict):
        return {**container, step: value}
    place = len(container) if step == "-" else _index(container, step, 1)
    return [*container[:place], value, *container[place:]]


def _removed(container: Any, step: str) -> Any:
    if isinstance(container, dict):
        container[step]  # raises KeyError if it is missing
        return {name: value for name, value in container.items() if name != step}
    place = _index(container, step)
    return [*container[:place], *container[place + 1 :]]


def _index(container: Any, step: str, extra: int = 0) -> int:
    """Negative indices count from the end, which RFC 6901 does not allow and the library does."""
    if not isinstance(container, list) or not _INDEX.fullmatch(step):
        raise KeyError(step)
    place: int = range(len(container) + extra)[int(step)]
    return place


# JSON merge patches (RFC 7386), Content-Type application/merge-patch+json.
#
# Source: MergePatch in merge.go of github.com/evanphx/json-patch v4.13, and applyJSPatch in
# staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.


def apply_merge(doc: Doc, patch: Any) -> Doc:
    """`doc` after `patch`, a JSON object: null removes, objects merge, everything else replaces.

    Raises:
        ApiRefusal: 400.
    """
    return _merge_members(doc, validated_patch(patch, dict))


def _merge_members(doc: Doc, patch: Doc) -> Doc:
    merged = dict(doc)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_member(doc.get(name), value)
    return merged


def _merge_member(old_value: Any, value: Any) -> Any:
    """The value of one member; `old_value` is None if it was missing or null."""
    if not isinstance(old_value, dict):
        return without_nulls(value)
    # A list that replaces an object keeps its nulls: the library removes nulls in a list only where there was no
    # object.
    return _merge_members(old_value, value) if isinstance(value, dict) else value


PATCH_DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
ELEMENT_ORDER = "$setElementOrder"
DELETE_PRIMITIVES = "$deleteFromPrimitiveList"

_Identity = tuple[type, Hashable]
_Merged = tuple[list[Any], Sequence[Any]]
"""A list after its patch, and the order of the server's entries, which is used if the patch requests an order."""


def apply_strategic(doc: Doc, patch: Any, root: SchemaPlace) -> Doc:
    """`doc`, whose schema is `root`, after `patch`, a JSON object; null changes nothing.

    Raises:
        ApiRefusal: 400 and 500.
    """
    if patch is None:
        return doc
    try:
        return _merge_object(doc, validated_patch(patch, dict), root)
    except PATCH_ERRORS as error:  # an error for which the server has no answer, so it reports an internal error
        raise ApiRefusal(ApiStatus(500, "", f"the patch cannot be merged: {error}")) from error


def _merge_object(old: Doc, patch: Doc, place: SchemaPlace) -> Doc:
    if PATCH_DIRECTIVE in patch:
        # The patch is not merged: by its directive the object becomes empty, or is replaced.
        if patch[PATCH_DIRECTIVE] not in ("delete", "replace"):
            raise ValueError(f"unknown patch type: {patch[PATCH_DIRECTIVE]}")
        return {} if patch[PATCH_DIRECTIVE] == "delete" else _stored_value(patch)
    result = _retain_members(old, patch)
    ordered = _ordered_lists(result, patch, place)
    result.update(ordered)
    for name, value in patch.items():
        if name != RETAIN_KEYS and not name.startswith(ELEMENT_ORDER) and name not in ordered:
            # Apply one member of the patch to `result`, which is not shared yet.
            removes = name.startswith(DELETE_PRIMITIVES)
            field = _directive_field(name) if removes else name
            if value is None:
                result.pop(field, None)
            elif field in result and type(result[field]) is type(value):
                result[field] = (
                    _without_scalars(result[field], value)
                    if removes
                    else _merge_value(result[field], value, place.under(field))
                )
            elif not removes:
                result.pop(field, None)
                if not _has_directive(value):
                    result[field] = _added_value(value)
    return result


def _retain_members(old: Doc, patch: Doc) -> Doc:
    """A new object of the members of `old` that `patch` retains; all, if the patch does not say."""
    names = patch.get(RETAIN_KEYS, [*old])
    if not isinstance(names, list):
        raise ValueError("invalid patch format of retainKeys")
    return {name: value for name, value in old.items() if name in names}


def _merge_value(old: Any, value: Any, place: SchemaPlace) -> Any:
    """The merged value of `old`, which has the same type as `value`."""
    if isinstance(value, dict):
        return _stored_value(value) if "replace" in place.strategy else _merge_object(old, value, place)
    return _merge_list(old, value, place)[0] if isinstance(value, list) else value


def _directive_field(directive: str) -> str:
    """The field named by the directive ``prefix/field``."""
    _, slash, field = directive.partition("/")
    if not slash:
        raise ValueError(f"invalid patch format of {directive}")
    return field


def _stored_value(value: Any) -> Any:
    """`value` as it is stored if a patch sets it without merging: without nulls, and with parts that have directives.

    The library keeps nulls and directives. Decoding the object, which follows, drops both: a null is equal to a missing
    member, and no type has a field with the name of a directive.
    """
    if isinstance(value, dict):
        return {
            name: _stored_value(inner) for name, inner in value.items() if inner is not None and not _is_directive(name)
        }
    return [_stored_value(inner) for inner in value] if isinstance(value, list) else value


def _added_value(value: Any) -> Any:
    """`value` as it is stored if there was no value of its type: without nulls, and without parts that have
    directives."""
    if isinstance(value, dict):
        return _stored_value({name: _added_value(inner) for name, inner in value.items() if not _has_directive(inner)})
    return [_added_value(inner) for inner in value if not _has_directive(inner)] if isinstance(value, list) else value


def _has_directive(value: Any) -> bool:
    """Whether `value` is an object with a directive of its own."""
    return isinstance(value, dict) and PATCH_DIRECTIVE in value


def _is_directive(name: str) -> bool:
    return name in (PATCH_DIRECTIVE, RETAIN_KEYS) or name.startswith((f"{ELEMENT_ORDER}/", f"{DELETE_PRIMITIVES}/"))


# Lists.


def _identity(entry: Any, key: str = "") -> _Identity:
    """The identity of `entry`: the value of its merge key, or the entry itself. A server distinguishes 1, 1.0
    and true."""
    value = entry[key] if key else entry
    if isinstance(value, (dict, list)):
        raise TypeError("an object or a list can neither be compared nor be the key of a map")
    return type(value), value


def _without_scalars(entries: list[Any], unwanted: list[Any]) -> list[Any]:
    """The scalars of the list that are not in `unwanted`."""
    removed = {_identity(entry) for entry in unwanted}
    return [entry for entry in entries if _identity(entry) not in removed]


def _merge_list(old: list[Any], patch: list[Any], place: SchemaPlace) -> _Merged:
    if "merge" not in place.strategy:
        return _stored_value(patch), old
    types = {type(entry) for entry in (*old, *patch)}
    if len(types) > 1 or types & {list, type(None)}:
        raise TypeError("list element types are not identical, or lists of lists")
    if types != {dict}:
        distinct = {_identity(entry, place.merge_key): entry for entry in (*old, *patch)}
        return _arrange([*distinct.values()], patch, old, place.merge_key), old
    return _merge_objects(old, patch, place)


def _merge_objects(old: list[Doc], patch: list[Doc], place: SchemaPlace) -> _Merged:
    """The list without the objects that `patch` deletes; other objects of the patch are merged into the first with the
    same key, or appended."""
    key = place.merge_key
    plain = [entry for entry in patch if PATCH_DIRECTIVE not in entry]
    remaining = old
    for entry in patch:
        if entry.get(PATCH_DIRECTIVE) == "delete":
            deleted = _identity(entry, key)
            remaining = [each for each in remaining if key not in each or _identity(each, key) != deleted]
        elif PATCH_DIRECTIVE in entry and entry[PATCH_DIRECTIVE] != "replace":
            raise ValueError(f"unknown patch type: {entry[PATCH_DIRECTIVE]}")
    if any(entry.get(PATCH_DIRECTIVE) == "replace" for entry in patch):
        return _stored_value(plain), old
    entries = list(remaining)
    places: dict[_Identity, int] = {}
    for number, entry in enumerate(entries):
        if key in entry:
            places.setdefault(_identity(entry, key), number)
    for entry in plain:
        identity = _identity(entry, key)
        if identity in places:
            entries[places[identity]] = _merge_object(entries[places[identity]], entry, place.item_place())
        else:
            places[identity] = len(entries)
            entries.append(_stored_value(entry))
    # Upstream changes the server's list in place, so an added entry takes the place of a deleted one.
    return _arrange(entries, plain, remaining, key), entries[: len(old)]


def _ordered_lists(old: Doc, patch: Doc, place: SchemaPlace) -> Doc:
    """The fields for which `patch` requests an order, merged with their patches and in that order."""
    ordered: Doc = {}
    for name, order in patch.items():
        if not name.startswith(ELEMENT_ORDER):
            continue
        field = _directive_field(name)
        under = place.under(field)
        lists = [side[field] for side in (old, patch) if field in side]
        if any(not isinstance(each, list) for each in (order, *lists)):
            raise TypeError("an order is asked for of what is no list")
        if not lists:
            continue
        if field not in patch:
            entries, served = lists[0], lists[0]
        elif field not in old:
            entries, served = _added_value(lists[0]), []
        else:
            entries, served = _merge_list(lists[0], lists[1], under)
        ordered[field] = _arrange(entries, order, served, under.merge_key)
    return ordered


def _arrange(entries: Sequence[Any], order: Sequence[Any], server_order: Sequence[Any], key: str) -> list[Any]:
    """All `entries` in the requested order; entries without a requested position are placed between them by the
    server's order.
    """
    wanted_at, served_at = _ranks(order, key), _ranks(server_order, key)
    named = [(_identity(entry, key), entry) for entry in entries]
    ordered = _sort_by_rank([pair for pair in named if pair[0] in wanted_at], wanted_at)
    unordered = _sort_by_rank([pair for pair in named if pair[0] not in wanted_at], served_at)
    merged = []
    while ordered and unordered:
        place, beside = served_at.get(unordered[0][0]), served_at.get(ordered[0][0])
        first = place is not None and beside is not None and place < beside
        merged.append(unordered.pop(0) if first else ordered.pop(0))
    return [entry for _, entry in (*merged, *ordered, *unordered)]


def _ranks(entries: Sequence[Any], key: str) -> Mapping[_Identity, int]:
    """The first position of each entry."""
    ranks: dict[_Identity, int] = {}
    for place, entry in enumerate(entries):
        ranks.setdefault(_identity(entry, key), place)
    return ranks


def _sort_by_rank(named: list[tuple[_Identity, Any]], ranks: Mapping[_Identity, int]) -> list[tuple[_Identity, Any]]:
    """Sort by rank. As upstream does, an entry without a rank goes before all that precede it, and all others go before
    it."""
    done: list[tuple[_Identity, Any]] = []
    for pair in named:
        rank, place = ranks.get(pair[0]), len(done)
        while place > 0:
            before = ranks.get(done[place - 1][0])
            if rank is not None and before is not None and rank >= before:
                break
            place -= 1
        done.insert(place, pair)
    return done
