"""Findings of a past add-on update."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import learned

from .after_causes import Cause
from .after_facts import (
    ChangedField,
    EarlierUpdate,
    Recreating,
    State,
    Templated,
    UnrecordedFields,
    UpdateReview,
)
from .exposure import exposed
from .fields import AddonField, effect_of, same_value, value_of
from .judging import calls
from .prediction import Fate, FieldChange, FieldPrediction, Mode
from .revisions import UnknownRevision

_TOLD = 6
"""Maximum number of names in one sentence."""


def judged(found: UpdateReview) -> Iterator[Finding]:
    """Unsorted."""
    yield from _of_update(found)
    if not isinstance(found.facts.update, EksAddonUpdate) or found.keeping is None:
        return
    yield from _unread(found)
    for each in found.templated:
        yield from _of_template(each)
    for change in found.lost:
        yield from _of_lost(found, change)
    for past in found.earlier:
        yield _of_earlier(found, past)
    for kept in found.unrecorded:
        yield _of_unrecorded(kept)
    for rule in found.recreating:
        yield from _of_pods(rule)


def _of_update(found: UpdateReview) -> Iterator[Finding]:
    update, history, name = found.facts.update, found.facts.history, found.facts.now.addon.name
    addon = Subject("Addon", name)
    if isinstance(update, Unknown):
        lacking = update.missing or update.why
        yield Finding.of(
            "addon-update-untold/unknown", addon, (update.why,), remedy=(learned(update),), addon=name, lacking=lacking
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
    if isinstance(history, UpdateHistory) and history.unseen and _may_be_older(update, history, found):
        asked = ("only the first few were asked for",)
        yield Finding.of("addon-update-untold/more", addon, asked, count=history.unseen, addon=name)


def _may_be_older(update: EksAddonUpdate, history: UpdateHistory, found: UpdateReview) -> bool:
    """False if the update's end matches the add-on's last change by EKS's record."""
    changed = found.facts.now.addon.changed
    known = [each.begun for each in history.updates if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if update.begun is None or update.begun != max(known, default=None):
        return False
    return changed is None or (changed - update.begun).total_seconds() > _LONGEST_S


_LONGEST_S = 3600
"""The maximum duration of an add-on update."""


def _unread(found: UpdateReview) -> Iterator[Finding]:
    """Objects that could not be read or decoded. A remedy about the next version's manifest is replaced: it says
    nothing about a past update."""
    for each in found.keeping.findings if found.keeping is not None else ():
        if each.code.name == "addon-object-unread":
            of_next = any("--manifest" in remedy.text for remedy in each.remedy)
            yield replace(each, remedy=(Remedy.of("compare-objects"),)) if of_next else each


def _of_template(each: Templated) -> Iterator[Finding]:
    step = each.step
    if isinstance(step, UnknownRevision):
        evidence = [f"{name} cannot be understood" for name in each.unreadable]
        yield Finding.of(
            "addon-change-untold/template",
            _subject(each.of),
            tuple(evidence),
            of=each.of,
            why=step.why,
            lacking=step.missing,
        )
        return
    unclear = [change for change in each.changes if change.because.cause is Cause.UNKNOWN]
    if unclear:
        yield Finding.of(
            "addon-change-untold/who",
            _subject(each.of),
            tuple(map(_change, unclear)),
            fields=_listed([change.field for change in unclear]),
            count=len(unclear),
        )
    if each.cannot:
        yield Finding.of("addon-change-untold/no-patch", _subject(each.of), fields=_listed(each.cannot))


def _of_lost(found: UpdateReview, change: ChangedField) -> Iterator[Finding]:
    assert found.keeping is not None, "of an update that is known"
    severity, why = exposed(found.facts.now, _as_foretold(change), (), Mode.OVERWRITE)
    at_risk = change.field in {each.field for each in found.keeping.changes if each.at_risk}
    keep = _keeps(found, change.field)
    evidence = (*why, str(change.field), f"how it is known: {change.because.why}", _sure(change))
    before, after = (value_of(value, change.field) for value in (change.before, change.after))
    field = calls(change.field)
    subject, by_hand = _subject(change.field.of), at_risk and not keep
    if change.state is State.GONE:
        yield Finding.of(
            "addon-field-lost/gone",
            subject,
            evidence,
            severity=severity,
            field=field,
            before=before,
            after=after,
            live="" if same_value(change.live, change.after) else value_of(change.live, change.field),
            patched=_is_patched(found, change.field),
            keep=keep,
            by_hand=by_hand,
        )
        return
    who = " and ".join(change.owners) or "nobody"
    live = "" if change.state is State.BACK else value_of(change.live, change.field)
    if at_risk:
        bad = max(severity, Severity.MEDIUM, key=lambda each: each.rank)
        yield Finding.of(
            "addon-loss-repeats",
            subject,
            evidence,
            severity=bad,
            field=field,
            before=before,
            after=after,
            live=live,
            who=who,
            keep=keep,
        )
    else:
        yield Finding.of(
            "addon-field-lost/back", subject, evidence, field=field, before=before, after=after, live=live, who=who
        )


def _of_earlier(found: UpdateReview, past: EarlierUpdate) -> Finding:
    name = found.facts.now.addon.name
    judged_each = [exposed(found.facts.now, _as_foretold(each), (), Mode.OVERWRITE)[0] for each in past.missed]
    fields = [each.field for each in past.missed]
    return Finding.of(
        "addon-field-lost/earlier",
        Subject("Addon", name),
        tuple(f"{_change(each)} ({_sure(each)})" for each in past.missed),
        severity=min(judged_each, key=lambda each: each.rank),
        update=past.update.id,
        fields=_listed(fields),
        count=len(fields),
        addon=name,
    )


def _sure(change: ChangedField) -> str:
    return f"confidence: {change.because.sure.value}"


def _keeps(found: UpdateReview, of: AddonField) -> bool:
    way = found.keeping.way_out if found.keeping is not None else None
    return way is not None and way.usable and any(each.field == of for each in way.keeps)


def _is_patched(found: UpdateReview, of: AddonField) -> bool:
    return any(each.patch is not None and of not in each.cannot for each in found.templated if each.of == of.of)


def _as_foretold(change: ChangedField) -> FieldChange:
    """The past change as a predicted one, for the functions that find affected workloads."""
    reset = FieldPrediction(Fate.RESET, change.after)
    return FieldChange(change.field, change.before, change.owners, dict.fromkeys(Mode, reset), change.config)


def _of_unrecorded(kept: UnrecordedFields) -> Finding:
    worst = [effect.worst for each in kept.fields if (effect := effect_of(each)) is not None]
    return Finding.of(
        "addon-change-untold/unrecorded",
        _subject(kept.of),
        severity=Severity.HIGH if Severity.CRITICAL in worst else Severity.LOW,
        of=kept.of,
        outside=kept.of.kind in kinds.HISTORY_OF,
        when=kept.when,
        fields=_listed(kept.fields),
    )


def _of_pods(rule: Recreating) -> Iterator[Finding]:
    subject = _subject(rule.field.of)
    source = (f"{rule.says} ({rule.source}; confidence: {rule.sure.value})" if rule.source else rule.says,)
    if isinstance(rule.pods, Unknown):
        evidence = source if rule.pods.why in source else (*source, rule.pods.why)
        lacking = rule.pods.missing or rule.pods.why
        field = calls(rule.field)
        yield Finding.of(
            "addon-pods-to-recreate/unknown",
            subject,
            evidence,
            remedy=(learned(rule.pods),),
            field=field,
            lacking=lacking,
        )
    elif rule.pods:
        yield Finding.of(
            "addon-pods-to-recreate/recreate",
            subject,
            source,
            count=len(rule.pods),
            field=calls(rule.field),
            pods=", ".join(rule.pods[:_TOLD]),
            more=str(len(rule.pods[_TOLD:]) or ""),
        )


def _change(change: ChangedField) -> str:
    return f"{change.field}: {value_of(change.before, change.field)} → {value_of(change.after, change.field)}"


def _listed(fields: tuple[AddonField, ...] | list[AddonField]) -> str:
    some = ", ".join(calls(each) for each in fields[:_TOLD])
    return some + (f" and {len(fields) - _TOLD} more" if len(fields) > _TOLD else "")


def _subject(of: ObjectName) -> Subject:
    return Subject(of.kind, of.name, of.namespace)
