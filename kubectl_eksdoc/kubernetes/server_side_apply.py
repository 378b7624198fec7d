"""Server-side apply: merge a configuration into a live document, and make the applier the owner of its fields.

Source: structured-merge-diff, merge/update.go (Updater.Apply, prune); apimachinery, util/managedfields/internal:
structuredmerge.go, managedfieldsupdater.go, skipnonapplied.go. The caller applies server-side defaults, and handles
kubectl's last-applied annotation (lastappliedmanager.go), which only ``kubectl apply`` sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, at

from .api.types import Schema, SchemaPlace
from .document_diff import (
    NONE,
    FieldSet,
    Path,
    Tree,
    children_of,
    compare,
    fields_of,
    is_member,
    step_of,
    steps_of,
    with_named,
)
from .field_paths import Step, field_step, shown
from .managed_fields import (
    UNTRACKED,
    Entry,
    FieldManager,
    Owners,
    conflicts,
    owner_of,
    read,
    settled,
    taken,
    with_entries,
    without_entries,
    written,
)

# Conflicts of an apply with other field managers, and the server's message.
#
# Source: apimachinery, util/managedfields/internal/conflict.go; errors.NewApplyConflict. On a server the order of
# causes of several owners varies; here they are sorted, as in the message.


@frozen
class _Conflict:
    owner: FieldManager
    path: Path

    @property
    def field(self) -> str:
        """The path as in ``.spec.containers[name="app"].image``."""
        return "".join(shown(step) for step in self.path)


@frozen
class Conflicts:
    """At least one conflict, by owner."""

    found: tuple[_Conflict, ...]

    @classmethod
    def of(cls, fields: Mapping[FieldManager, FieldSet]) -> Conflicts:
        return cls(tuple(_Conflict(owner, path) for owner in sorted(fields) for path in fields[owner]))

    @property
    def message(self) -> str:
        if len(self.found) == 1:
            only = self.found[0]
            return f"Apply failed with 1 conflict: conflict with {only.owner.shown()}: {only.field}"
        lines: list[str] = []
        for owner in dict.fromkeys(conflict.owner for conflict in self.found):
            lines.append(f"conflicts with {owner.shown()}:")
            lines += [f"- {conflict.field}" for conflict in self.found if conflict.owner == owner]
        return f"Apply failed with {len(self.found)} conflicts: " + "\n".join(lines)

    @property
    def causes(self) -> list[Doc]:
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {c.owner.shown()}", "field": c.field}
            for c in self.found
        ]

    def status(self) -> Doc:
        """The body of the 409 answer."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": "Conflict",
            "details": {"causes": self.causes},
            "code": 409,
        }


# Items of a configuration with the same key: such a list cannot be applied (typed/validate.go).


@frozen
class Duplicate:
    """`list_path` is the path of the list, as ``.spec.containers``; `key` identifies the item, as ``[name="app"]``."""

    where: str
    key: str


def duplicate_in(value: Any, place: SchemaPlace, where: str = "") -> Duplicate | None:
    """The first duplicate item; atomic values may contain duplicates."""
    if isinstance(value, dict) and not place.atomic:
        for name, inner in value.items():
            found = duplicate_in(inner, place.under(name), where + shown(field_step(name)))
            if found is not None:
                return found
    if isinstance(value, list) and place.list_type != "atomic":
        for step, same in steps_of(value, place).items():
            if len(same) > 1:
                return Duplicate(where, shown(step))
            found = duplicate_in(same[0], place.of_items(), where + shown(step))
            if found is not None:
                return found
    return None


# The part of a document that a set of fields names, as a configuration that would own only these.
#
# Source: structured-merge-diff, typed/remove.go (ExtractItems, with its keys); client-go, applyconfigurations
# (Extract).


def kept(doc: Doc, fields: FieldSet, place: SchemaPlace) -> Doc:
    """The fields of `doc` that the set names. Items of lists keep their keys, which identify them."""
    return _fields(doc, fields.tree, place)


def _kept(value: Any, node: Tree, place: SchemaPlace) -> Any:
    if isinstance(value, dict) and not place.atomic:
        return _fields(value, node, place)
    if isinstance(value, list) and place.list_type != "atomic":
        steps = dict(children_of(node))
        return [_item(item, steps[step], place) for item in value if (step := step_of(item, place)) in steps]
    return value


def _fields(doc: Doc, tree: Tree, place: SchemaPlace) -> Doc:
    named = {name: tree.get(field_step(name)) for name in doc}
    return {name: _kept(doc[name], node, place.under(name)) for name, node in named.items() if node is not None}


def _item(item: Any, node: Tree, place: SchemaPlace) -> Any:
    if not isinstance(item, dict):
        return item
    keys = {key: item[key] for key in place.keys if key in item}
    return {**keys, **_fields(item, node, place.of_items())}


# Merge a configuration into a live document, and remove fields from a document.
#
# Source: structured-merge-diff, typed/merge.go and typed/remove.go. Merging never removes a field; if both have a leaf,
# the configuration's value is kept. Items have the configuration's order; items that only the live list has keep their
# position between them.


def merged(live: Doc, config: Doc, place: SchemaPlace) -> Doc:
    """`live` with the fields of `config` merged into it."""
    return {**live, **{name: _merged(live.get(name), wanted, place.under(name)) for name, wanted in config.items()}}


def _merged(live: Any, wanted: Any, place: SchemaPlace) -> Any:
    if wanted is None:
        # Null keeps a granular object or list that is not empty, and replaces anything else.
        return live if _is_granular(live, place) else None
    if isinstance(wanted, dict) and isinstance(live, dict) and not place.atomic:
        return merged(live, wanted, place)
    if isinstance(wanted, list) and isinstance(live, list) and place.list_type != "atomic":
        # Merge both lists; see `_merge_order` for the order. If the configuration has an item, it replaces duplicates
        # of it in the live list.
        before, after = steps_of(live, place), steps_of(wanted, place)
        result: list[Any] = []
        for step, index in _order([step_of(item, place) for item in live], list(after)):
            if step not in after:
                result.append(live[index])
                continue
            same = before.get(step, [])
            item = after[step][0]
            result.append(_merged(same[0], item, place.of_items()) if len(same) == 1 else item)
        return result
    return wanted


def _is_granular(value: Any, place: SchemaPlace) -> bool:
    if isinstance(value, dict):
        return bool(value) and not place.atomic
    return isinstance(value, list) and bool(value) and place.list_type != "atomic"


def _order(live: list[Step], wanted: list[Step]) -> list[tuple[Step, int]]:
    """The steps of the merged list, with the position in `live` of those that only the live list has.

    The two lists are walked side by side. A shared item is placed at the configuration's turn; an item of the live list
    alone is placed as early as this allows.
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
    """`doc` without the fields of the set and everything below them; objects and lists that become empty
    become null."""
    return _removed_fields(doc, gone.tree, place)


def _removed(value: Any, gone: Tree, place: SchemaPlace) -> Any:
    """Null if nothing remains. Atomic values are never removed in part: a field below one removes all of it."""
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
    """`value` without nulls that `before` does not have: a server's Go types cannot store them."""
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


BEFORE_FIRST_APPLY = "before-first-apply"


@frozen
class AppliedDocument:
    """The document to default and store; it is the live document if nothing has changed."""

    doc: Doc


@frozen
class ApplyRefused:
    """A configuration that cannot be applied, with the server's status code and message."""

    code: int
    message: str


def apply(
    live: Doc | None,
    config: Doc,
    manager: str,
    force: bool,
    now: str,
    schema: Schema,
    subresource: str = "",
    reset: FieldSet = NONE,
) -> AppliedDocument | Conflicts | ApplyRefused:
    """`live` (None: it does not exist yet) after `manager` applied `config` at `now`; with `force` there are no
    conflicts.

    `reset` are fields that are never owned, as in `managed_fields.with_update`. A null in `config` removes a plain
    value, even a creationTimestamp, which the server restores as in any update. A caller that restores or defaults
    fields must call `managed_fields.keep_times_if_unchanged` again. Raises MalformedEntries if `live` has managedFields
    that no server would write.
    """
    refusal = _refusal(config, schema.root)
    if refusal is not None:
        return refusal
    owners = read(live or {})
    before = without_entries(live or {})
    if live is not None and not owners:
        unknown = owner_of(BEFORE_FIRST_APPLY, "Update", str(config.get("apiVersion", "")), subresource)
        owners = written({}, schema.blank, before, unknown, now, schema, reset)
    applier = owner_of(manager, "Apply", "", subresource)
    result = _applied(before, config, owners, applier, force, schema, reset)
    if isinstance(result, Conflicts):
        return result
    after, owners = result
    if after != before and applier in owners:
        mine = owners[applier]
        owners[applier] = Entry(mine.fields, mine.api_version, now)
    doc = with_entries(without_new_nulls(after, before), owners)
    return AppliedDocument(doc if live is None else settled(live, doc))


def _applied(
    before: Doc, config: Doc, owners: Owners, applier: FieldManager, force: bool, schema: Schema, reset: FieldSet
) -> tuple[Doc, dict[FieldManager, Entry]] | Conflicts:
    """The document and its entries; the applier's entry keeps its old time."""
    place = schema.root
    last = owners.get(applier)
    mine = fields_of(config, place).without(reset)
    entry = Entry(mine, str(config.get("apiVersion", "")), last.time if last else "")
    claimed: Owners = {**owners, applier: entry}
    after = merged(before, config, place)
    if last is not None and last.fields:
        after = _pruned(after, last.fields, claimed, place)
    seen = compare(schema.filled(before), schema.filled(after), place).without(reset)
    if not force:
        found = conflicts(claimed, applier, seen)
        if found:
            return Conflicts.of(found)
    result = taken(claimed, applier, seen)
    if applier in result:
        tracked = result[applier].fields - UNTRACKED
        result[applier] = Entry(tracked, entry.api_version, entry.time)
        if not tracked:
            del result[applier]
    return after, result


def _pruned(doc: Doc, last: FieldSet, owners: Owners, place: SchemaPlace) -> Doc:
    """`doc` without the fields that the applier owned and no longer lists, unless another manager owns them.

    Fields that were removed along with them are restored if another owner has them (which also keeps the objects and
    items around them, if they are owned or named), and if the applier never owned them.
    """
    had = with_named(last, place)
    pruned = removed(doc, had, place)
    everybody = NONE
    for entry in owners.values():
        everybody |= entry.fields
    whole = with_named(fields_of(doc, place), place)
    left = with_named(fields_of(pruned, place), place)
    pruned = removed(doc, whole - (left | with_named(everybody, place)), place)
    left = with_named(fields_of(pruned, place), place)
    return removed(doc, (whole - left) & had, place)


def _refusal(config: Doc, place: SchemaPlace) -> ApplyRefused | None:
    if at(config, "metadata", "managedFields") is not None:
        return ApplyRefused(400, "metadata.managedFields must be nil")
    found = duplicate_in(config, place)
    return None if found is None else ApplyRefused(500, _untyped(config, found))


def _untyped(config: Doc, found: Duplicate) -> str:
    api_version, kind = config.get("apiVersion", ""), config.get("kind", "")
    namespace, name = at(config, "metadata", "namespace") or "", at(config, "metadata", "name") or ""
    which = f"{namespace}/{name}; {api_version}, Kind={kind}"
    return f"failed to create typed patch object ({which}): {found.where}: duplicate entries for key {found.key}"
