"""What an update may have changed where the API keeps no history: ConfigMaps, ServiceAccounts, and whatever of a
workload stands outside its pod template.

When `eks` wrote an object last is noted in its managedFields, and no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from kubectl_eksdoc.addon_diff.aftermath.facts import UnrecordedFields
from kubectl_eksdoc.addon_diff.expected import EKS, config_of, owners_of
from kubectl_eksdoc.addon_diff.facts import AddonFacts
from kubectl_eksdoc.addon_diff.fields import AddonField, value_at
from kubectl_eksdoc.addon_diff.merging import MISSING, leaves
from kubectl_eksdoc.kubernetes.api.ownership.entries import MalformedEntries
from kubectl_eksdoc.kubernetes.api.ownership.fields import NONE
from kubectl_eksdoc.kubernetes.api.ownership.trees import Path
from kubectl_eksdoc.kubernetes.api.schema import Schema, schema_of
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, named
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.simulator.store import moment

_BY_PEOPLE = (
    ("f:data",),
    ("f:metadata", "f:annotations"),
    ("f:spec", "f:replicas"),
    ("f:spec", "f:maxUnavailable"),
    ("f:spec", "f:minAvailable"),
    ("f:spec", "f:updateStrategy"),
    ("f:spec", "f:strategy"),
)
"""What people set there by hand; labels are the chart's."""


def unrecorded(now: AddonFacts, begun: datetime, applied: Mapping[ObjectName, Doc]) -> tuple[UnrecordedFields, ...]:
    """Of each object that EKS has written since the update began: the fields that nobody but EKS has now, and that
    neither configuration values nor the add-on's role declare."""
    found = (_of(live, now, begun, applied.get(named(live))) for live in now.objects)
    return tuple(each for each in found if each is not None)


def _of(live: Doc, now: AddonFacts, begun: datetime, applied: Doc | None) -> UnrecordedFields | None:
    of = named(live)
    try:
        owners = owners_of(live)
    except MalformedEntries:
        return None  # said of the object already, which cannot be judged
    mine = owners.get(EKS)
    if mine is None or _moment(mine.time) < begun.replace(microsecond=0).timestamp():
        return None
    others = NONE
    for owner, entry in owners.items():
        others |= entry.fields if owner != EKS else NONE
    schema = schema_of(of.api_version, of.kind)
    paths = [
        path
        for path in mine.fields
        if _is_by_people(path)
        and path not in others
        and value_at(live, path, schema.root) is not MISSING
        and not _is_declared(path, of, now, value_at(live, path, schema.root), schema)
    ]
    leaves = [path for path in paths if not any(other[: len(path)] == path and other != path for other in paths)]
    if not leaves:
        return None
    return UnrecordedFields(of, tuple(sorted(AddonField(of, path) for path in leaves)), mine.time, applied)


def _is_by_people(path: Path) -> bool:
    return any(path[: len(each)] == each for each in _BY_PEOPLE)


def _is_declared(path: Path, of: ObjectName, now: AddonFacts, value: object, schema: Schema) -> bool:
    if now.addon.role and value == now.addon.role:
        return True
    config = config_of(now.addon.name, of, path, schema)
    values = {} if isinstance(now.values, Unknown) else now.values
    return bool(config) and any(config[: len(leaf.path)] == leaf.path for leaf in leaves(values))


def _moment(text: str) -> float:
    """Without a time it may have been at any."""
    try:
        return moment(text).timestamp()
    except ValueError:
        return float("inf")


def differing_data(found: UnrecordedFields, live: Doc) -> Iterator[tuple[str, str]]:
    """Keys of a ConfigMap for which ``kubectl apply`` sent another text last, each with that text."""
    said, data = (doc.get("data") if doc is not None else None for doc in (found.applied, live))
    if found.of.kind != kinds.CONFIG_MAPS.kind or not isinstance(said, dict) or not isinstance(data, dict):
        return
    for key in sorted(said):
        if isinstance(said[key], str) and said[key] != data.get(key):
            yield key, said[key]
