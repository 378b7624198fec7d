"""What a past update is judged by, and what is found out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from kubectl_eksdoc.addon_diff.aftermath.causes import Cause, ChangeReason
from kubectl_eksdoc.addon_diff.aftermath.timeline import TemplateUpdateStep, UnknownRevision, Untouched
from kubectl_eksdoc.addon_diff.facts import AddonFacts
from kubectl_eksdoc.addon_diff.fields import AddonField
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.asked import Absent, Confidence, Unknown
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.aws.configuration import Path as ConfigPath
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.pods import Pod


@dataclass(frozen=True, slots=True)
class PastFacts:
    """`now` is the add-on as it is, its target the version that is installed. `kept`: by the kind of what has a pod
    template, all objects of its namespace in which earlier ones are kept. `applied`: by object, what ``kubectl apply``
    sent last, as it notes it there itself."""

    now: AddonFacts
    update: EksAddonUpdate | Unknown | Absent
    history: UpdateHistory | Unknown
    kept: Mapping[str, tuple[Doc, ...] | Unknown]
    pods: tuple[Pod, ...] = ()
    applied: Mapping[ObjectName, Doc] = field(default_factory=dict)


class State(str, Enum):
    """What stands now where an update has changed a field."""

    GONE = "gone"  # what the update set, or what EKS has set since
    BACK = "back"  # what stood there before the update
    OTHER = "other"  # what somebody has set since


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TemplateRollout:
    """What replaces the pods of an object when its template changes. `waits`: nobody does, until each is deleted
    (OnDelete). `behind` are pods of an earlier template than the newest, None where that cannot be told."""

    pods: int | None
    at_a_time: int | str
    waits: bool = False
    behind: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class UnrecordedFields:
    """What the API keeps no history of: `fields` that only EKS has, in an object (or a part of one) that it wrote
    `when`, with the update or later. `applied` is what ``kubectl apply`` sent last, None if nothing says."""

    of: ObjectName
    fields: tuple[AddonField, ...]
    when: str
    applied: Doc | None = None


@dataclass(frozen=True, slots=True)
class Recreating:
    """Whether pods that run keep what they got while `field` was lost. `pods` by ``namespace/name``: to be recreated;
    () for none."""

    field: AddonField
    pods: tuple[str, ...] | Unknown
    says: str
    source: str
    sure: Confidence


@dataclass(frozen=True, slots=True)
class EarlierUpdate:
    """An update before the one that is looked back on, and what it took that is `missed` still."""

    update: EksAddonUpdate
    begun: datetime
    missed: tuple[ChangedField, ...]


@dataclass(frozen=True, slots=True)
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
