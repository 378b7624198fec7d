"""Server-side apply: merge a configuration into a live document, and make the applier the owner of its fields.

Source: structured-merge-diff, merge/update.go (Updater.Apply, prune); apimachinery, util/managedfields/internal:
structuredmerge.go, managedfieldsupdater.go, skipnonapplied.go. The caller applies server-side defaults, and handles
kubectl's last-applied annotation (lastappliedmanager.go), which only ``kubectl apply`` sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, nested_field

from .api.types import Schema, SchemaPlace
from .document_diff import (
    NO_FIELDS,
    FieldSet,
    Path,
    Tree,
    children_of,
    compare,
    fields_of,
    is_member,
    item_step,
    items_by_step,
    with_named_fields,
)
from .field_paths import Step, field_step, format_step
from .managed_fields import (
    UNTRACKED,
    FieldManager,
    FieldOwners,
    ManagedFieldsEntry,
    entries_after_write,
    field_manager,
    find_conflicts,
    keep_times_if_unchanged,
    read_entries,
    transfer_ownership,
    with_entries,
    without_entries,
)

# Conflicts of an apply with other field managers, and the server's message.
#
# Source: apimachinery, util/managedfields/internal/conflict.go; errors.NewApplyConflict. On a server the order of
# causes of several owners varies; here they are sorted, as in the message.


@frozen
class FieldConflict:
    owner: FieldManager
    path: Path

    @property
    def field(self) -> str:
        """The path as in ``.spec.containers[name="app"].image``."""
        return "".join(format_step(step) for step in self.path)


@frozen
class ApplyConflictSet:
    """At least one conflict, by owner."""

    conflicts: tuple[FieldConflict, ...]

    @classmethod
    def of(cls, fields: Mapping[FieldManager, FieldSet]) -> ApplyConflictSet:
        return cls(tuple(FieldConflict(owner, path) for owner in sorted(fields) for path in fields[owner]))

    @property
    def message(self) -> str:
        if len(self.conflicts) == 1:
            only = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {only.owner.describe()}: {only.field}"
        lines: list[str] = []
        for owner in dict.fromkeys(conflict.owner for conflict in self.conflicts):
            lines.append(f"conflicts with {owner.describe()}:")
            lines += [f"- {conflict.field}" for conflict in self.conflicts if conflict.owner == owner]
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)

    @property
    def causes(self) -> list[Doc]:
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {c.owner.describe()}", "field": c.field}
            for c in self.conflicts
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
class DuplicateItem:
    """`list_path` is the path of the list, as ``.spec.containers``; `key` identifies the item, as ``[name="app"]``."""

    list_path: str
    key: str


def find_duplicate(value: Any, place: SchemaPlace, path: str = "") -> DuplicateItem | None:
    """The first duplicate item; atomic values may contain duplicates."""
    if isinstance(value, dict) and not place.atomic:
        for name, inner in value.items():
            duplicate = find_duplicate(inner, place.under(name), path + format_step(field_step(name)))
            if duplicate is not None:
                return duplicate
    if isinstance(value, list) and place.list_type != "atomic":
        for step, items in items_by_step(value, place).items():
            if len(items) > 1:
                return DuplicateItem(path, format_step(step))
            duplicate = find_duplicate(items[0], place.item_place(), path + format_step(step))
            if duplicate is not None:
                return duplicate
    return None


# The part of a document that a set of fields names, as a configuration that would own only these.
#
# Source: structured-merge-diff, typed/remove.go (ExtractItems, with its keys); client-go, applyconfigurations
# (Extract).


def extract(doc: Doc, fields: FieldSet, place: SchemaPlace) -> Doc:
    """The fields of `doc` that the set names. Items of lists keep their keys, which identify them."""
    return _extract_fields(doc, fields.tree, place)


def _extract_value(value: Any, node: Tree, place: SchemaPlace) -> Any:
    if isinstance(value, dict) and not place.atomic:
        return _extract_fields(value, node, place)
    if isinstance(value, list) and place.list_type != "atomic":
        steps = dict(children_of(node))
        return [_extract_item(item, steps[step], place) for item in value if (step := item_step(item, place)) in steps]
    return value


def _extract_fields(doc: Doc, tree: Tree, place: SchemaPlace) -> Doc:
    nodes = {name: tree.get(field_step(name)) for name in doc}
    return {
        name: _extract_value(doc[name], node, place.under(name)) for name, node in nodes.items() if node is not None
    }


def _extract_item(item: Any, node: Tree, place: SchemaPlace) -> Any:
    if not isinstance(item, dict):
        return item
    keys = {key: item[key] for key in place.keys if key in item}
    return {**keys, **_extract_fields(item, node, place.item_place())}


# Merge a configuration into a live document, and remove fields from a document.
#
# Source: structured-merge-diff, typed/merge.go and typed/remove.go. Merging never removes a field; if both have a leaf,
# the configuration's value is kept. Items have the configuration's order; items that only the live list has keep their
# position between them.


def merge(live: Doc, config: Doc, place: SchemaPlace) -> Doc:
    """`live` with the fields of `config` merged into it."""
    return {
        **live,
        **{
            name: _merge_value(live.get(name), config_value, place.under(name)) for name, config_value in config.items()
        },
    }


def _merge_value(live: Any, config: Any, place: SchemaPlace) -> Any:
    if config is None:
        # Null keeps a granular object or list that is not empty, and replaces anything else.
        return live if _is_granular(live, place) else None
    if isinstance(config, dict) and isinstance(live, dict) and not place.atomic:
        return merge(live, config, place)
    if isinstance(config, list) and isinstance(live, list) and place.list_type != "atomic":
        # Merge both lists; see `_merge_order` for the order. If the configuration has an item, it replaces duplicates
        # of it in the live list.
        live_steps, config_steps = items_by_step(live, place), items_by_step(config, place)
        result: list[Any] = []
        for step, index in _merge_order([item_step(item, place) for item in live], list(config_steps)):
            if step not in config_steps:
                result.append(live[index])
                continue
            live_items = live_steps.get(step, [])
            item = config_steps[step][0]
            result.append(_merge_value(live_items[0], item, place.item_place()) if len(live_items) == 1 else item)
        return result
    return config


def _is_granular(value: Any, place: SchemaPlace) -> bool:
    if isinstance(value, dict):
        return bool(value) and not place.atomic
    return isinstance(value, list) and bool(value) and place.list_type != "atomic"


def _merge_order(live: list[Step], desired: list[Step]) -> list[tuple[Step, int]]:
    """The steps of the merged list, with the position in `live` of those that only the live list has.

    The two lists are walked side by side. A shared item is placed at the configuration's turn; an item of the live list
    alone is placed as early as this allows.
    """
    live_set, config = set(live), set(desired)
    shared = [step for step in desired if step in live_set]
    done: set[Step] = set()
    placed: list[tuple[Step, int]] = []
    live_index = config_index = following = 0
    while live_index < len(live) or config_index < len(desired):
        expected = shared[following] if following < len(shared) else None
        if live_index < len(live) and config_index < len(desired):
            if live[live_index] == desired[config_index]:
                placed.append((live[live_index], live_index))
                done.add(live[live_index])
                live_index, config_index, following = live_index + 1, config_index + 1, following + 1
                continue
            if live[live_index] in config and expected is not None and expected != live[live_index]:
                live_index += 1
                continue
        if live_index < len(live):
            if live[live_index] not in config:
                placed.append((live[live_index], live_index))
                live_index += 1
                continue
            if live[live_index] in done:
                live_index += 1
        if config_index < len(desired):
            placed.append((desired[config_index], -1))
            done.add(desired[config_index])
            config_index += 1
    return placed


def remove_fields(doc: Doc, fields: FieldSet, place: SchemaPlace) -> Doc:
    """`doc` without the fields of the set and everything below them; objects and lists that become empty
    become null."""
    return _remove_from_object(doc, fields.tree, place)


def _remove_from_value(value: Any, tree: Tree, place: SchemaPlace) -> Any:
    """Null if nothing remains. Atomic values are never removed in part: a field below one removes all of it."""
    if isinstance(value, dict):
        return None if place.atomic else _remove_from_object(value, tree, place) or None
    if isinstance(value, list):
        return None if place.list_type == "atomic" else _remove_from_list(value, tree, place) or None
    return value


def _remove_from_object(doc: Doc, tree: Tree, place: SchemaPlace) -> Doc:
    result: Doc = {}
    for name, value in doc.items():
        node = tree.get(field_step(name))
        if node is None:
            result[name] = value
        elif not is_member(node):
            result[name] = _remove_from_value(value, node, place.under(name))
    return result


def _remove_from_list(items: list[Any], tree: Tree, place: SchemaPlace) -> list[Any]:
    result = []
    for item in items:
        node = tree.get(item_step(item, place))
        if node is None:
            result.append(item)
        elif not is_member(node):
            remaining = _remove_from_value(item, node, place.item_place())
            if remaining is not None:
                result.append(remaining)
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
    reset: FieldSet = NO_FIELDS,
) -> AppliedDocument | ApplyConflictSet | ApplyRefused:
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
    owners = read_entries(live or {})
    before = without_entries(live or {})
    if live is not None and not owners:
        earlier_writer = field_manager(BEFORE_FIRST_APPLY, "Update", str(config.get("apiVersion", "")), subresource)
        owners = entries_after_write({}, schema.blank, before, earlier_writer, now, schema, reset)
    applier = field_manager(manager, "Apply", "", subresource)
    result = _apply_and_claim(before, config, owners, applier, force, schema, reset)
    if isinstance(result, ApplyConflictSet):
        return result
    after, owners = result
    if after != before and applier in owners:
        applier_entry = owners[applier]
        owners[applier] = ManagedFieldsEntry(applier_entry.fields, applier_entry.api_version, now)
    doc = with_entries(without_new_nulls(after, before), owners)
    return AppliedDocument(doc if live is None else keep_times_if_unchanged(live, doc))


def _apply_and_claim(
    before: Doc, config: Doc, owners: FieldOwners, applier: FieldManager, force: bool, schema: Schema, reset: FieldSet
) -> tuple[Doc, dict[FieldManager, ManagedFieldsEntry]] | ApplyConflictSet:
    """The document and its entries; the applier's entry keeps its old time."""
    place = schema.root
    previous = owners.get(applier)
    applied_fields = fields_of(config, place).without(reset)
    entry = ManagedFieldsEntry(applied_fields, str(config.get("apiVersion", "")), previous.time if previous else "")
    claimed: FieldOwners = {**owners, applier: entry}
    after = merge(before, config, place)
    if previous is not None and previous.fields:
        after = _prune(after, previous.fields, claimed, place)
    difference = compare(schema.fill(before), schema.fill(after), place).without(reset)
    if not force:
        conflicting = find_conflicts(claimed, applier, difference)
        if conflicting:
            return ApplyConflictSet.of(conflicting)
    result = transfer_ownership(claimed, applier, difference)
    if applier in result:
        tracked = result[applier].fields - UNTRACKED
        result[applier] = ManagedFieldsEntry(tracked, entry.api_version, entry.time)
        if not tracked:
            del result[applier]
    return after, result


def _prune(doc: Doc, previous_fields: FieldSet, owners: FieldOwners, place: SchemaPlace) -> Doc:
    """`doc` without the fields that the applier owned and no longer lists, unless another manager owns them.

    Fields that were removed along with them are restored if another owner has them (which also keeps the objects and
    items around them, if they are owned or named), and if the applier never owned them.
    """
    owned_before = with_named_fields(previous_fields, place)
    pruned = remove_fields(doc, owned_before, place)
    owned_by_any = NO_FIELDS
    for entry in owners.values():
        owned_by_any |= entry.fields
    all_fields = with_named_fields(fields_of(doc, place), place)
    remaining = with_named_fields(fields_of(pruned, place), place)
    pruned = remove_fields(doc, all_fields - (remaining | with_named_fields(owned_by_any, place)), place)
    remaining = with_named_fields(fields_of(pruned, place), place)
    return remove_fields(doc, (all_fields - remaining) & owned_before, place)


def _refusal(config: Doc, place: SchemaPlace) -> ApplyRefused | None:
    if nested_field(config, "metadata", "managedFields") is not None:
        return ApplyRefused(400, "metadata.managedFields must be nil")
    duplicate = find_duplicate(config, place)
    return None if duplicate is None else ApplyRefused(500, _duplicate_message(config, duplicate))


def _duplicate_message(config: Doc, duplicate: DuplicateItem) -> str:
    api_version, kind = config.get("apiVersion", ""), config.get("kind", "")
    namespace, name = (
        nested_field(config, "metadata", "namespace") or "",
        nested_field(config, "metadata", "name") or "",
    )
    which = f"{namespace}/{name}; {api_version}, Kind={kind}"
    return (
        f"failed to create typed patch object ({which}): {duplicate.list_path}: duplicate entries for key "
        f"{duplicate.key}"
    )
