"""What it means that an update changed what it changed: findings."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.addon_diff.aftermath.causes import Cause
from kubectl_eksdoc.addon_diff.aftermath.facts import (
    ChangedField,
    EarlierUpdate,
    Recreating,
    State,
    Templated,
    UnrecordedFields,
    UpdateReview,
    differing_data,
)
from kubectl_eksdoc.addon_diff.aftermath.timeline import UnknownRevision
from kubectl_eksdoc.addon_diff.exposure import exposed
from kubectl_eksdoc.addon_diff.fields import AddonField, effect_of, value_of
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.merging import same_value
from kubectl_eksdoc.addon_diff.prediction import Fate, FieldChange, FieldPrediction, Mode
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ObjectName, named
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, When

_TOLD = 6
"""So many fields are named in one sentence."""


def judged(found: UpdateReview) -> Iterator[Finding]:
    """In no order."""
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
        yield _of_unrecorded(found, kept)
    for rule in found.recreating:
        yield from _of_pods(rule)


def _of_update(found: UpdateReview) -> Iterator[Finding]:
    update, history, name = found.facts.update, found.facts.history, found.facts.now.addon.name
    addon = Subject("Addon", name)
    if isinstance(update, Unknown):
        message = f"which update of {name} was the latest, and what it was asked to do, is not known"
        yield _unknown(Code.of("addon-update-untold"), addon, message, (update.why,), update.missing or update.why)
        return
    if isinstance(update, Absent):
        message = f"EKS tells of no update of {name}: there is none to look back on"
        yield Finding(Code.of("addon-update-untold"), Severity.INFO, Status.PASS, addon, message, (update.said,))
        return
    if update.begun is None:
        message = f"EKS does not say when update {update.id} began"
        yield _unknown(Code.of("addon-update-untold"), addon, message, (), "when the update began")
        return
    if update.status == "InProgress":
        message = f"update {update.id} is still under way: it may change more than it has so far"
        yield _unknown(Code.of("addon-update-untold"), addon, message, (), "how the update ends")
    if isinstance(history, UpdateHistory) and history.unseen and _may_be_older(update, history, found):
        message = f"EKS lists {history.unseen} more updates of {name} in no promised order: one may be later"
        yield _unknown(
            Code.of("addon-update-untold"), addon, message, ("only the first few were asked for",), "the other updates"
        )


def _may_be_older(update: EksAddonUpdate, history: UpdateHistory, found: UpdateReview) -> bool:
    """Not where it ends what EKS says was the add-on's last change, or where somebody has named it."""
    changed = found.facts.now.addon.changed
    known = [each.begun for each in history.updates if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if update.begun is None or update.begun != max(known, default=None):
        return False
    return changed is None or (changed - update.begun).total_seconds() > _LONGEST_S


_LONGEST_S = 3600
"""An update of an add-on is over by then."""


def _unread(found: UpdateReview) -> Iterator[Finding]:
    """Objects that could not be read, or not be understood."""
    if found.keeping is not None:
        yield from (each for each in found.keeping.findings if each.code == Code.of("addon-object-unread"))


def _of_template(each: Templated) -> Iterator[Finding]:
    step = each.step
    if isinstance(step, UnknownRevision):
        evidence = [f"it may have been {_pair(*pair)}" for pair in step.candidates]
        evidence += [f"{name} cannot be understood" for name in each.unreadable]
        message = f"what the update changed in the pod template of {each.of} is not known: {step.why}"
        missing = step.missing or "which revision was in force when the update began"
        yield _unknown(Code.of("addon-change-untold"), _subject(each.of), message, tuple(evidence), missing)
        return
    unclear = [change for change in each.changes if change.because.cause is Cause.UNKNOWN]
    if unclear:
        message = f"the update changed {_listed([change.field for change in unclear])}, and it is not known who wanted "
        message += f"{'it' if len(unclear) == 1 else 'them'} as before"
        told = tuple(_change(change) for change in unclear)
        yield _unknown(Code.of("addon-change-untold"), _subject(each.of), message, told, "who had set these fields")
    if each.cannot:
        message = f"no patch gives {_listed(each.cannot)} back without changing something else"
        missing = "a patch"
        yield _unknown(Code.of("addon-change-untold"), _subject(each.of), message, (), missing)


def _pair(before: int, after: int) -> str:
    return f"revision {before}, and nothing changed" if before == after else f"from revision {before} to {after}"


_PATCH = Remedy("send the patch that is shown here: it gives back what was lost, and nothing else")
_VALUES = Remedy("give the configuration values that are shown here, so that the next update keeps it", when=When.LATER)
_BY_HAND = Remedy("no configuration value that is known here keeps it: check it after every update", when=When.LATER)


def _of_lost(found: UpdateReview, change: ChangedField) -> Iterator[Finding]:
    assert found.keeping is not None, "of an update that is known"
    severity, why = exposed(found.facts.now, _as_foretold(change), (), Mode.OVERWRITE)
    at_risk = change.field in {each.field for each in found.keeping.changes if each.at_risk}
    keep = _keeps(found, change.field)
    evidence = (*why, str(change.field), f"how it is known: {change.because.why}", _sure(change))
    before, after = (value_of(value, change.field) for value in (change.before, change.after))
    message = f"the update took {calls(change.field)} from {before} to {after}"
    later = (_VALUES,) if keep else (_BY_HAND,) if at_risk else ()
    if change.state is State.GONE:
        stays = (
            "" if same_value(change.live, change.after) else f", and it is {value_of(change.live, change.field)} now"
        )
        patch = (_PATCH,) if _is_patched(found, change.field) else ()
        yield _fails(Code.of("addon-field-lost"), severity, change, f"{message}{stays}", evidence, (*patch, *later))
        return
    who = " and ".join(change.owners) or "nobody"
    now = (
        f"it is back, by {who}"
        if change.state is State.BACK
        else f"it is {value_of(change.live, change.field)} now, by {who}"
    )
    if at_risk:
        text = f"{message}; {now}, and nothing keeps it: the next update with OVERWRITE takes it again"
        yield _fails(
            Code.of("addon-loss-repeats"),
            max(severity, Severity.MEDIUM, key=lambda each: each.rank),
            change,
            text,
            evidence,
            later,
        )
    else:
        yield Finding.of("addon-field-lost", _subject(change.field.of), evidence, message=message, now=now)


def _of_earlier(found: UpdateReview, past: EarlierUpdate) -> Finding:
    name = found.facts.now.addon.name
    judged_each = [exposed(found.facts.now, _as_foretold(each), (), Mode.OVERWRITE)[0] for each in past.missed]
    fields = [each.field for each in past.missed]
    message = f"an earlier update, {past.update.id}, took {_listed(fields)}, and {_is_or_are(fields)} not back"
    evidence = tuple(f"{_change(each)} ({_sure(each)})" for each in past.missed)
    command = f"kubectl eksdoc addon-diff {name} --after --update {past.update.id}"
    severity = min(judged_each, key=lambda each: each.rank)
    return Finding(
        Code.of("addon-field-lost"),
        severity,
        Status.FAIL,
        Subject("Addon", name),
        message,
        evidence,
        (Remedy("look back on that one for its patch", command),),
    )


def _is_or_are(fields: list[AddonField]) -> str:
    return "it is" if len(fields) == 1 else "they are"


def _sure(change: ChangedField) -> str:
    return f"confidence: {change.because.sure.value}"


def _keeps(found: UpdateReview, of: AddonField) -> bool:
    way = found.keeping.way_out if found.keeping is not None else None
    return way is not None and way.usable and any(each.field == of for each in way.keeps)


def _is_patched(found: UpdateReview, of: AddonField) -> bool:
    return any(each.patch is not None and of not in each.cannot for each in found.templated if each.of == of.of)


def _as_foretold(change: ChangedField) -> FieldChange:
    """As if it were to come, for whoever says who notices."""
    reset = FieldPrediction(Fate.RESET, change.after)
    return FieldChange(change.field, change.before, change.owners, dict.fromkeys(Mode, reset), change.config)


def _of_unrecorded(found: UpdateReview, kept: UnrecordedFields) -> Finding:
    live = next(each for each in found.facts.now.objects if named(each) == kept.of)
    texts = [
        f"kubectl apply last sent another text for {key}: it is shown here" for key, _ in differing_data(kept, live)
    ]
    worst = [effect.worst for each in kept.fields if (effect := effect_of(each)) is not None]
    outside = " outside its pod template" if kept.of.kind in kinds.HISTORY_OF else ""
    message = (
        f"EKS wrote {kept.of}{outside} with the update or since ({kept.when}), and the API does not keep the previous "
        f"value: {_listed(kept.fields)}"
    )
    severity = Severity.HIGH if Severity.CRITICAL in worst else Severity.LOW
    remedy = Remedy("compare it with what you keep of it yourself; whatever was lost, set it by configuration values")
    return _unknown(
        Code.of("addon-change-untold"),
        _subject(kept.of),
        message,
        tuple(texts),
        "the previous value",
        severity,
        (remedy,),
    )


def _of_pods(rule: Recreating) -> Iterator[Finding]:
    subject = _subject(rule.field.of)
    source = (f"{rule.says} ({rule.source}; confidence: {rule.sure.value})" if rule.source else rule.says,)
    if isinstance(rule.pods, Unknown):
        message = f"whether pods must be recreated for {calls(rule.field)} is not known"
        evidence = source if rule.pods.why in source else (*source, rule.pods.why)
        yield _unknown(
            Code.of("addon-pods-to-recreate"), subject, message, evidence, rule.pods.missing or rule.pods.why
        )
    elif rule.pods:
        some = ", ".join(rule.pods[:_TOLD]) + (f" and {len(rule.pods) - _TOLD} more" if len(rule.pods) > _TOLD else "")
        what = "this pod" if len(rule.pods) == 1 else f"these {len(rule.pods)} pods"
        message = f"recreate {what} when {calls(rule.field)} is back: {some}"
        remedy = Remedy("delete them one by one, as their budgets allow: kubectl drain and evictions respect those")
        yield Finding(
            Code.of("addon-pods-to-recreate"), Severity.HIGH, Status.FAIL, subject, message, source, (remedy,)
        )


def _fails(
    code: Code,
    severity: Severity,
    change: ChangedField,
    message: str,
    evidence: tuple[str, ...],
    remedies: tuple[Remedy, ...],
) -> Finding:
    return Finding(code, severity, Status.FAIL, _subject(change.field.of), message, evidence, remedies)


def _unknown(
    code: Code,
    subject: Subject,
    message: str,
    evidence: tuple[str, ...],
    missing: str,
    severity: Severity = Severity.MEDIUM,
    remedies: tuple[Remedy, ...] = (),
) -> Finding:
    return Finding(code, severity, Status.UNKNOWN, subject, message, evidence, remedies, missing)


def _change(change: ChangedField) -> str:
    return f"{change.field}: {value_of(change.before, change.field)} → {value_of(change.after, change.field)}"


def _listed(fields: tuple[AddonField, ...] | list[AddonField]) -> str:
    some = ", ".join(calls(each) for each in fields[:_TOLD])
    return some + (f" and {len(fields) - _TOLD} more" if len(fields) > _TOLD else "")


def _subject(of: ObjectName) -> Subject:
    return Subject(of.kind, of.name, of.namespace)
