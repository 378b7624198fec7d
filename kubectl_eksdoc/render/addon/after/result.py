"""Past updates as ``-o json`` and ``-o yaml`` print them. What is not known is null and is told as a finding; what is
nowhere is absent."""

from __future__ import annotations

from typing import Any, Literal

from kubectl_eksdoc.addon_diff.aftermath import facts as past
from kubectl_eksdoc.addon_diff.aftermath.causes import Cause
from kubectl_eksdoc.addon_diff.aftermath.timeline import Step, Untold
from kubectl_eksdoc.addon_diff.merging import MISSING
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.asked import Confidence, Unknown
from kubectl_eksdoc.model.aws import addons
from kubectl_eksdoc.model.aws.configuration import shown
from kubectl_eksdoc.render.addon import commands
from kubectl_eksdoc.render.addon.after import words
from kubectl_eksdoc.render.addon.after.view import AfterView
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.result import (
    UNSET,
    Count,
    FindingResult,
    Moment,
    ObjectResult,
    Positive,
    Printed,
    Text,
    Texts,
    UnsetType,
)

_Values = dict[str, Any]


class _Error(Printed):
    code: str
    message: str


class _Update(Printed):
    """What EKS was asked to do."""

    id: Text
    status: Text
    begun: Moment | None
    parameters: dict[str, str]
    """As EKS names them: AddonVersion, ResolveConflicts …"""
    errors: tuple[_Error, ...]

    @classmethod
    def of(cls, facts: addons.Update) -> _Update:
        given = {name: commands.printed_text(text) for name, text in sorted(facts.parameters)}
        return cls.filled(facts, parameters=given)


class _Field(Printed):
    path: Text
    """As EKS writes it in a conflict."""
    cause: Cause
    """lost: another client's value gave way to EKS's. version: EKS's own did. values: the configuration values of the
    update set it."""
    why: Text
    confidence: Confidence
    state: past.State
    """What is there now: what EKS set, the value before the update, or what another client has set since."""
    owners: Texts
    """Field managers that have it today."""
    configuration: Text | None
    """Where it is in configuration values; null where nothing there leads to it."""
    before: Any | UnsetType
    """Before the update; absent where nothing was there."""
    after: Any | UnsetType
    """After it; absent for nothing."""
    live: Any | UnsetType
    """Now; absent for nothing."""

    @classmethod
    def of(cls, facts: past.ChangedField) -> _Field:
        there = {"before": facts.before, "after": facts.after, "live": facts.live}
        return cls.filled(
            facts,
            path=str(facts.field).partition(" - ")[2],
            cause=facts.because.cause,
            why=facts.because.why,
            confidence=facts.because.sure,
            configuration=shown(facts.config) if facts.config else None,
            **{name: UNSET if value is MISSING else facts.field.printed(value) for name, value in there.items()},
        )


class _Revisions(Printed):
    before: int
    after: int


class _Now(Printed):
    """The patch that gives back what was lost, and nothing else."""

    patch: _Values
    """A strategic merge patch."""
    command: Text
    pods: Count | None
    """How many pods it replaces."""
    at_a_time: int | Text | None
    """maxUnavailable."""
    waits_for_deletion: bool
    """updateStrategy OnDelete: nothing replaces them by itself."""


def _now(each: past.Templated, context: str) -> _Now | None:
    if each.patch is None:
        return None
    rollout = each.rollout
    return _Now.filled(
        patch=printed(each.patch),
        command=words.patch_command(each, context),
        pods=rollout and rollout.pods,
        at_a_time=rollout and rollout.at_a_time,
        waits_for_deletion=rollout is not None and rollout.waits,
    )


class _Template(Printed):
    object: ObjectResult
    changed: bool | None
    """Whether the update changed the pod template; null if that is not known."""
    before: Positive | None
    """Number of the revision that was in force before; null where nothing changed, or it is not known."""
    after: Positive | None
    why: Text
    candidates: tuple[_Revisions, ...]
    """Where it is not known: the steps that it may have been."""
    fields: tuple[_Field, ...]
    now: _Now | None
    """Null where nothing is to be given back, or no patch does it."""


def _template(each: past.Templated, context: str) -> _Template:
    step = each.step
    candidates = step.candidates if isinstance(step, Untold) else ()
    return _Template.filled(
        object=each.of,
        changed=None if isinstance(step, Untold) else isinstance(step, Step),
        before=step.before.number if isinstance(step, Step) else None,
        after=step.after.number if isinstance(step, Step) else None,
        why=step.why,
        candidates=(_Revisions.filled(before=before, after=after) for before, after in candidates),
        fields=each.changes,
        now=_now(each, context),
    )


class _WithoutHistory(Printed):
    object: ObjectResult
    written: Text | None
    """When eks wrote the object last; null if that is not noted."""
    fields: Texts
    last_applied: _Values | UnsetType
    """What kubectl apply sent last, whenever that was; absent where nothing is noted."""

    @classmethod
    def of(cls, facts: past.Unrecorded) -> _WithoutHistory:
        return cls.filled(
            object=facts.of,
            written=facts.when,
            fields=(str(field).partition(" - ")[2] for field in facts.fields),
            last_applied=printed(facts.applied),
        )


class _Pods(Printed):
    field: Text
    recreate: Texts | None
    """By namespace/name; null if it is not known which."""
    why: Text
    source: Text | None
    confidence: Confidence

    @classmethod
    def of(cls, facts: past.Recreating) -> _Pods:
        return cls.filled(facts, recreate=facts.pods, why=facts.says, confidence=facts.sure)


class _Later(Printed):
    """Configuration values that keep what was lost, tried as the next update with OVERWRITE."""

    values: _Values
    keeps: Texts
    cannot_keep: Texts
    """Fields to which no value leads."""
    refused: Texts | None
    """What of the values the schema does not allow; null if that is unknown."""
    command: Text | None
    """Null where the values keep nothing, or EKS would refuse them."""


def later(found: past.Aftermath) -> _Later | None:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return None
    return _Later.filled(
        values=printed(way.values),
        keeps=(str(change.field) for change in way.keeps),
        cannot_keep=(str(change.field) for change in way.cannot),
        refused=way.broken,
        command=commands.update_addon(plan, way) if way.usable else None,
    )


class _Addon(Printed):
    """One add-on's past update."""

    name: Text
    version: Text
    """The one that is installed."""
    verdict: Text
    update: _Update | None
    """Null where none is known."""
    other_updates: Count | None
    """How many more EKS lists, of which nothing was asked; null if they may not be listed."""
    values: _Values | None
    """The configuration values of today; null if they cannot be read."""
    templates: tuple[_Template, ...]
    without_history: tuple[_WithoutHistory, ...]
    """What EKS wrote with the update or since, and of which the API keeps nothing earlier."""
    pods: tuple[_Pods, ...]
    later: _Later | None
    """Null where nothing was lost, or nothing takes it again."""


def _addon(found: past.Aftermath, context: str) -> _Addon:
    now, update, history = found.facts.now, found.facts.update, found.facts.history
    return _Addon.filled(
        name=now.addon.name,
        version=now.now.version,
        verdict=words.verdict(found),
        update=update if isinstance(update, addons.Update) else None,
        other_updates=history.unseen if isinstance(history, addons.UpdateHistory) else None,
        values=now.values if isinstance(now.values, Unknown) else printed(now.values),
        templates=(_template(each, context) for each in found.templated),
        without_history=found.unrecorded,
        pods=found.recreating,
        later=later(found),
    )


class AftermathResult(CommandResult):
    """What past updates of EKS add-ons have changed: kubectl eksdoc addon-diff --after -o json."""

    kind: Literal["AddonAftermath"]
    recognised: Text | None
    """How it is known that AWS describes the cluster that was read."""
    addons: tuple[_Addon, ...]
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: AfterView) -> AftermathResult:
        return cls.filled(
            facts,
            metadata=metadata(facts.cluster, facts),
            addons=(_addon(found, facts.cluster.identity.context) for found in facts.found),
            findings=(each for found in facts.found for each in found.findings),
        )
