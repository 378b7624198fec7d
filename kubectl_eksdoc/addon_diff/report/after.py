"""Report of past add-on updates: the reset fields, the patch to restore them, the values to keep them, pods to
recreate.

A wide page lists all changed fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import redact_value
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory, format_path
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Absent, Confidence, Unknown
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    FindingList,
    Footer,
    Heading,
    Line,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.result import (
    UNSET,
    Count,
    FindingResult,
    ObjectResult,
    PositiveCount,
    Printed,
    Text,
    Texts,
    Timestamp,
    UnsetType,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    TableData,
    Title,
    Tone,
    as_columns,
    name_column,
    pluralize,
    rfc3339,
    text_column,
)

from ..fields import MISSING, value_text
from ..past_update_causes import ChangeCause
from ..past_update_facts import (
    ChangedField,
    FieldState,
    PodsToRecreate,
    UnrecordedFields,
    UpdateReview,
    WorkloadReview,
)
from ..revisions import TemplateUpdateStep, UnknownRevision
from . import update as commands
from .update import BLANK, short_field_name, terraform_lines

# A past update in sentences, and the commands that restore its losses.


def verdict(review: UpdateReview) -> str:
    """``vpc-cni: the update of 2026-10-17T08:11:00Z to v1.19.5-eksbuild.1 with OVERWRITE took 1 field …``."""
    name, update = review.facts.addon_facts.addon.name, review.facts.update
    if isinstance(update, Unknown):
        return f"{name}: it is not known how it was updated"
    if isinstance(update, Absent):
        return f"{name}: EKS tells of no update of it"
    still_lost = sum(len(each.lost_changes) for each in review.earlier_updates)
    earlier = (
        f"; {pluralize(still_lost, 'field')} that an earlier one took {_is_or_are(still_lost)} not back"
        if still_lost
        else ""
    )
    version, mode = update.parameter("AddonVersion"), update.parameter("ResolveConflicts")
    date = f" of {rfc3339(update.begun)}" if update.begun is not None else ""
    target = f" to {version}" if version else ""
    return f"{name}: the update{date}{target} with {mode or 'NONE, as none was named,'} {_effect(review)}{earlier}"


def _effect(review: UpdateReview) -> str:
    lost_changes, still_lost = review.lost_fields, [change for change in review.lost_fields if change.is_still_lost]
    has_unknowns = any(each.status is Status.UNKNOWN for each in review.findings)
    if lost_changes:
        effect = f"took {pluralize(len(lost_changes), 'field')} that another client had set"
        if not still_lost:
            return f"{effect}; {'it was' if len(lost_changes) == 1 else 'all of them were'} set again since"
        return (
            effect
            if len(still_lost) == len(lost_changes)
            else f"{effect}; {len(still_lost)} of them {_is_or_are(len(still_lost))} not back"
        )
    effect = "reset nothing that is known to be set by another client"
    return f"{effect}, but not all of it is known" if has_unknowns else effect


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def _update_facts(review: UpdateReview) -> Iterator[str]:
    """More facts of the update, in sentences."""
    update, history = review.facts.update, review.facts.history
    if not isinstance(update, EksAddonUpdate):
        return
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    updates = (each for each in listed if isinstance(each, EksAddonUpdate))
    later = [each for each in updates if update.begun and each.begun and each.begun > update.begun]
    status = f"Update {update.id}: {update.status}"
    yield status + (
        f"; {'; '.join(f'{each.code}: {each.message}' for each in update.errors)}" if update.errors else "."
    )
    if later:
        yield f"{pluralize(len(later), 'update')} came after it."
    if isinstance(history, UpdateHistory) and history.unseen:
        yield f"EKS lists {pluralize(history.unseen, 'update')} more, which were not checked."
    yield from map(_template_text, review.workloads)


def _template_text(workload: WorkloadReview) -> str:
    step = workload.step
    if isinstance(step, TemplateUpdateStep):
        basis = f"{step.reason}; confidence: {step.confidence.value}"
        return (
            f"{workload.object_ref}: its pod template went from revision {step.before.number} to "
            f"{step.after.number} ({basis})."
        )
    if isinstance(step, UnknownRevision):
        return f"{workload.object_ref}: the result for its pod template is unknown: {step.reason}."
    return f"{workload.object_ref}: its pod template stayed as it was: {step.reason}."


def _rollout_text(workload: WorkloadReview) -> str:
    """The effect of the patch on the workload's pods, a sentence; "" if unknown."""
    rollout = workload.rollout
    if rollout is None:
        return ""
    if rollout.is_on_delete:
        return "Its pods are replaced only when each of them is deleted (updateStrategy OnDelete)."
    pods = "its pods" if rollout.pods is None else f"its {pluralize(rollout.pods, 'pod')}"
    per_node = ", one on each node" if workload.object_ref.kind == "DaemonSet" else ""
    return f"It replaces {pods}{per_node}, {rollout.at_a_time} at a time: none of them has to be deleted."


_OWNERSHIP_NOTE = (
    "The client that sends it then owns these fields: the next update with OVERWRITE takes them "
    "again, unless the configuration values hold them."
)


def _recreation_text(pods: PodsToRecreate) -> str:
    """``DISABLE_TCP_EARLY_DEMUX (init): none; …``."""
    field = short_field_name(pods.field)
    if isinstance(pods.pods, Unknown):
        return f"{field}: not known: {pods.pods.why}."
    pod_names = ", ".join(pods.pods) if pods.pods else "none"
    return f"{field}: {pod_names}; {pods.says} ({pods.source}; confidence: {pods.sure.value})."


@frozen
class AfterReport(CommandReport):
    """`reviews` in the order of the add-ons; `kubectl`: the kubectl command with the flags of the cluster that was
    read."""

    noun_phrase = "an add-on's past update"

    reviews: tuple[UpdateReview, ...]
    cluster: Cluster
    kubectl: tuple[str, ...] = ()

    def sections(self, full: bool) -> Iterator[Section]:
        for review in self.reviews:
            yield Heading(verdict(review), tuple(_update_facts(review)))
            changed = (change for workload in review.workloads for change in workload.changes)
            shown = (change for change in changed if full or change.because.cause in _CAUSE_TONES)
            yield Table(
                Title("What the update changed" if full else "What the update took"),
                _field_table(shown, full),
                "fields",
            )
            yield FindingList(review.findings, show_subject=False)
            for workload in review.workloads:
                command = commands.patch_command(workload, self.kubectl)
                if command:
                    notes = (flush_left(text) for text in (_rollout_text(workload), _OWNERSHIP_NOTE) if text)
                    title = Title("Now", ": the patch that gives it back, and changes nothing else")
                    yield TextBlock(title, [verbatim_line(command), BLANK, *notes])
            yield TextBlock(Title("Later", ": configuration values that keep it"), list(_values_lines(review, full)))
            yield TextBlock("Pods to recreate", list(map(_recreation_text, review.pods_to_recreate)))
        yield Footer("With evidence, and what the version itself changed: -o wide; for a program: -o json")

    def result(self) -> object:
        return AftermathResult.from_facts(
            self,
            addons=(_addon_result(review, self.kubectl) for review in self.reviews),
            findings=(each for review in self.reviews for each in review.findings),
        )


_CAUSE_TONES = {ChangeCause.LOST: Tone.BAD, ChangeCause.UNKNOWN: Tone.UNKNOWN}
_STATE_CELLS = {
    FieldState.GONE: Cell("not back", Tone.BAD),
    FieldState.BACK: Cell("back", Tone.GOOD),
    FieldState.OTHER: Cell("otherwise", Tone.WARN),
}


def _field_table(changes: Iterable[ChangedField], full: bool) -> TableData:
    columns = as_columns(
        name_column("FIELD", 24),
        text_column("BEFORE", 8),
        text_column("AFTER", 8),
        text_column("NOW", 8),
        text_column("SET BY", 8, drop_order=2),
        text_column("STATE", 4),
        Column("SURE", drop_order=1),
        *(["WHY"] if full else []),
    )
    rows: list[Row] = []
    for change in changes:
        texts = (change.field.redacted(value) for value in (change.before, change.after, change.live))
        cause, reason, confidence = change.because.cause, change.because.why, change.because.sure
        rows.append(
            [
                short_field_name(change.field),
                # In full if there is room, except texts of several lines.
                *(f'"{v}"' if full and isinstance(v, str) and "\n" not in v else value_text(v) for v in texts),
                ", ".join(change.owners) or "nobody",
                _STATE_CELLS[change.state] if change.is_lost else Cell(cause.value, _CAUSE_TONES.get(cause)),
                confidence.value,
                *([reason] if full else []),
            ]
        )
    return columns, rows


def _values_lines(review: UpdateReview, full: bool) -> Iterator[Line]:
    plan = review.next_update
    proposed = plan.way_out if plan is not None else None
    if plan is None or proposed is None or not review.lost_fields:
        return
    lost_fields = {change.field for change in review.lost_fields}
    kept_changes = [change for change in proposed.keeps if change.field in lost_fields]
    if not proposed.is_usable or not kept_changes:
        yield flush_left("No configuration values that are known here keep what was lost.")
        return
    yield verbatim_line(commands.proposed_command(plan, proposed))
    yield BLANK
    other_count = len(proposed.keeps) - len(kept_changes)
    text = f"They keep {pluralize(len(kept_changes), 'field')} that the update took"
    text += f", and {other_count} more that the next one would take." if other_count else "."
    if any(change.is_still_lost for change in review.lost_fields):
        text += " Set now, they restore it without a patch, as soon as EKS applies them."
    yield flush_left(text)
    yield from terraform_lines(plan, proposed) if full else ()


# Past updates as ``-o json`` and ``-o yaml`` print them. An unknown value is null and has a finding; a missing value is
# absent.


class _Error(Printed):
    code: str
    message: str


class _Update(Printed):
    """The request to EKS."""

    id: Text
    status: Text
    begun: Timestamp | None
    parameters: dict[str, str]
    """In EKS's names: AddonVersion, ResolveConflicts …"""
    errors: tuple[_Error, ...]

    @classmethod
    def of(cls, facts: EksAddonUpdate) -> _Update:
        parameters = {name: commands.redacted_text(text) for name, text in sorted(facts.parameters)}
        return cls.from_facts(facts, parameters=parameters)


class _Field(Printed):
    called = {"path": "field.said", "cause": "because.cause", "why": "because.why", "confidence": "because.sure"}

    path: Text
    """In EKS's notation, as in a conflict message."""
    cause: ChangeCause
    """lost: EKS's value replaced that of another client. version: EKS's new value replaced its old one. values: the
    configuration values of the update set the field."""
    why: Text
    confidence: Confidence
    state: FieldState
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
        values = {"before": facts.before, "after": facts.after, "live": facts.live}
        return cls.from_facts(
            facts,
            configuration=format_path(facts.config) if facts.config else None,
            **{name: UNSET if value is MISSING else facts.field.redacted(value) for name, value in values.items()},
        )


class _Patch(Printed):
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


def _patch_result(workload: WorkloadReview, kubectl: tuple[str, ...]) -> _Patch | None:
    if workload.patch is None:
        return None
    rollout = workload.rollout
    return _Patch.from_facts(
        patch=redact_value(workload.patch),
        command=commands.patch_command(workload, kubectl),
        pods=rollout and rollout.pods,
        at_a_time=rollout and rollout.at_a_time,
        waits_for_deletion=rollout is not None and rollout.is_on_delete,
    )


class _Template(Printed):
    object: ObjectResult
    changed: bool | None
    """The update changed the pod template; null if unknown."""
    before: PositiveCount | None
    """Number of the revision in force before the update; null if nothing changed, or it is unknown."""
    after: PositiveCount | None
    why: Text
    fields: tuple[_Field, ...]
    now: _Patch | None
    """Null if there is nothing to restore, or no patch restores it."""


def _template_result(workload: WorkloadReview, kubectl: tuple[str, ...]) -> _Template:
    step = workload.step
    update = step if isinstance(step, TemplateUpdateStep) else None
    return _Template.from_facts(
        object=workload.object_ref,
        changed=None if isinstance(step, UnknownRevision) else update is not None,
        before=update and update.before.number,
        after=update and update.after.number,
        why=step.reason,
        fields=workload.changes,
        now=_patch_result(workload, kubectl),
    )


class _WithoutHistory(Printed):
    object: ObjectResult
    written: Text | None
    """When eks last wrote the object; null if it is not recorded."""
    fields: Texts

    @classmethod
    def of(cls, facts: UnrecordedFields) -> _WithoutHistory:
        return cls.from_facts(
            object=facts.object_ref,
            written=facts.written_at,
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


class _Values(Printed):
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


def _values_result(review: UpdateReview) -> _Values | None:
    plan = review.next_update
    proposed = plan.way_out if plan is not None else None
    if plan is None or proposed is None or not review.lost_fields:
        return None
    return _Values.from_facts(
        proposed,
        values=redact_value(proposed.values),
        command=commands.proposed_command(plan, proposed) if proposed.is_usable else None,
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
    later: _Values | None
    """Null if nothing was lost, or the next update does not reset it."""


def _addon_result(review: UpdateReview, kubectl: tuple[str, ...]) -> _Addon:
    facts, update, history = review.facts.addon_facts, review.facts.update, review.facts.history
    return _Addon.from_facts(
        name=facts.addon.name,
        version=facts.current.version,
        verdict=verdict(review),
        update=update if isinstance(update, EksAddonUpdate) else None,
        other_updates=history.unseen if isinstance(history, UpdateHistory) else None,
        values=facts.values if isinstance(facts.values, Unknown) else redact_value(facts.values),
        templates=(_template_result(each, kubectl) for each in review.workloads),
        without_history=review.unrecorded,
        pods=review.pods_to_recreate,
        later=_values_result(review),
    )


class AftermathResult(CommandResult):
    """What past updates of EKS add-ons have changed: kubectl eksdoc addon-diff --after -o json."""

    kind: Literal["AddonAftermath"]
    recognised: Text | None
    """Evidence that the AWS cluster is the one that was read."""
    addons: tuple[_Addon, ...]
    findings: tuple[FindingResult, ...]
