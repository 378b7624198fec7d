"""Entries of metadata.managedFields: which manager owns which fields, by which operation, since when.

Source: apimachinery, util/managedfields/internal/managedfields.go. An entry is identified by manager, operation,
subresource and, for updates, API version: an applier has one entry, whatever version it applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path

from .api.types import Schema
from .document_diff import NO_FIELDS, FieldSet, FieldSetComparison, compare
from .field_paths import MalformedStep, go_quoted

Operation = Literal["Apply", "Update"]
FieldOwners = Mapping["FieldManager", "ManagedFieldsEntry"]


@frozen(order=True)
class FieldManager:
    """The identity of an entry; `api_version` is "" for appliers."""

    manager: str
    operation: Operation
    api_version: str
    subresource: str

    def describe(self) -> str:
        """As in conflict messages: ``"kubectl-set" using apps/v1``, ``"kubelet" with subresource "status"
        using v1``."""
        subresource_text = f" with subresource {go_quoted(self.subresource)}" if self.subresource else ""
        version_text = f" using {self.api_version}" if self.operation == "Update" else ""
        return f"{go_quoted(self.manager)}{subresource_text}{version_text}"


@frozen
class ManagedFieldsEntry:
    """The fields of one owner; `time` is RFC 3339 in whole seconds, "" if the entry has none."""

    fields: FieldSet
    api_version: str
    time: str = ""


class MalformedEntries(ValueError):
    """managedFields that no server would have written."""


def field_manager(manager: str, operation: Operation, api_version: str, subresource: str) -> FieldManager:
    """A manager without a name is "unknown"."""
    return FieldManager(manager or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def read_entries(doc: Doc) -> dict[FieldManager, ManagedFieldsEntry]:
    """The entries of a document. Raises MalformedEntries."""
    return dict(_read_entry(entry) for entry in nested_field(doc, "metadata", "managedFields") or ())


def _read_entry(entry: Doc) -> tuple[FieldManager, ManagedFieldsEntry]:
    operation, api_version = entry.get("operation"), entry.get("apiVersion")
    if operation not in ("Apply", "Update"):
        raise MalformedEntries("operation must be `Apply` or `Update`")
    if not api_version:
        raise MalformedEntries("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise MalformedEntries(f"invalid fieldsType {go_quoted(entry.get('fieldsType', ''))} in managed fields entry")
    version = "" if operation == "Apply" else api_version
    owner = FieldManager(entry.get("manager", ""), operation, version, entry.get("subresource", ""))
    try:
        return owner, ManagedFieldsEntry(
            FieldSet.parse(entry.get("fieldsV1") or {}), api_version, entry.get("time") or ""
        )
    except MalformedStep as error:
        raise MalformedEntries(str(error)) from error


def entries_to_json(owners: FieldOwners) -> list[Doc]:
    """The entries in the server's order: appliers first, then by time, manager, version and subresource."""
    return [
        _entry_to_json(owner, owners[owner]) for owner in sorted(owners, key=lambda owner: _sort_key(owner, owners))
    ]


def _sort_key(owner: FieldManager, owners: FieldOwners) -> tuple[str, ...]:
    entry = owners[owner]
    return owner.operation, entry.time, owner.manager, entry.api_version, owner.subresource


def _entry_to_json(owner: FieldManager, entry: ManagedFieldsEntry) -> Doc:
    doc: Doc = {"manager": owner.manager, "operation": owner.operation, "apiVersion": entry.api_version}
    if entry.time:
        doc["time"] = entry.time
    doc |= {"fieldsType": "FieldsV1", "fieldsV1": entry.fields.to_json()}
    return doc | ({"subresource": owner.subresource} if owner.subresource else {})


def with_entries(doc: Doc, owners: FieldOwners) -> Doc:
    """`doc` with these entries as its managedFields; without any entry it has no such field."""
    if not owners:
        return without_entries(doc)
    return with_value(doc, ("metadata", "managedFields"), entries_to_json(owners))


def without_entries(doc: Doc) -> Doc:
    return without_path(doc, ("metadata", "managedFields"))


def without_times(entries: Iterable[Doc]) -> list[Doc]:
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]


# Limit of ten entries of updates: the oldest are merged as "ancient-changes", by API version.
#
# Source: apimachinery, util/managedfields/internal/capmanagers.go. Appliers are not counted.


MAX_UPDATERS = 10
_ANCIENT = "ancient-changes"


def cap_updaters(owners: FieldOwners) -> dict[FieldManager, ManagedFieldsEntry]:
    """`owners`, with the oldest updaters merged into those of the same version until there are few enough."""
    result = dict(owners)
    updaters = sorted((o for o in owners if o.operation == "Update"), key=lambda o: (owners[o].time, o))
    surplus = len(updaters) - MAX_UPDATERS
    first: dict[str, FieldManager] = {}
    for owner in updaters:
        if surplus <= 0:
            break
        oldest = first.setdefault(owner.api_version, owner)
        if oldest == owner:
            continue
        bucket = FieldManager(_ANCIENT, "Update", owner.api_version, "")
        older = result.pop(oldest) if bucket not in result else result[bucket]
        entry = result.pop(owner)
        result[bucket] = ManagedFieldsEntry(entry.fields | older.fields, owner.api_version, entry.time)
        surplus -= 1
    return result


# The fields that a write takes from other owners: shared by updates and applies.
#
# Source: structured-merge-diff, merge/update.go (Updater.update); apimachinery, stripmeta.go. Entries of other API
# versions are compared as if they had the version of the request: documents are not converted here.


UNTRACKED = FieldSet.of_paths(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""Fields that are never owned, in any kind."""


def find_conflicts(
    owners: FieldOwners, writer: FieldManager | None, difference: FieldSetComparison
) -> Mapping[FieldManager, FieldSet]:
    """The written fields that other managers own, by owner; owners without any are left out."""
    by_owner = {owner: entry.fields & difference.written for owner, entry in owners.items() if owner != writer}
    return {owner: fields for owner, fields in by_owner.items() if fields}


def transfer_ownership(
    owners: FieldOwners, writer: FieldManager | None, difference: FieldSetComparison
) -> dict[FieldManager, ManagedFieldsEntry]:
    """`owners`, where all except `writer` lose the written and removed fields; owners without remaining fields are left
    out."""
    lost = difference.written | difference.removed
    result = {
        owner: entry if owner == writer else replace(entry, fields=entry.fields - lost)
        for owner, entry in owners.items()
    }
    return {owner: entry for owner, entry in result.items() if entry.fields}


# Effect of a create, an update or a patch (not an apply) on managedFields.
#
# Source: apimachinery, util/managedfields/internal: fieldmanager.go, managedfieldsupdater.go, skipnonapplied.go,
# stripmeta.go; apiserver, IgnoreManagedFieldsTimestampsTransformer. The server does this after defaulting and before
# the resource's strategy and admission change anything; so values that these set have no owner.


def with_update(
    live: Doc | None,
    new: Doc,
    manager: str,
    now: str,
    schema: Schema,
    subresource: str = "",
    reset: FieldSet = NO_FIELDS,
) -> Doc:
    """`new` with its managedFields after `manager` wrote it over `live` (None: created it) at `now`.

    `reset` are the fields that the resource's strategy ignores in such requests, with everything below them: status for
    the object itself, spec for its status; they are never owned. An object that is not tracked (it was once stored
    without managedFields, or a request emptied them) stays untracked until a configuration is applied to it.
    """
    owners = _requested_entries(live, new, subresource)
    if live is not None and not owners:
        return without_entries(new)
    writer = field_manager(manager, "Update", str(new.get("apiVersion", "")), subresource)
    before = schema.blank if live is None else without_entries(live)
    after = without_entries(new)
    return with_entries(after, cap_updaters(entries_after_write(owners, before, after, writer, now, schema, reset)))


def entries_after_write(
    owners: FieldOwners, before: Doc, after: Doc, writer: FieldManager, now: str, schema: Schema, reset: FieldSet
) -> dict[FieldManager, ManagedFieldsEntry]:
    """The entries after `writer` changed `before` to `after`. An entry that gains no field keeps its time."""
    difference = compare(schema.fill(before), schema.fill(after), schema.root).without(reset)
    result = transfer_ownership(owners, None, difference)
    gained = difference.written - UNTRACKED
    if gained:
        writer_entry = result.get(writer)
        version = writer.api_version
        result[writer] = ManagedFieldsEntry(gained | writer_entry.fields if writer_entry else gained, version, now)
    return result


def _requested_entries(live: Doc | None, new: Doc, subresource: str) -> dict[FieldManager, ManagedFieldsEntry]:
    """The entries of the request, so that clients can edit them; the live ones if it has none or malformed ones.

    Through a subresource they cannot be edited. An empty list, or one with an empty entry, removes all entries.
    """
    stored = _entries_or_none(live or {})
    if subresource:
        return stored
    sent_entries = nested_field(new, "metadata", "managedFields")
    if sent_entries in ([], [{}]):
        return {}
    return _entries_or_none(new) or stored


def _entries_or_none(doc: Doc) -> dict[FieldManager, ManagedFieldsEntry]:
    try:
        return read_entries(doc)
    except MalformedEntries:
        return {}


def keep_times_if_unchanged(live: Doc, new: Doc) -> Doc:
    """`new`, with the times of `live` if nothing else has changed: such a write changes nothing.

    Call it when a document is ready to be stored, before its resource version is changed.
    """
    old_entries, entries = (nested_field(doc, "metadata", "managedFields") or [] for doc in (live, new))
    if without_times(old_entries) != without_times(entries) or without_entries(live) != without_entries(new):
        return new
    return with_value(new, ("metadata", "managedFields"), old_entries) if old_entries else new
