"""Server-side apply: a configuration becomes part of a live document, and its fields the applier's.

Source: structured-merge-diff, merge/update.go (Updater.Apply, prune); apimachinery, util/managedfields/internal:
structuredmerge.go, managedfieldsupdater.go, skipnonapplied.go. Values that the server defaults are the caller's matter,
as is kubectl's last-applied annotation (lastappliedmanager.go), which only ``kubectl apply`` ever has.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.kubernetes.api.ownership.comparing import compare
from kubectl_eksdoc.kubernetes.api.ownership.conflicts import Conflicts
from kubectl_eksdoc.kubernetes.api.ownership.duplicates import Duplicate, duplicate_in
from kubectl_eksdoc.kubernetes.api.ownership.entries import (
    Entry,
    FieldManager,
    Owners,
    owner_of,
    read,
    with_entries,
    without_entries,
)
from kubectl_eksdoc.kubernetes.api.ownership.fields import NONE, FieldSet, fields_of, with_named
from kubectl_eksdoc.kubernetes.api.ownership.merging import merged, removed, without_new_nulls
from kubectl_eksdoc.kubernetes.api.ownership.taking import UNTRACKED, conflicts, taken
from kubectl_eksdoc.kubernetes.api.ownership.updates import settled, written
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.kubernetes.api.schema import Schema
from kubectl_eksdoc.model.api_objects import Doc, at

BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True, slots=True)
class AppliedDocument:
    """The document to default and store; it is the live one where nothing changed."""

    doc: Doc


@dataclass(frozen=True, slots=True)
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
    """`live` (None: there is none yet) after `manager` applied `config` at `now`; with `force` nothing conflicts.

    `reset` are fields that are never owned, as in `updates.updated`. A null in `config` takes a plain value away, even
    a creationTimestamp, which the server puts back as it does for any update; whoever does that, or defaults, asks
    `updates.settled` once more. Raises MalformedEntries where `live` has managedFields that no server wrote.
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
    """The document and its entries, the applier's with the time it had."""
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
    """`doc` without what the applier had and no longer lists, unless somebody else owns it.

    What was removed along with it comes back where another owner has it (which keeps the objects and items around it,
    if they are owned or named), and where the applier never had it.
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
