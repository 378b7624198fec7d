"""Facts of a past add-on update, and the result of its review."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of
from kubectl_eksdoc.kubernetes.document_diff import NO_FIELDS, Path
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.model.addons import ConfigPath, EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field, object_name
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Confidence, Unknown
from kubectl_eksdoc.simulator.store import parse_api_time

from .expected import EKS, config_path_of, owners_of
from .fields import MISSING, AddonField, leaves, value_at
from .past_update_causes import ChangeCause, ChangeReason
from .plan import AddonPlan
from .prediction import AddonFacts, Mode
from .revisions import TemplateUpdateStep, UnchangedTemplate, UnknownRevision


@frozen
class PastFacts:
    """`addon_facts`: the add-on now, with the installed version as its target. `revisions`: by the kind of the
    workload, all objects of its namespace that store earlier pod templates."""

    addon_facts: AddonFacts
    update: EksAddonUpdate | Unknown | Absent
    history: UpdateHistory | Unknown
    revisions: Mapping[str, tuple[Doc, ...] | Unknown]


class FieldState(str, Enum):
    """State of a field that a past update changed."""

    GONE = "gone"  # the value that the update or EKS has set
    BACK = "back"  # the value before the update
    OTHER = "other"  # another client has set another value since


@frozen
class ChangedField:
    """`before` and `after` the update, and `live`; `MISSING` for no value. `owners`: current field managers; `config`:
    path in the configuration values, () if there is none. `value_to_restore`: `before`, or for a list that is one
    value, `before` merged with the changes of the version; None if it is unknown."""

    field: AddonField
    before: Any
    after: Any
    live: Any
    because: ChangeReason
    owners: tuple[str, ...]
    config: ConfigPath
    state: FieldState
    value_to_restore: Any = None

    @property
    def is_lost(self) -> bool:
        """The update reset the field, whatever its current state."""
        return self.because.cause is ChangeCause.LOST

    @property
    def is_still_lost(self) -> bool:
        """The update reset the field, and it is not restored."""
        return self.is_lost and self.state is FieldState.GONE


@frozen
class TemplateRollout:
    """The rollout that follows a change of the pod template. `is_on_delete`: pods are replaced only when each is
    deleted (OnDelete)."""

    pods: int | None
    at_a_time: int | str
    is_on_delete: bool = False


@frozen
class WorkloadReview:
    """Review of a workload with a pod template. `patch` restores the fields that are still lost, None if there are none
    or no patch restores them; no patch restores the fields `not_restorable`."""

    object_ref: ObjectName
    step: TemplateUpdateStep | UnchangedTemplate | UnknownRevision
    changes: tuple[ChangedField, ...] = ()
    patch: Doc | None = None
    not_restorable: tuple[AddonField, ...] = ()
    rollout: TemplateRollout | None = None
    unreadable: tuple[str, ...] = ()


@frozen
class UnrecordedFields:
    """Fields without a history in the API: `fields` that only EKS owns, in an object (or a part of one) that EKS wrote
    at `written_at`, with the update or later."""

    object_ref: ObjectName
    fields: tuple[AddonField, ...]
    written_at: str


@frozen
class PodsToRecreate:
    """Running pods that keep settings from the time when `field` was lost. `pods`: those to recreate, as
    ``namespace/name``; () for none."""

    field: AddonField
    pods: tuple[str, ...] | Unknown
    says: str
    source: str
    sure: Confidence


@frozen
class EarlierUpdate:
    """An update before the reviewed one, and the fields that it reset and that are not restored: `lost_changes`."""

    update: EksAddonUpdate
    started: datetime
    lost_changes: tuple[ChangedField, ...]


@frozen
class UpdateReview:
    """`next_update`: the plan of another update with OVERWRITE on the restored objects; its proposed values keep what
    was lost. None if nothing is known about the update."""

    facts: PastFacts
    workloads: tuple[WorkloadReview, ...] = ()
    unrecorded: tuple[UnrecordedFields, ...] = ()
    pods_to_recreate: tuple[PodsToRecreate, ...] = ()
    next_update: AddonPlan | None = None
    findings: tuple[Finding, ...] = ()
    earlier_updates: tuple[EarlierUpdate, ...] = ()

    @property
    def lost_fields(self) -> tuple[ChangedField, ...]:
        """Sorted by object and field."""
        return tuple(change for each in self.workloads for change in each.changes if change.is_lost)


# Changes that the API keeps no history of: ConfigMaps, ServiceAccounts, and workload fields outside the pod template.
# The managedFields only record when `eks` wrote an object last.


_USER_EDITED_PATHS = (
    ("f:data",),
    ("f:metadata", "f:annotations"),
    ("f:spec", "f:replicas"),
    ("f:spec", "f:maxUnavailable"),
    ("f:spec", "f:minAvailable"),
    ("f:spec", "f:updateStrategy"),
    ("f:spec", "f:strategy"),
)
"""Fields that users edit by hand; labels belong to the chart."""


def unrecorded_fields(facts: AddonFacts, started: datetime) -> tuple[UnrecordedFields, ...]:
    """For each object that EKS has written since the update began: the fields that only EKS owns, and that neither
    configuration values nor the add-on's role set."""
    results = (_unrecorded_fields_of(live, facts, started) for live in facts.objects)
    return tuple(each for each in results if each is not None)


def _unrecorded_fields_of(live: Doc, facts: AddonFacts, started: datetime) -> UnrecordedFields | None:
    object_ref = object_name(live)
    try:
        owners = owners_of(live)
    except MalformedEntries:
        return None  # the object has a finding already that it cannot be judged
    eks_entry = owners.get(EKS)
    if eks_entry is None or _parse_timestamp(eks_entry.time) < started.replace(microsecond=0).timestamp():
        return None
    other_fields = NO_FIELDS
    for owner, entry in owners.items():
        other_fields |= entry.fields if owner != EKS else NO_FIELDS
    schema = schema_of(object_ref.api_version, object_ref.kind)
    paths = [
        path
        for path in eks_entry.fields
        if _is_user_edited(path)
        and path not in other_fields
        and value_at(live, path, schema.root) is not MISSING
        and not _is_declared(path, object_ref, facts, value_at(live, path, schema.root), schema)
    ]
    leaf_paths = [path for path in paths if not any(other[: len(path)] == path and other != path for other in paths)]
    if not leaf_paths:
        return None
    return UnrecordedFields(
        object_ref, tuple(sorted(AddonField(object_ref, path) for path in leaf_paths)), eks_entry.time
    )


def _is_user_edited(path: Path) -> bool:
    return any(path[: len(each)] == each for each in _USER_EDITED_PATHS)


def _is_declared(path: Path, object_ref: ObjectName, facts: AddonFacts, value: object, schema: Schema) -> bool:
    if facts.addon.role and value == facts.addon.role:
        return True
    config = config_path_of(facts.addon.name, object_ref, path, schema)
    values = {} if isinstance(facts.values, Unknown) else facts.values
    return bool(config) and any(config[: len(leaf.path)] == leaf.path for leaf in leaves(values))


def _parse_timestamp(text: str) -> float:
    """Infinity for a missing time: the write may have been at any time."""
    try:
        return parse_api_time(text).timestamp()
    except ValueError:
        return float("inf")


# Version and configuration values before and after an update, by EKS's update records.


_VERSION, _VALUES = "AddonVersion", "ConfigurationValues"
_SUCCESSFUL = "Successful"
_EARLIEST = datetime(1, 1, 1, tzinfo=timezone.utc)


@frozen
class UpdateVersions:
    """`version_before` and `version`: before and after the update, "" if unknown; `values_before` and `values`
    likewise. `update_starts`: the start of each successful update; `is_complete`: all updates that EKS lists were read.
    `succeeded_with_none`: the mode was NONE, and the update succeeded."""

    version_before: str
    version: str
    values_before: Doc | Unknown
    values: Doc | Unknown
    update_starts: tuple[datetime, ...]
    is_complete: bool
    succeeded_with_none: bool = False


def update_versions(update: EksAddonUpdate, facts: PastFacts) -> UpdateVersions:
    """The current version and values are those after the update if no later update changed them."""
    history, current_version, current_values = facts.history, facts.addon_facts.addon.version, facts.addon_facts.values
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    successful = [
        each
        for each in listed
        if isinstance(each, EksAddonUpdate) and (each.status == _SUCCESSFUL or each.id == update.id)
    ]
    if update.id not in {each.id for each in successful}:
        successful.append(update)
    successful.sort(key=lambda each: each.begun or _EARLIEST)
    index = next(at for at, each in enumerate(successful) if each.id == update.id)
    before, until_update, later = successful[:index], successful[: index + 1], successful[index + 1 :]
    is_complete = isinstance(history, UpdateHistory) and not history.unseen and _is_fully_known(history)
    values_by_update = history.values if isinstance(history, UpdateHistory) else {}
    is_unchanged_since = is_complete and not any(each.id in values_by_update for each in later)
    values = _last_values(until_update, values_by_update)
    if values is None:
        values = current_values if is_unchanged_since else _VALUES_UNKNOWN
    values_before = _last_values(before, values_by_update)
    if values_before is None:
        # No update since then set values, so the current ones held before it, too.
        values_before = current_values if is_unchanged_since and update.id not in values_by_update else _VALUES_UNKNOWN
    version = update.parameter(_VERSION)
    if not version and not any(each.parameter(_VERSION) for each in later):
        version = current_version
    version_before = next((parameter for each in reversed(before) if (parameter := each.parameter(_VERSION))), "")
    update_starts = tuple(each.begun for each in successful if each.begun is not None)
    succeeded_with_none = update.status == _SUCCESSFUL and update.parameter("ResolveConflicts") == Mode.NONE.value
    return UpdateVersions(
        version_before, version, values_before, values, update_starts, is_complete, succeeded_with_none
    )


_VALUES_UNKNOWN = Unknown("no update that EKS tells of says which configuration values held then")


def _is_fully_known(history: UpdateHistory) -> bool:
    return not any(isinstance(each, Unknown) for each in history.updates)


def _last_values(updates: list[EksAddonUpdate], values_by_update: object) -> Doc | Unknown | None:
    if not isinstance(values_by_update, dict):
        return None
    return next((values_by_update[each.id] for each in reversed(updates) if each.id in values_by_update), None)


def image_version(template: Doc, name: str) -> str:
    """The image tag of the container that has the object's name; EKS tags it with the add-on's version. "" if there is
    none."""
    containers = nested_field(template, "spec", "containers")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and container.get("name") == name and isinstance(container.get("image"), str):
            tag: str = container["image"].rpartition("/")[2].partition("@")[0].partition(":")[2]
            return tag.replace("-minimal", "")
    return ""
