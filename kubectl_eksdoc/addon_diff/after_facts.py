"""What a past update is judged by, and what is found out of it."""

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
    """`now` is the add-on as it is, its target the version that is installed. `kept`: by the kind of what has a pod
    template, all objects of its namespace in which earlier ones are kept."""

    now: AddonFacts
    update: EksAddonUpdate | Unknown | Absent
    history: UpdateHistory | Unknown
    kept: Mapping[str, tuple[Doc, ...] | Unknown]


class State(str, Enum):
    """What stands now where an update has changed a field."""

    GONE = "gone"  # what the update set, or what EKS has set since
    BACK = "back"  # what stood there before the update
    OTHER = "other"  # what somebody has set since


@frozen
class ChangedField:
    """`before` and `after` the update, and `live`; `MISSING` for nothing. `owners` are who has it today; `config`:
    where it stands in configuration values, () if nowhere. `wanted`: what gives it back now: `before`, or of a list
    that is one value, `before` merged with what the version itself changed; None where that is not known."""

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
        """By the update, whatever became of it since."""
        return self.because.cause is Cause.LOST

    @property
    def missed(self) -> bool:
        """It was lost, and is not back."""
        return self.lost and self.state is State.GONE


@frozen
class TemplateRollout:
    """What replaces the pods of an object when its template changes. `waits`: nobody does, until each is deleted
    (OnDelete)."""

    pods: int | None
    at_a_time: int | str
    waits: bool = False


@frozen
class Templated:
    """An object with a pod template. `patch` gives back what is missed, None where nothing is, or no patch does;
    `cannot` are fields that are missed and to which no patch leads."""

    of: ObjectName
    step: TemplateUpdateStep | Untouched | UnknownRevision
    changes: tuple[ChangedField, ...] = ()
    patch: Doc | None = None
    cannot: tuple[AddonField, ...] = ()
    rollout: TemplateRollout | None = None
    unreadable: tuple[str, ...] = ()


@frozen
class UnrecordedFields:
    """What the API keeps no history of: `fields` that only EKS has, in an object (or a part of one) that it wrote
    `when`, with the update or later."""

    of: ObjectName
    fields: tuple[AddonField, ...]
    when: str


@frozen
class Recreating:
    """Whether pods that run keep what they got while `field` was lost. `pods` by ``namespace/name``: to be recreated;
    () for none."""

    field: AddonField
    pods: tuple[str, ...] | Unknown
    says: str
    source: str
    sure: Confidence


@frozen
class EarlierUpdate:
    """An update before the one that is looked back on, and what it took that is `missed` still."""

    update: EksAddonUpdate
    begun: datetime
    missed: tuple[ChangedField, ...]


@frozen
class UpdateReview:
    """`keeping`: the next update with OVERWRITE, foretold on the objects with everything back; its way out are the
    values that keep what was lost. None where nothing is known of the update."""

    facts: PastFacts
    templated: tuple[Templated, ...] = ()
    unrecorded: tuple[UnrecordedFields, ...] = ()
    recreating: tuple[Recreating, ...] = ()
    keeping: AddonPlan | None = None
    findings: tuple[Finding, ...] = ()
    earlier: tuple[EarlierUpdate, ...] = ()

    @property
    def lost(self) -> tuple[ChangedField, ...]:
        """By object and field."""
        return tuple(change for each in self.templated for change in each.changes if change.lost)


# What an update may have changed where the API keeps no history: ConfigMaps, ServiceAccounts, and whatever of a
# workload stands outside its pod template.
#
# When `eks` wrote an object last is noted in its managedFields, and no more than that.


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


def unrecorded(now: AddonFacts, begun: datetime) -> tuple[UnrecordedFields, ...]:
    """Of each object that EKS has written since the update began: the fields that nobody but EKS has now, and that
    neither configuration values nor the add-on's role declare."""
    found = (_of(live, now, begun) for live in now.objects)
    return tuple(each for each in found if each is not None)


def _of(live: Doc, now: AddonFacts, begun: datetime) -> UnrecordedFields | None:
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
    """Without a time it may have been at any."""
    try:
        return moment(text).timestamp()
    except ValueError:
        return float("inf")


# Which version and configuration values an add-on had before an update and since, by what EKS tells of updates.


_VERSION, _VALUES = "AddonVersion", "ConfigurationValues"
_DONE = "Successful"
_NEVER = datetime(1, 1, 1, tzinfo=timezone.utc)


@frozen
class UpdateVersions:
    """`was` and `version`: before the update and since, "" if that is not known. `values_before` and `values` likewise.
    `begun`: when each update that succeeded began; `whole`: nothing is missing of what EKS lists. `gently`: it
    was asked for with NONE, and succeeded."""

    was: str
    version: str
    values_before: Doc | Unknown
    values: Doc | Unknown
    begun: tuple[datetime, ...]
    whole: bool
    gently: bool = False


def course(update: EksAddonUpdate, facts: PastFacts) -> UpdateVersions:
    """Version and values of today are those since the update if no later one changed them."""
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
        # Nobody gave any, with this update or after it: today's are those of before, too.
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
    """The tag of the image of the container that is called as its object, which EKS tags with the add-on's version; ""
    where there is none."""
    containers = at(template, "spec", "containers")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and container.get("name") == name and isinstance(container.get("image"), str):
            tag: str = container["image"].rpartition("/")[2].partition("@")[0].partition(":")[2]
            return tag.replace("-minimal", "")
    return ""
