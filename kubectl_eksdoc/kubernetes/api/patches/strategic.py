"""Strategic merge patches, Content-Type application/strategic-merge-patch+json: what kubectl sends.

Lists whose place says so are merged: objects by their merge key, scalars as a set. In which order the entries stand:
first comes the order that the patch asks for, then the one that the list had; an entry that only the server knows keeps
its place before those of the patch that stood behind it.

Source: staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from kubectl_eksdoc.kubernetes.api.patches.json_patch import UNFIT, checked
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal, ApiStatus
from kubectl_eksdoc.model.api_objects import Doc

MARK = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder"
REMOVE = "$deleteFromPrimitiveList"

_Identity = tuple[type, Hashable]
_Merged = tuple[list[Any], Sequence[Any]]
"""A list after its patch; and the order that the server's entries have when an order is asked for."""


def apply_strategic(doc: Doc, patch: Any, root: SchemaPlace) -> Doc:
    """`doc`, whose fields are as `root` says, after `patch`, a JSON object; null changes nothing.

    Raises:
        Refusal: 400 and 500.
    """
    if patch is None:
        return doc
    try:
        return _merged(doc, checked(patch, dict), root)
    except UNFIT as error:  # an error that the server has no answer for, so that it names itself as the one to blame
        raise ApiRefusal(ApiStatus(500, "", f"the patch cannot be merged: {error}")) from error


def _merged(held: Doc, patch: Doc, place: SchemaPlace) -> Doc:
    if MARK in patch:
        return _replacement(patch)
    result = _retained(held, patch)
    ordered = _ordered_lists(result, patch, place)
    result.update(ordered)
    for name, value in patch.items():
        if name != RETAIN and not name.startswith(ORDER) and name not in ordered:
            _set_member(result, name, value, place)
    return result


def _replacement(patch: Doc) -> Doc:
    """The object instead of one that `patch`, which is marked, was to be merged into."""
    if patch[MARK] not in ("delete", "replace"):
        raise ValueError(f"unknown patch type: {patch[MARK]}")
    return {} if patch[MARK] == "delete" else _whole(patch)


def _retained(held: Doc, patch: Doc) -> Doc:
    """A new object of the members of `held` that `patch` lets it keep; all, where it does not say."""
    names = patch.get(RETAIN, [*held])
    if not isinstance(names, list):
        raise ValueError("invalid patch format of retainKeys")
    return {name: value for name, value in held.items() if name in names}


def _set_member(result: Doc, name: str, value: Any, place: SchemaPlace) -> None:
    """Changes `result`, which nobody else has yet, by one member of a patch."""
    removes = name.startswith(REMOVE)
    field = _field_of(name) if removes else name
    if value is None:
        result.pop(field, None)
    elif field in result and type(result[field]) is type(value):
        result[field] = _without(result[field], value) if removes else _member(result[field], value, place.under(field))
    elif not removes:
        result.pop(field, None)
        if not _is_marked(value):
            result[field] = _added(value)


def _member(held: Any, value: Any, place: SchemaPlace) -> Any:
    """What becomes of `held`, a value of the same type as `value`."""
    if isinstance(value, dict):
        return _whole(value) if "replace" in place.strategy else _merged(held, value, place)
    return _merged_list(held, value, place)[0] if isinstance(value, list) else value


def _field_of(directive: str) -> str:
    """The field beside which ``prefix/field`` stands."""
    _, slash, field = directive.partition("/")
    if not slash:
        raise ValueError(f"invalid patch format of {directive}")
    return field


def _whole(value: Any) -> Any:
    """`value` as it is stored where a patch sets it unread: without nulls, and with its marked parts.

    The library leaves nulls and directives in it. Decoding the object, which follows, then drops both: a null is as
    good as a member that is missing, and no type has a field that is called as a directive is.
    """
    if isinstance(value, dict):
        return {name: _whole(inner) for name, inner in value.items() if inner is not None and not _is_directive(name)}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


def _added(value: Any) -> Any:
    """`value` as it is stored where nothing of its type was: without nulls, and without its marked parts."""
    if isinstance(value, dict):
        return _whole({name: _added(inner) for name, inner in value.items() if not _is_marked(inner)})
    return [_added(inner) for inner in value if not _is_marked(inner)] if isinstance(value, list) else value


def _is_marked(value: Any) -> bool:
    """Whether `value` is an object that says by itself what becomes of it."""
    return isinstance(value, dict) and MARK in value


def _is_directive(name: str) -> bool:
    return name in (MARK, RETAIN) or name.startswith((f"{ORDER}/", f"{REMOVE}/"))


# Lists


def _identity(entry: Any, key: str = "") -> _Identity:
    """What makes `entry` the one it is: the value of its merge key, or itself. A server tells 1, 1.0 and true apart."""
    value = entry[key] if key else entry
    if isinstance(value, (dict, list)):
        raise TypeError("an object or a list can neither be compared nor be the key of a map")
    return type(value), value


def _without(held: list[Any], unwanted: list[Any]) -> list[Any]:
    """The scalars of `held` that are not in `unwanted`."""
    gone = {_identity(entry) for entry in unwanted}
    return [entry for entry in held if _identity(entry) not in gone]


def _merged_list(held: list[Any], patch: list[Any], place: SchemaPlace) -> _Merged:
    if "merge" not in place.strategy:
        return _whole(patch), held
    types = {type(entry) for entry in (*held, *patch)}
    if len(types) > 1 or types & {list, type(None)}:
        raise TypeError("list element types are not identical, or lists of lists")
    if types != {dict}:
        distinct = {_identity(entry, place.merge_key): entry for entry in (*held, *patch)}
        return _arranged([*distinct.values()], patch, held, place.merge_key), held
    return _merged_objects(held, patch, place)


def _merged_objects(held: list[Doc], patch: list[Doc], place: SchemaPlace) -> _Merged:
    """`held` without those that `patch` deletes; its others are merged into the first of the same key, or stand behind
    all."""
    key = place.merge_key
    plain = [entry for entry in patch if MARK not in entry]
    left = held
    for entry in patch:
        if entry.get(MARK) == "delete":
            gone = _identity(entry, key)
            left = [each for each in left if key not in each or _identity(each, key) != gone]
        elif MARK in entry and entry[MARK] != "replace":
            raise ValueError(f"unknown patch type: {entry[MARK]}")
    if any(entry.get(MARK) == "replace" for entry in patch):
        return _whole(plain), held
    entries = list(left)
    places: dict[_Identity, int] = {}
    for number, entry in enumerate(entries):
        if key in entry:
            places.setdefault(_identity(entry, key), number)
    for entry in plain:
        wanted = _identity(entry, key)
        if wanted in places:
            entries[places[wanted]] = _merged(entries[places[wanted]], entry, place.of_items())
        else:
            places[wanted] = len(entries)
            entries.append(_whole(entry))
    # Upstream changes the server's list in place, so that an entry that is added takes the room of a deleted one.
    return _arranged(entries, plain, left, key), entries[: len(held)]


def _ordered_lists(held: Doc, patch: Doc, place: SchemaPlace) -> Doc:
    """The fields of `held` for which `patch` asks for an order, merged with their patches and in that order."""
    found: Doc = {}
    for name, wanted in patch.items():
        if not name.startswith(ORDER):
            continue
        field = _field_of(name)
        under = place.under(field)
        lists = [side[field] for side in (held, patch) if field in side]
        if any(not isinstance(each, list) for each in (wanted, *lists)):
            raise TypeError("an order is asked for of what is no list")
        if not lists:
            continue
        if field not in patch:
            entries, served = lists[0], lists[0]
        elif field not in held:
            entries, served = _added(lists[0]), []
        else:
            entries, served = _merged_list(lists[0], lists[1], under)
        found[field] = _arranged(entries, wanted, served, under.merge_key)
    return found


def _arranged(entries: Sequence[Any], wanted: Sequence[Any], served: Sequence[Any], key: str) -> list[Any]:
    """`entries` in the order of `wanted`, between them those that are not wanted where `served` has them.

    All entries, and nothing else.
    """
    wanted_at, served_at = _ranks(wanted, key), _ranks(served, key)
    named = [(_identity(entry, key), entry) for entry in entries]
    asked = _sorted([pair for pair in named if pair[0] in wanted_at], wanted_at)
    other = _sorted([pair for pair in named if pair[0] not in wanted_at], served_at)
    merged = []
    while asked and other:
        place, beside = served_at.get(other[0][0]), served_at.get(asked[0][0])
        first = place is not None and beside is not None and place < beside
        merged.append(other.pop(0) if first else asked.pop(0))
    return [entry for _, entry in (*merged, *asked, *other)]


def _ranks(entries: Sequence[Any], key: str) -> Mapping[_Identity, int]:
    """The first place of each."""
    ranks: dict[_Identity, int] = {}
    for place, entry in enumerate(entries):
        ranks.setdefault(_identity(entry, key), place)
    return ranks


def _sorted(named: list[tuple[_Identity, Any]], ranks: Mapping[_Identity, int]) -> list[tuple[_Identity, Any]]:
    """By rank. One without a rank goes before all that precede it, and all others go before it, as in upstream."""
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
