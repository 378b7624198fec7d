"""What a write takes from other owners: the part that updates and applies share.

Source: structured-merge-diff, merge/update.go (Updater.update); apimachinery, stripmeta.go. Entries of other API
versions are compared as if they were of the version of the request: documents are not converted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.kubernetes.api.ownership.comparing import FieldSetComparison
from kubectl_eksdoc.kubernetes.api.ownership.entries import Entry, FieldManager, Owners
from kubectl_eksdoc.kubernetes.api.ownership.fields import FieldSet

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
"""What nobody owns, in any kind."""


def conflicts(owners: Owners, writer: FieldManager | None, seen: FieldSetComparison) -> Mapping[FieldManager, FieldSet]:
    """The fields that were written and that others own, by owner; owners without any are left out."""
    found = {owner: entry.fields & seen.written for owner, entry in owners.items() if owner != writer}
    return {owner: fields for owner, fields in found.items() if fields}


def taken(owners: Owners, writer: FieldManager | None, seen: FieldSetComparison) -> dict[FieldManager, Entry]:
    """`owners`, where all but `writer` have lost what was written or removed; without those that have nothing left."""
    lost = seen.written | seen.removed
    result = {
        owner: entry if owner == writer else replace(entry, fields=entry.fields - lost)
        for owner, entry in owners.items()
    }
    return {owner: entry for owner, entry in result.items() if entry.fields}
