"""Facts of a past add-on update, and the result of its review."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of
from kubectl_eksdoc.kubernetes.document_diff import NONE, Path
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.model.addons import ConfigPath, EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, named
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Confidence, Unknown
from kubectl_eksdoc.simulator.store import moment

from .after_causes import Cause, ChangeReason
from .expected import EKS, config_of, owners_of
from .fields import MISSING, AddonField, leaves, value_at
from .plan import AddonPlan
from .prediction import AddonFacts, Mode
from .revisions import TemplateUpdateStep, UnknownRevision, Untouched


@frozen
class PastFacts:
    """`addon_facts`: the add-on now, with the installed version as its target. `revisions`: by the kind of the
    workload, all objects of its namespace that store earlier pod templates."""

    now: AddonFacts
    update: EksAddonUpdate | Unknown | Absent
    history: UpdateHistory | Unknown
    kept: Mapping[str, tuple[Doc, ...] | Unknown]


class State(str, Enum):
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
    state: State
    wanted: Any = None

    @property
    def lost(self) -> bool:
        """The update reset the field, whatever its current state."""
        return self.because.cause is Cause.LOST

    @property
    def missed(self) -> bool:
        """The update reset the field, and it is not restored."""
        return self.lost and self.state is State.GONE


@frozen
class TemplateRollout:
    """The rollout that follows a change of the pod template. `is_on_delete`: pods are replaced only when each is
    deleted (OnDelete)."""

    pods: int | None
    at_a_time: int | str
    waits: bool = False


@frozen
class Templated:
    """Review of a workload with a pod template. `patch` restores the fields that are still lost, None if there are none
    or no patch restores them; no patch restores the fields `not_restorable`."""

    of: ObjectName
    step: TemplateUpdateStep | Untouched | UnknownRevision
    changes: tuple[ChangedField, ...] = ()
    patch: Doc | None = None
    cannot: tuple[AddonField, ...] = ()
    rollout: TemplateRollout | None = None
    unreadable: tuple[str, ...] = ()


@frozen
class UnrecordedFields:
    """Fields without a history in the API: `fields` that only EKS owns, in an object (or a part of one) that EKS wrote
    at `written_at`, with the update or later."""

    of: ObjectName
    fields: tuple[AddonField, ...]
    when: str


@frozen
class Recreating:
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
    begun: datetime
    missed: tuple[ChangedField, ...]


@frozen
class UpdateReview:
    """`next_update`: the plan of another update with OVERWRITE on the restored objects; its proposed values keep what
    was lost. None if nothing is known about the update."""

    facts: PastFacts
    templated: tuple[Templated, ...] = ()
    unrecorded: tuple[UnrecordedFields, ...] = ()
    recreating: tuple[Recreating, ...] = ()
    keeping: AddonPlan | None = None
    findings: tuple[Finding, ...] = ()
    earlier: tuple[EarlierUpdate, ...] = ()

    @property
    def lost(self) -> tuple[ChangedField, ...]:
        """Sorted by object and field."""
        return tuple(change for each in self.templated for change in each.changes if change.lost)


# Changes that the API keeps no history of: ConfigMaps, ServiceAccounts, and workload fields outside the pod template.
# The managedFields only record when `eks` wrote an object last.


_BY_PEOPLE = (
    ("f:data",),
    ("f:metadata", "f:annotations"),
    ("f:spec", "f:replicas"),
    ("f:spec", "f:maxUnavailable"),
    ("f:spec", "f:minAvailable"),
    ("f:spec", "f:updateStrategy"),
    ("f:spec", "f:strategy"),
)
"""Fields that users edit by hand; labels belong to the chart."""


def unrecorded(now: AddonFacts, begun: datetime) -> tuple[UnrecordedFields, ...]:
    """For each object that EKS has written since the update began: the fields that only EKS owns, and that neither
    configuration values nor the add-on's role set."""
    found = (_of(live, now, begun) for live in now.objects)
    return tuple(each for each in found if each is not None)


def _of(live: Doc, now: AddonFacts, begun: datetime) -> UnrecordedFields | None:
    of = named(live)
    try:
        owners = owners_of(live)
    except MalformedEntries:
        return None  # the object has a finding already that it cannot be judged
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
    return UnrecordedFields(of, tuple(sorted(AddonField(of, path) for path in leaves)), mine.time)


def _is_by_people(path: Path) -> bool:
    return any(path[: len(each)] == each for each in _BY_PEOPLE)


def _is_declared(path: Path, of: ObjectName, now: AddonFacts, value: object, schema: Schema) -> bool:
    if now.addon.role and value == now.addon.role:
        return True
    config = config_of(now.addon.name, of, path, schema)
    values = {} if isinstance(now.values, Unknown) else now.values
    return bool(config) and any(config[: len(leaf.path)] == leaf.path for leaf in leaves(values))


def _moment(text: str) -> float:
    """Infinity for a missing time: the write may have been at any time."""
    try:
        return moment(text).timestamp()
    except ValueError:
        return float("inf")


# Version and configuration values before and after an update, by EKS's update records.


_VERSION, _VALUES = "AddonVersion", "ConfigurationValues"
_DONE = "Successful"
_NEVER = datetime(1, 1, 1, tzinfo=timezone.utc)


@frozen
class UpdateVersions:
    """`version_before` and `version`: before and after the update, "" if unknown; `values_before` and `values`
    likewise. `update_starts`: the start of each successful update; `is_complete`: all updates that EKS lists were read.
    `succeeded_with_none`: the mode was NONE, and the update succeeded."""

    was: str
    version: str
    values_before: Doc | Unknown
    values: Doc | Unknown
    begun: tuple[datetime, ...]
    whole: bool
    gently: bool = False


def course(update: EksAddonUpdate, facts: PastFacts) -> UpdateVersions:
    """The current version and values are those after the update if no later update changed them."""
    history, version_now, values_now = facts.history, facts.now.addon.version, facts.now.values
    known = history.updates if isinstance(history, UpdateHistory) else ()
    done = [
        each for each in known if isinstance(each, EksAddonUpdate) and (each.status == _DONE or each.id == update.id)
    ]
    if update.id not in {each.id for each in done}:
        done.append(update)
    done.sort(key=lambda each: each.begun or _NEVER)
    place = next(at for at, each in enumerate(done) if each.id == update.id)
    before, since, later = done[:place], done[: place + 1], done[place + 1 :]
    whole = isinstance(history, UpdateHistory) and not history.unseen and _all_known(history)
    given = history.values if isinstance(history, UpdateHistory) else {}
    never_after = whole and not any(each.id in given for each in later)
    values = _last_values(since, given)
    if values is None:
        values = values_now if never_after else _NOT_TOLD
    values_before = _last_values(before, given)
    if values_before is None:
        # No update since then set values, so the current ones held before it, too.
        values_before = values_now if never_after and update.id not in given else _NOT_TOLD
    version = update.parameter(_VERSION)
    if not version and not any(each.parameter(_VERSION) for each in later):
        version = version_now
    was = next((said for each in reversed(before) if (said := each.parameter(_VERSION))), "")
    begun = tuple(each.begun for each in done if each.begun is not None)
    gently = update.status == _DONE and update.parameter("ResolveConflicts") == Mode.NONE.value
    return UpdateVersions(was, version, values_before, values, begun, whole, gently)


_NOT_TOLD = Unknown("no update that EKS tells of says which configuration values held then")


def _all_known(history: UpdateHistory) -> bool:
    return not any(isinstance(each, Unknown) for each in history.updates)


def _last_values(done: list[EksAddonUpdate], given: object) -> Doc | Unknown | None:
    if not isinstance(given, dict):
        return None
    return next((given[each.id] for each in reversed(done) if each.id in given), None)


def version_in(template: Doc, name: str) -> str:
    """The image tag of the container that has the object's name; EKS tags it with the add-on's version. "" if there is
    none."""
    containers = at(template, "spec", "containers")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and container.get("name") == name and isinstance(container.get("image"), str):
            tag: str = container["image"].rpartition("/")[2].partition("@")[0].partition(":")[2]
            return tag.replace("-minimal", "")
    return ""
