"""Report of past add-on updates: the reset fields, the patch to restore them, the values to keep them, pods to
recreate.

A wide page lists all changed fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory, shown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Absent, Confidence, Unknown
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Foot,
    Head,
    Line,
    Lines,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.result import (
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
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    rfc3339,
    text_column,
)

from ..after_causes import Cause
from ..after_facts import (
    ChangedField,
    Recreating,
    State,
    Templated,
    UnrecordedFields,
    UpdateReview,
)
from ..fields import MISSING, value_of
from ..revisions import TemplateUpdateStep, UnknownRevision
from . import update as commands
from .update import BLANK, named, of_terraform

# A past update in sentences, and the commands that restore its losses.


def verdict(found: UpdateReview) -> str:
    """``vpc-cni: the update of 2026-10-17T08:11:00Z to v1.19.5-eksbuild.1 with OVERWRITE took 1 field …``."""
    name, update = found.facts.now.addon.name, found.facts.update
    if isinstance(update, Unknown):
        return f"{name}: it is not known how it was updated"
    if isinstance(update, Absent):
        return f"{name}: EKS tells of no update of it"
    missed = sum(len(each.missed) for each in found.earlier)
    before = f"; {counted(missed, 'field')} that an earlier one took {_is(missed)} not back" if missed else ""
    version, mode = update.parameter("AddonVersion"), update.parameter("ResolveConflicts")
    when = f" of {rfc3339(update.begun)}" if update.begun is not None else ""
    to = f" to {version}" if version else ""
    return f"{name}: the update{when}{to} with {mode or 'NONE, as none was named,'} {_did(found)}{before}"


def _did(found: UpdateReview) -> str:
    lost, missed = found.lost, [change for change in found.lost if change.missed]
    unknown = any(each.status is Status.UNKNOWN for each in found.findings)
    if lost:
        took = f"took {counted(len(lost), 'field')} that another client had set"
        if not missed:
            return f"{took}; {'it was' if len(lost) == 1 else 'all of them were'} set again since"
        return took if len(missed) == len(lost) else f"{took}; {len(missed)} of them {_is(len(missed))} not back"
    took = "reset nothing that is known to be set by another client"
    return f"{took}, but not all of it is known" if unknown else took


def _is(many: int) -> str:
    return "is" if many == 1 else "are"


def _about(found: UpdateReview) -> Iterator[str]:
    """More facts of the update, in sentences."""
    update, history = found.facts.update, found.facts.history
    if not isinstance(update, EksAddonUpdate):
        return
    known = history.updates if isinstance(history, UpdateHistory) else ()
    updates = (each for each in known if isinstance(each, EksAddonUpdate))
    later = [each for each in updates if update.begun and each.begun and each.begun > update.begun]
    said = f"Update {update.id}: {update.status}"
    yield said + (f"; {'; '.join(f'{each.code}: {each.message}' for each in update.errors)}" if update.errors else ".")
    if later:
        yield f"{counted(len(later), 'update')} came after it."
    if isinstance(history, UpdateHistory) and history.unseen:
        yield f"EKS lists {counted(history.unseen, 'update')} more, which were not checked."
    yield from map(_step, found.templated)


def _step(each: Templated) -> str:
    step = each.step
    if isinstance(step, TemplateUpdateStep):
        sure = f"{step.why}; confidence: {step.sure.value}"
        return f"{each.of}: its pod template went from revision {step.before.number} to {step.after.number} ({sure})."
    if isinstance(step, UnknownRevision):
        return f"{each.of}: the result for its pod template is unknown: {step.why}."
    return f"{each.of}: its pod template stayed as it was: {step.why}."


def _rolls(each: Templated) -> str:
    """The effect of the patch on the workload's pods, a sentence; "" if unknown."""
    rollout = each.rollout
    if rollout is None:
        return ""
    if rollout.waits:
        return "Its pods are replaced only when each of them is deleted (updateStrategy OnDelete)."
    pods = "its pods" if rollout.pods is None else f"its {counted(rollout.pods, 'pod')}"
    on = ", one on each node" if each.of.kind == "DaemonSet" else ""
    return f"It replaces {pods}{on}, {rollout.at_a_time} at a time: none of them has to be deleted."


_OWNER = (
    "The client that sends it then owns these fields: the next update with OVERWRITE takes them "
    "again, unless the configuration values hold them."
)


def _to_recreate(rule: Recreating) -> str:
    """``DISABLE_TCP_EARLY_DEMUX (init): none; …``."""
    of = named(rule.field)
    if isinstance(rule.pods, Unknown):
        return f"{of}: not known: {rule.pods.why}."
    which = ", ".join(rule.pods) if rule.pods else "none"
    return f"{of}: {which}; {rule.says} ({rule.source}; confidence: {rule.sure.value})."


@frozen
class AfterReport(CommandReport):
    """`reviews` in the order of the add-ons; `kubectl`: the kubectl command with the flags of the cluster that was
    read."""

    of = "an add-on's past update"

    found: tuple[UpdateReview, ...]
    cluster: Cluster
    kubectl: tuple[str, ...] = ()

    def sections(self, full: bool) -> Iterator[Section]:
        for found in self.found:
            yield Head(verdict(found), tuple(_about(found)))
            changed = (change for each in found.templated for change in each.changes)
            seen = (change for change in changed if full or change.because.cause in _CAUSES)
            yield Table(
                Title("What the update changed" if full else "What the update took"), _changed(seen, full), "fields"
            )
            yield Findings(found.findings, named=False)
            for each in found.templated:
                command = commands.patch_command(each, self.kubectl)
                if command:
                    said = (flush(text) for text in (_rolls(each), _OWNER) if text)
                    title = Title("Now", ": the patch that gives it back, and changes nothing else")
                    yield Lines(title, [as_it_is(command), BLANK, *said])
            yield Lines(Title("Later", ": configuration values that keep it"), list(_kept(found, full)))
            yield Lines("Pods to recreate", list(map(_to_recreate, found.recreating)))
        yield Foot("With evidence, and what the version itself changed: -o wide; for a program: -o json")

    def result(self) -> object:
        return AftermathResult.filled(
            self,
            addons=(_addon(found, self.kubectl) for found in self.found),
            findings=(each for found in self.found for each in found.findings),
        )


_CAUSES = {Cause.LOST: Tone.BAD, Cause.UNKNOWN: Tone.UNKNOWN}
_STATES = {
    State.GONE: Cell("not back", Tone.BAD),
    State.BACK: Cell("back", Tone.GOOD),
    State.OTHER: Cell("otherwise", Tone.WARN),
}


def _changed(changed: Iterable[ChangedField], full: bool) -> Drawn:
    columns = columns_of(
        name_column("FIELD", 24),
        text_column("BEFORE", 8),
        text_column("AFTER", 8),
        text_column("NOW", 8),
        text_column("SET BY", 8, drop=2),
        text_column("STATE", 4),
        Column("SURE", drop=1),
        *(["WHY"] if full else []),
    )
    rows: list[Row] = []
    for change in changed:
        values = (change.field.printed(value) for value in (change.before, change.after, change.live))
        cause, why, sure = change.because.cause, change.because.why, change.because.sure
        rows.append(
            [
                named(change.field),
                # In full if there is room, except texts of several lines.
                *(f'"{v}"' if full and isinstance(v, str) and "\n" not in v else value_of(v) for v in values),
                ", ".join(change.owners) or "nobody",
                _STATES[change.state] if change.lost else Cell(cause.value, _CAUSES.get(cause)),
                sure.value,
                *([why] if full else []),
            ]
        )
    return columns, rows


def _kept(found: UpdateReview, full: bool) -> Iterator[Line]:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return
    lost = {change.field for change in found.lost}
    kept = [change for change in way.keeps if change.field in lost]
    if not way.usable or not kept:
        yield flush("No configuration values that are known here keep what was lost.")
        return
    yield as_it_is(commands.update_addon(plan, way))
    yield BLANK
    more = len(way.keeps) - len(kept)
    text = f"They keep {counted(len(kept), 'field')} that the update took"
    text += f", and {more} more that the next one would take." if more else "."
    if any(change.missed for change in found.lost):
        text += " Set now, they restore it without a patch, as soon as EKS applies them."
    yield flush(text)
    yield from of_terraform(plan, way) if full else ()


# Past updates as ``-o json`` and ``-o yaml`` print them. An unknown value is null and has a finding; a missing value is
# absent.


class _Error(Printed):
    code: str
    message: str


class _Update(Printed):
    """The request to EKS."""

    id: Text
    status: Text
    begun: Moment | None
    parameters: dict[str, str]
    """In EKS's names: AddonVersion, ResolveConflicts …"""
    errors: tuple[_Error, ...]

    @classmethod
    def of(cls, facts: EksAddonUpdate) -> _Update:
        given = {name: commands.printed_text(text) for name, text in sorted(facts.parameters)}
        return cls.filled(facts, parameters=given)


class _Field(Printed):
    called = {"path": "field.said", "cause": "because.cause", "why": "because.why", "confidence": "because.sure"}

    path: Text
    """In EKS's notation, as in a conflict message."""
    cause: Cause
    """lost: EKS's value replaced that of another client. version: EKS's new value replaced its old one. values: the
    configuration values of the update set the field."""
    why: Text
    confidence: Confidence
    state: State
    """The current state: EKS's value, the value before the update, or a value that another client has set since."""
    owners: Texts
    """The current field managers."""
    configuration: Text | None
    """Path in the configuration values; null if there is none."""
    before: Any | UnsetType
    """Before the update; absent if there was no value."""
    after: Any | UnsetType
    """After the update; absent for no value."""
    live: Any | UnsetType
    """The live value; absent for none."""

    @classmethod
    def of(cls, facts: ChangedField) -> _Field:
        there = {"before": facts.before, "after": facts.after, "live": facts.live}
        return cls.filled(
            facts,
            configuration=shown(facts.config) if facts.config else None,
            **{name: UNSET if value is MISSING else facts.field.printed(value) for name, value in there.items()},
        )


class _Now(Printed):
    """The patch that restores the lost fields, and changes nothing else."""

    patch: dict[str, Any]
    """A strategic merge patch."""
    command: Text
    pods: Count | None
    """Number of pods that it replaces."""
    at_a_time: int | Text | None
    """maxUnavailable."""
    waits_for_deletion: bool
    """updateStrategy OnDelete: pods are replaced only when they are deleted."""


def _now(each: Templated, kubectl: tuple[str, ...]) -> _Now | None:
    if each.patch is None:
        return None
    rollout = each.rollout
    return _Now.filled(
        patch=printed(each.patch),
        command=commands.patch_command(each, kubectl),
        pods=rollout and rollout.pods,
        at_a_time=rollout and rollout.at_a_time,
        waits_for_deletion=rollout is not None and rollout.waits,
    )


class _Template(Printed):
    object: ObjectResult
    changed: bool | None
    """The update changed the pod template; null if unknown."""
    before: Positive | None
    """Number of the revision in force before the update; null if nothing changed, or it is unknown."""
    after: Positive | None
    why: Text
    fields: tuple[_Field, ...]
    now: _Now | None
    """Null if there is nothing to restore, or no patch restores it."""


def _template(each: Templated, kubectl: tuple[str, ...]) -> _Template:
    step = each.step
    update = step if isinstance(step, TemplateUpdateStep) else None
    return _Template.filled(
        object=each.of,
        changed=None if isinstance(step, UnknownRevision) else update is not None,
        before=update and update.before.number,
        after=update and update.after.number,
        why=step.why,
        fields=each.changes,
        now=_now(each, kubectl),
    )


class _WithoutHistory(Printed):
    object: ObjectResult
    written: Text | None
    """When eks last wrote the object; null if it is not recorded."""
    fields: Texts

    @classmethod
    def of(cls, facts: UnrecordedFields) -> _WithoutHistory:
        return cls.filled(
            object=facts.of,
            written=facts.when,
            fields=(field.said for field in facts.fields),
        )


class _Pods(Printed):
    called = {"recreate": "pods", "why": "says", "confidence": "sure"}

    field: Text
    recreate: Texts | None
    """As namespace/name; null if unknown."""
    why: Text
    source: Text | None
    confidence: Confidence


class _Later(Printed):
    """Configuration values that keep what was lost, predicted for the next update with OVERWRITE."""

    called = {"cannot_keep": "cannot", "refused": "broken"}

    values: dict[str, Any]
    keeps: Texts
    cannot_keep: Texts
    """Fields that no configuration value sets."""
    refused: Texts | None
    """Violations of the schema by the values; null if unknown."""
    command: Text | None
    """Null if the values keep no field, or EKS would refuse them."""


def _later(found: UpdateReview) -> _Later | None:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return None
    return _Later.filled(
        way,
        values=printed(way.values),
        command=commands.update_addon(plan, way) if way.usable else None,
    )


class _Addon(Printed):
    """The past update of one add-on."""

    name: Text
    version: Text
    """The installed version."""
    verdict: Text
    update: _Update | None
    """Null if none is known."""
    other_updates: Count | None
    """Number of further updates that EKS lists and that were not read; null if they cannot be listed."""
    values: dict[str, Any] | None
    """The current configuration values; null if they cannot be read."""
    templates: tuple[_Template, ...]
    without_history: tuple[_WithoutHistory, ...]
    """Objects that EKS wrote with the update or later, and for which the API keeps no history."""
    pods: tuple[_Pods, ...]
    later: _Later | None
    """Null if nothing was lost, or the next update does not reset it."""


def _addon(found: UpdateReview, kubectl: tuple[str, ...]) -> _Addon:
    now, update, history = found.facts.now, found.facts.update, found.facts.history
    return _Addon.filled(
        name=now.addon.name,
        version=now.now.version,
        verdict=verdict(found),
        update=update if isinstance(update, EksAddonUpdate) else None,
        other_updates=history.unseen if isinstance(history, UpdateHistory) else None,
        values=now.values if isinstance(now.values, Unknown) else printed(now.values),
        templates=(_template(each, kubectl) for each in found.templated),
        without_history=found.unrecorded,
        pods=found.recreating,
        later=_later(found),
    )


class AftermathResult(CommandResult):
    """What past updates of EKS add-ons have changed: kubectl eksdoc addon-diff --after -o json."""

    kind: Literal["AddonAftermath"]
    recognised: Text | None
    """Evidence that the AWS cluster is the one that was read."""
    addons: tuple[_Addon, ...]
    findings: tuple[FindingResult, ...]
