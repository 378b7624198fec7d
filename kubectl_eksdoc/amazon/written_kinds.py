"""Objects written in removed API versions: the kinds to list, and the API versions recorded in an object.

An object is listed in any version that the server serves; the newest known version is tried first, then the older
ones. Source of the served versions: `removed_apis`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, WriteRecord, WriteSource, nested_field
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version

from .removed_apis import REMOVED_APIS, RemovedApi, find_removed_api, removed_between, replacement_of

OLDEST_VERSION = Version(1, 21)
"""The oldest version that is considered: EKS runs no older cluster (EKS user guide, versions in extended support, and
what it upgraded by itself)."""

_ANY_LATER_VERSION = Version(1, 99)


@frozen
class ApiKinds:
    """All `kinds` with a trait; the data file explains the traits."""

    trait: str
    kinds: tuple[str, ...]
    source: KnowledgeSource


_KINDS_BY_TRAIT = records(ApiKinds, "api_kinds")


def _has_trait(row: RemovedApi, trait: str) -> bool:
    return row.kind in _KINDS_BY_TRAIT.by("trait")[trait].kinds


def kinds_with_removed_versions(current: Version, target: Version) -> tuple[Resource, ...]:
    """The kinds with a version that is removed between the two; EKS does not serve alpha versions."""
    rows = (row for row in removed_between(current, target) if _can_be_listed(row) and not row.is_alpha)
    return tuple(dict.fromkeys(map(resource_of, rows)))


def resource_of(row: RemovedApi) -> Resource:
    """The same resource for all rows that are about the same objects, in any of their former groups."""
    group = _current_group(row)
    versions = tuple(sorted(set(_served_versions(group, row.kind)), key=_version_rank, reverse=True))
    return Resource(
        row.kind, row.resource, group, versions[0], not _has_trait(row, "cluster_scoped"), older=versions[1:]
    )


def _can_be_listed(row: RemovedApi) -> bool:
    return bool(row.resource) and not _has_trait(row, "only_asked")


def _current_group(row: RemovedApi) -> str:
    """The group of the objects since Kubernetes 1.16 at the latest."""
    if row.group == "extensions" and row.kind == "PodSecurityPolicy":
        return "policy"
    replacement = replacement_of(row, _ANY_LATER_VERSION)
    return row.group if isinstance(replacement, Unknown) or not replacement else replacement.rpartition("/")[0]


def _served_versions(group: str, kind: str) -> Iterator[str]:
    """All versions of the group in which a server has served the kind."""
    for row in (each for each in REMOVED_APIS if each.kind == kind):
        if row.group == group:
            yield row.version
        replacement = replacement_of(row, _ANY_LATER_VERSION)
        if not isinstance(replacement, Unknown) and replacement.rpartition("/")[0] == group:
            yield replacement.rpartition("/")[2]


_VERSION_PATTERN = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?\Z")
_STAGE_RANKS = {"alpha": 0, "beta": 1}


def _version_rank(version: str) -> tuple[int, int, int]:
    """The order of API servers: stable versions, then beta, then alpha, the highest number first."""
    match = _VERSION_PATTERN.match(version)
    if match is None:
        return -1, 0, 0
    return _STAGE_RANKS.get(match[2] or "", 2), int(match[1]), int(match[3] or 0)


# The API versions that an object was written in, by its own records: kubectl's annotation, and its managedFields.
#
# An API server returns every object in every version that it serves: that an object is listed as ``policy/v1beta1``
# proves nothing. The records also stay for a long time, so each one comes with other possible explanations.
#
# Sources: kubectl pkg/util/apply.go (GetOriginalConfiguration); apimachinery meta/v1 ManagedFieldsEntry (one entry for
# each manager, operation, apiVersion and subresource); public listings of EKS clusters for the objects that EKS creates
# (confidence: medium).


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def row_of(written: WriteRecord) -> RemovedApi | None:
    """The row of the written version in the table of removed APIs."""
    return find_removed_api(written.api_version, written.kind)


def written_versions(doc: Doc, last_applied: Any = None) -> tuple[WriteRecord, ...]:
    """The versions that an object from an API server was written in, from its managedFields and annotation.
    `last_applied`: the decoded value of its annotation `LAST_APPLIED`; None without it, and ignored if no object."""
    return (*_last_applied_versions(last_applied), *_managed_fields_versions(doc))


def _last_applied_versions(last_applied: Any) -> Iterator[WriteRecord]:
    if isinstance(last_applied, dict):
        version, kind = last_applied.get("apiVersion"), last_applied.get("kind")
        if isinstance(version, str) and version and isinstance(kind, str) and kind:
            yield WriteRecord(WriteSource.LAST_APPLIED, version, kind)


def _managed_fields_versions(doc: Doc) -> Iterator[WriteRecord]:
    kind, entries = doc.get("kind"), nested_field(doc, "metadata", "managedFields")
    if not isinstance(kind, str) or not kind or not isinstance(entries, list):
        return
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        version, manager, operation, time, subresource = (
            value if isinstance(value := entry.get(name), str) else ""
            for name in ("apiVersion", "manager", "operation", "time", "subresource")
        )
        if version:
            yield WriteRecord(WriteSource.MANAGED_FIELDS, version, kind, manager, operation, time, subresource)


AUTO_UPDATE_ANNOTATION = "apf.kubernetes.io/autoupdate-spec"
"""Annotation of the FlowSchemas and PriorityLevelConfigurations that the API server creates and updates ("true")."""


@frozen
class NoChangeNeeded:
    """`why` no change is needed, a clause. Matches if one of `managers` wrote it, if it is one of the built-in
    `objects` (names by kind), or if the annotation `kept_by` shows, in that API `group`, that a controller keeps it."""

    why: str
    managers: tuple[str, ...]
    source: KnowledgeSource
    objects: Mapping[str, list[str]] = field(default_factory=dict)
    kept_by: str = ""
    group: str = ""

    def matches(self, written: WriteRecord, name: str, annotations: Mapping[str, str]) -> bool:
        in_group = self.group and written.api_version.startswith(f"{self.group}/")
        return (
            (in_group and annotations.get(self.kept_by) == "true")
            or any(fnmatchcase(written.manager, each) for each in self.managers)
            or name in self.objects.get(written.kind, ())
        )


_BUILTIN_WRITERS = records(NoChangeNeeded, "own_writers")


def find_no_change_needed(
    written: WriteRecord, name: str, annotations: Mapping[str, str] | None = None
) -> NoChangeNeeded | None:
    """Why the record is not from the user's manifests or clients; None where it may be."""
    return next((each for each in _BUILTIN_WRITERS if each.matches(written, name, annotations or {})), None)


STAYS_NOTE = (
    "both stay until the same manager writes again: the annotation until the next kubectl apply, an entry of"
    " managedFields for as long as its manager owns a field in that version, also after its manifest was changed"
)
"""Why a record may be old; the entry's time is that of the last write."""
