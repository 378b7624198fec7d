"""Findings of a past add-on update."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import remedy_for

from .exposure import field_severity
from .fields import AddonField, effect_of, is_same_value, value_text
from .judging import field_name
from .past_update_causes import ChangeCause
from .past_update_facts import (
    ChangedField,
    EarlierUpdate,
    FieldState,
    PodsToRecreate,
    UnrecordedFields,
    UpdateReview,
    WorkloadReview,
)
from .prediction import Fate, FieldChange, FieldPrediction, Mode
from .revisions import UnknownRevision

_MAX_NAMES = 6
"""Maximum number of names in one sentence."""


def review_findings(review: UpdateReview) -> Iterator[Finding]:
    """Unsorted."""
    yield from _update_findings(review)
    if not isinstance(review.facts.update, EksAddonUpdate) or review.next_update is None:
        return
    yield from _unread_findings(review)
    for workload in review.workloads:
        yield from _template_findings(workload)
    for change in review.lost_fields:
        yield from _lost_field_findings(review, change)
    for earlier in review.earlier_updates:
        yield _earlier_update_finding(review, earlier)
    for fields in review.unrecorded:
        yield _unrecorded_finding(fields)
    for pods in review.pods_to_recreate:
        yield from _pod_findings(pods)


def _update_findings(review: UpdateReview) -> Iterator[Finding]:
    update, history, name = review.facts.update, review.facts.history, review.facts.addon_facts.addon.name
    addon = Subject("Addon", name)
    if isinstance(update, Unknown):
        lacking = update.missing or update.why
        yield Finding.of(
            "addon-update-untold/unknown",
            addon,
            (update.why,),
            remedy=(remedy_for(update),),
            addon=name,
            lacking=lacking,
        )
        return
    if isinstance(update, Absent):
        yield Finding.of("addon-update-untold/none", addon, (update.said,), addon=name)
        return
    if update.begun is None:
        yield Finding.of("addon-update-untold/begun", addon, update=update.id)
        return
    if update.status == "InProgress":
        yield Finding.of("addon-update-untold/under-way", addon, update=update.id)
    if isinstance(history, UpdateHistory) and history.unseen and _may_be_older(update, history, review):
        evidence = ("only the first few were asked for",)
        yield Finding.of("addon-update-untold/more", addon, evidence, count=history.unseen, addon=name)


def _may_be_older(update: EksAddonUpdate, history: UpdateHistory, review: UpdateReview) -> bool:
    """Whether an unread update may be later than this one. False if this one explains the add-on's last change by EKS's
    record, or if the user named an update before the latest one."""
    last_changed = review.facts.addon_facts.addon.changed
    starts = [each.begun for each in history.updates if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if update.begun is None or update.begun != max(starts, default=None):
        return False
    return last_changed is None or (last_changed - update.begun).total_seconds() > _MAX_UPDATE_S


_MAX_UPDATE_S = 3600
"""Seconds after which an add-on update has ended."""


def _unread_findings(review: UpdateReview) -> Iterator[Finding]:
    """Objects that could not be read or decoded. A remedy about the next version's manifest is replaced: it says
    nothing about a past update."""
    for finding in review.next_update.findings if review.next_update is not None else ():
        if finding.code.name == "addon-object-unread":
            is_about_next_version = any("--manifest" in remedy.text for remedy in finding.remedy)
            yield replace(finding, remedy=(Remedy.of("compare-objects"),)) if is_about_next_version else finding


def _template_findings(workload: WorkloadReview) -> Iterator[Finding]:
    step = workload.step
    if isinstance(step, UnknownRevision):
        evidence = [f"{name} cannot be understood" for name in workload.unreadable]
        yield Finding.of(
            "addon-change-untold/template",
            _subject(workload.object_ref),
            tuple(evidence),
            of=workload.object_ref,
            why=step.reason,
            lacking=step.missing,
        )
        return
    unknown_changes = [change for change in workload.changes if change.because.cause is ChangeCause.UNKNOWN]
    if unknown_changes:
        yield Finding.of(
            "addon-change-untold/who",
            _subject(workload.object_ref),
            tuple(map(_change_text, unknown_changes)),
            fields=_field_names([change.field for change in unknown_changes]),
            count=len(unknown_changes),
        )
    if workload.not_restorable:
        yield Finding.of(
            "addon-change-untold/no-patch", _subject(workload.object_ref), fields=_field_names(workload.not_restorable)
        )


def _lost_field_findings(review: UpdateReview, change: ChangedField) -> Iterator[Finding]:
    assert review.next_update is not None, "of an update that is known"
    severity, effects = field_severity(review.facts.addon_facts, _as_predicted_change(change), (), Mode.OVERWRITE)
    at_risk = change.field in {each.field for each in review.next_update.changes if each.at_risk}
    is_kept = _is_kept_by_values(review, change.field)
    evidence = (*effects, str(change.field), f"how it is known: {change.because.why}", _confidence_text(change))
    before, after = (value_text(value, change.field) for value in (change.before, change.after))
    field = field_name(change.field)
    subject, by_hand = _subject(change.field.of), at_risk and not is_kept
    if change.state is FieldState.GONE:
        yield Finding.of(
            "addon-field-lost/gone",
            subject,
            evidence,
            severity=severity,
            field=field,
            before=before,
            after=after,
            live="" if is_same_value(change.live, change.after) else value_text(change.live, change.field),
            patched=_is_restored_by_patch(review, change.field),
            keep=is_kept,
            by_hand=by_hand,
        )
        return
    owner_names = " and ".join(change.owners) or "nobody"
    live = "" if change.state is FieldState.BACK else value_text(change.live, change.field)
    if at_risk:
        worst = max(severity, Severity.MEDIUM, key=lambda each: each.rank)
        yield Finding.of(
            "addon-loss-repeats",
            subject,
            evidence,
            severity=worst,
            field=field,
            before=before,
            after=after,
            live=live,
            who=owner_names,
            keep=is_kept,
        )
    else:
        yield Finding.of(
            "addon-field-lost/back",
            subject,
            evidence,
            field=field,
            before=before,
            after=after,
            live=live,
            who=owner_names,
        )


def _earlier_update_finding(review: UpdateReview, earlier: EarlierUpdate) -> Finding:
    name = review.facts.addon_facts.addon.name
    severities = [
        field_severity(review.facts.addon_facts, _as_predicted_change(each), (), Mode.OVERWRITE)[0]
        for each in earlier.lost_changes
    ]
    fields = [each.field for each in earlier.lost_changes]
    return Finding.of(
        "addon-field-lost/earlier",
        Subject("Addon", name),
        tuple(f"{_change_text(each)} ({_confidence_text(each)})" for each in earlier.lost_changes),
        severity=min(severities, key=lambda each: each.rank),
        update=earlier.update.id,
        fields=_field_names(fields),
        count=len(fields),
        addon=name,
    )


def _confidence_text(change: ChangedField) -> str:
    return f"confidence: {change.because.sure.value}"


def _is_kept_by_values(review: UpdateReview, field: AddonField) -> bool:
    proposed = review.next_update.way_out if review.next_update is not None else None
    return proposed is not None and proposed.is_usable and any(each.field == field for each in proposed.keeps)


def _is_restored_by_patch(review: UpdateReview, field: AddonField) -> bool:
    return any(
        workload.patch is not None and field not in workload.not_restorable
        for workload in review.workloads
        if workload.object_ref == field.of
    )


def _as_predicted_change(change: ChangedField) -> FieldChange:
    """The past change as a predicted one, for the functions that find affected workloads."""
    reset = FieldPrediction(Fate.RESET, change.after)
    return FieldChange(change.field, change.before, change.owners, dict.fromkeys(Mode, reset), change.config)


def _unrecorded_finding(fields: UnrecordedFields) -> Finding:
    severities = [effect.worst for each in fields.fields if (effect := effect_of(each)) is not None]
    return Finding.of(
        "addon-change-untold/unrecorded",
        _subject(fields.object_ref),
        severity=Severity.HIGH if Severity.CRITICAL in severities else Severity.LOW,
        of=fields.object_ref,
        outside=fields.object_ref.kind in kinds.HISTORY_KINDS,
        when=fields.written_at,
        fields=_field_names(fields.fields),
    )


def _pod_findings(pods: PodsToRecreate) -> Iterator[Finding]:
    subject = _subject(pods.field.of)
    explanation = (f"{pods.says} ({pods.source}; confidence: {pods.sure.value})" if pods.source else pods.says,)
    if isinstance(pods.pods, Unknown):
        evidence = explanation if pods.pods.why in explanation else (*explanation, pods.pods.why)
        lacking = pods.pods.missing or pods.pods.why
        field = field_name(pods.field)
        yield Finding.of(
            "addon-pods-to-recreate/unknown",
            subject,
            evidence,
            remedy=(remedy_for(pods.pods),),
            field=field,
            lacking=lacking,
        )
    elif pods.pods:
        yield Finding.of(
            "addon-pods-to-recreate/recreate",
            subject,
            explanation,
            count=len(pods.pods),
            field=field_name(pods.field),
            pods=", ".join(pods.pods[:_MAX_NAMES]),
            more=str(len(pods.pods[_MAX_NAMES:]) or ""),
        )


def _change_text(change: ChangedField) -> str:
    return f"{change.field}: {value_text(change.before, change.field)} → {value_text(change.after, change.field)}"


def _field_names(fields: tuple[AddonField, ...] | list[AddonField]) -> str:
    text = ", ".join(field_name(each) for each in fields[:_MAX_NAMES])
    return text + (f" and {len(fields) - _MAX_NAMES} more" if len(fields) > _MAX_NAMES else "")


def _subject(object_ref: ObjectName) -> Subject:
    return Subject(object_ref.kind, object_ref.name, object_ref.namespace)
