"""In which order the entries of a merged list stand.

First comes the order that the patch asks for, then the one that the list had; an entry that only the server knows
keeps its place before those of the patch that stood behind it.

Source: partitionMapsByPresentInList, normalizeElementOrder, mergeSortedSlice and validatePatchWithSetOrderList in
staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubectl_eksdoc.kubernetes.api.patches import directives, refusals
from kubectl_eksdoc.kubernetes.api.patches.go_values import MAP, Identity, identity, printed, type_in_message
from kubectl_eksdoc.model.api_objects import Doc

Ranks = Mapping[Identity, int]


def identity_in(entry: Any, merge_key: str | None) -> Identity:
    """What makes `entry` the one it is: the value of its merge key, or itself where its list has none."""
    if merge_key is None:
        return identity(entry)
    return identity(key_of(as_object(entry), merge_key))


def as_object(entry: Any) -> Doc:
    if not isinstance(entry, dict):
        raise refusals.unexpected(f"expected a {MAP}, but received a {type_in_message(entry)}")
    return entry


def key_of(entry: Doc, merge_key: str) -> Any:
    if merge_key not in entry:
        raise refusals.unexpected(f"map: {printed(entry)} does not contain declared merge key: {merge_key}")
    return entry[merge_key]


def arranged(entries: Sequence[Any], wanted: Sequence[Any], served: Sequence[Any], merge_key: str | None) -> list[Any]:
    """`entries` in the order of `wanted`, between them those that are not wanted where `served` has them.

    All entries, and nothing else. Raises `PatchRefused` where any of the three lists has an entry without its key.
    """
    wanted_at, served_at = _ranks(wanted, merge_key), _ranks(served, merge_key)
    named = [(identity_in(entry, merge_key), entry) for entry in entries]
    asked = _sorted([pair for pair in named if pair[0] in wanted_at], wanted_at)
    other = _sorted([pair for pair in named if pair[0] not in wanted_at], served_at)
    merged = []
    while asked and other:
        place, beside = served_at.get(other[0][0]), served_at.get(asked[0][0])
        first = place is not None and beside is not None and place < beside
        merged.append(other.pop(0) if first else asked.pop(0))
    return [entry for _, entry in (*merged, *asked, *other)]


def check_order(patched: Sequence[Any], wanted: Sequence[Any], merge_key: str | None) -> None:
    """Raises where `wanted` leaves out an entry of the patch, or has two of them the other way round."""
    if not patched or not wanted:
        return
    if merge_key is not None:
        patched = [entry for entry in patched if as_object(entry).get(directives.MARK) != "delete"]
    left = [entry for entry in patched if not directives.is_marked(entry)]
    places = iter(wanted)
    for entry in left:
        sought = identity_in(entry, merge_key)
        if not any(identity_in(place, merge_key) == sought for place in places):
            raise refusals.unexpected(
                f"The order in patch list:\n{printed(list(patched))}\n"
                f" doesn't match {directives.ORDER} list:\n{printed(list(wanted))}\n"
            )


def _ranks(entries: Sequence[Any], merge_key: str | None) -> Ranks:
    """The first place of each."""
    ranks: dict[Identity, int] = {}
    for place, entry in enumerate(entries):
        ranks.setdefault(identity_in(entry, merge_key), place)
    return ranks


def _sorted(named: list[tuple[Identity, Any]], ranks: Ranks) -> list[tuple[Identity, Any]]:
    """By rank. One without a rank goes before all that precede it, and all others go before it, as in upstream."""
    done: list[tuple[Identity, Any]] = []
    for pair in named:
        rank, place = ranks.get(pair[0]), len(done)
        while place > 0:
            before = ranks.get(done[place - 1][0])
            if rank is not None and before is not None and rank >= before:
                break
            place -= 1
        done.insert(place, pair)
    return done
