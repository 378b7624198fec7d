"""What a create, an update or a patch (not an apply) does to managedFields.

Source: apimachinery, util/managedfields/internal: fieldmanager.go, managedfieldsupdater.go, skipnonapplied.go,
stripmeta.go; apiserver, IgnoreManagedFieldsTimestampsTransformer. The server does this after defaulting and before the
resource's strategy and admission change anything, so values those set belong to nobody.
"""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.ownership.capping import capped
from kubectl_eksdoc.kubernetes.api.ownership.comparing import compare
from kubectl_eksdoc.kubernetes.api.ownership.entries import (
    Entry,
    FieldManager,
    MalformedEntries,
    Owners,
    owner_of,
    read,
    with_entries,
    without_entries,
    without_times,
)
from kubectl_eksdoc.kubernetes.api.ownership.fields import NONE, FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.taking import UNTRACKED, taken
from kubectl_eksdoc.kubernetes.api.schema import Schema
from kubectl_eksdoc.model.api_objects import Doc, at, with_value


def updated(
    live: Doc | None,
    new: Doc,
    manager: str,
    now: str,
    schema: Schema,
    subresource: str = "",
    reset: FieldSet = NONE,
) -> Doc:
    """`new` with its managedFields after `manager` wrote it over `live` (None: created it) at `now`.

    `reset` are the fields that the resource's strategy ignores in such requests, with all below them: status for the
    object itself, spec for its status; they are never owned. An object that is not tracked (it was once stored without
    managedFields, or a request emptied them) stays so until something is applied to it.
    """
    owners = _owners(live, new, subresource)
    if live is not None and not owners:
        return without_entries(new)
    writer = owner_of(manager, "Update", str(new.get("apiVersion", "")), subresource)
    before = schema.blank if live is None else without_entries(live)
    after = without_entries(new)
    return with_entries(after, capped(written(owners, before, after, writer, now, schema, reset)))


def written(
    owners: Owners, before: Doc, after: Doc, writer: FieldManager, now: str, schema: Schema, reset: FieldSet
) -> dict[FieldManager, Entry]:
    """The entries after `writer` changed `before` to `after`. An entry that gains nothing keeps its time."""
    seen = compare(schema.filled(before), schema.filled(after), schema.root).without(reset)
    result = taken(owners, None, seen)
    gained = seen.written - UNTRACKED
    if gained:
        mine = result.get(writer)
        version = writer.api_version
        result[writer] = Entry(gained | mine.fields if mine else gained, version, now)
    return result


def _owners(live: Doc | None, new: Doc, subresource: str) -> dict[FieldManager, Entry]:
    """The entries the request sends, so that clients can edit them; the live ones where it sends none or bad ones.

    Through a subresource they cannot be edited. An empty list, or one with an empty entry, takes all away.
    """
    stored = _readable(live or {})
    if subresource:
        return stored
    sent = at(new, "metadata", "managedFields")
    if sent in ([], [{}]):
        return {}
    return _readable(new) or stored


def _readable(doc: Doc) -> dict[FieldManager, Entry]:
    try:
        return read(doc)
    except MalformedEntries:
        return {}


def settled(live: Doc, new: Doc) -> Doc:
    """`new`, with the times of `live` where nothing else changed: such a write is none.

    To be asked when a document is ready to be stored, with its resource version not yet changed.
    """
    old_entries, entries = (at(doc, "metadata", "managedFields") or [] for doc in (live, new))
    if without_times(old_entries) != without_times(entries) or without_entries(live) != without_entries(new):
        return new
    return with_value(new, ("metadata", "managedFields"), old_entries) if old_entries else new
