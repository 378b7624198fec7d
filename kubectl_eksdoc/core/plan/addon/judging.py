"""What the fate of the fields means: findings, in the mode that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model import addon_codes as codes
from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Finding, Severity, Status, Subject
from kubectl_eksdoc.core.model.named import Named, named
from kubectl_eksdoc.core.plan.addon.effects import Users, effect_of
from kubectl_eksdoc.core.plan.addon.facts import AddonFacts, Asked
from kubectl_eksdoc.core.plan.addon.fields import MISSING, LiveField
from kubectl_eksdoc.core.plan.addon.modes import Fate, Mode
from kubectl_eksdoc.core.plan.addon.prediction import FieldChange
from kubectl_eksdoc.core.plan.addon.values import leaves
from kubectl_eksdoc.core.plan.addon.writers import tool_of
from kubectl_eksdoc.core.rules.api.ownership.entries import MalformedEntries, read

Unread = tuple[Named, Unknown]


def judged(
    facts: AddonFacts, asked: Asked, changes: Sequence[FieldChange], unread: Sequence[Unread]
) -> Iterator[Finding]:
    """In no order."""
    for change in changes:
        if change.at_risk:
            yield from _of_field(facts, asked.mode, change)
    yield from _of_values(facts, asked)
    yield from _of_version(facts)
    yield from _of_writers(facts)
    for of, why in unread:
        yield Finding(
            codes.OBJECT_UNREAD,
            Severity.HIGH,
            Status.UNKNOWN,
            _subject(of),
            f"{of} was not read: what the update changes in it is not known",
            (why.why,),
            missing=why.missing or why.why,
        )


def _subject(of: Named) -> Subject:
    return Subject(of.kind, of.name, of.namespace)


_CODES = {
    Fate.RESET: codes.FIELD_RESET,
    Fate.REMOVED: codes.FIELD_RESET,
    Fate.CONFLICT: codes.FIELD_CONFLICT,
    Fate.KEPT: codes.FIELD_KEPT,
    Fate.UNKNOWN: codes.FIELD_UNKNOWN,
}


def _of_field(facts: AddonFacts, mode: Mode, change: FieldChange) -> Iterator[Finding]:
    fate = change.fate(mode)
    code = _CODES.get(fate)
    if code is None:
        return
    severity, why = _severity(facts, change)
    status = {Fate.KEPT: Status.PASS, Fate.UNKNOWN: Status.UNKNOWN}.get(fate, Status.FAIL)
    if fate is Fate.KEPT:
        severity = Severity.LOW
    yield _finding(code, severity, status, change, _told(change, mode), (*why, *_evidence(change, mode)))
    if change.expands and mode is not Mode.PRESERVE and fate is not Fate.UNKNOWN:
        message = f"EKS has not had {calls(change.field)} so far, and takes it over with {facts.target.version}"
        yield _finding(codes.OWNERSHIP_GROWS, Severity.MEDIUM, Status.FAIL, change, message, ())


def _finding(
    code: Code, severity: Severity, status: Status, change: FieldChange, message: str, evidence: tuple[str, ...]
) -> Finding:
    missing = "what EKS applies to this field" if status is Status.UNKNOWN else ""
    return Finding(code, severity, status, _subject(change.field.of), message, evidence, missing=missing)


def calls(field: LiveField) -> str:
    """``DISABLE_TCP_EARLY_DEMUX of init container aws-vpc-cni-init``, ``.data.Corefile``."""
    what = field.variable or str(field).rpartition(" - ")[2]
    if not field.variable:
        return what
    return f"{what} of {'init ' if field.starts_first else ''}container {field.container}"


def _told(change: FieldChange, mode: Mode) -> str:
    who = " and ".join(change.owners) or "nobody"
    set_by = f"{calls(change.field)}, set to {value_of(change.live)} by {who},"
    after = change.by_mode[mode]
    if after.fate is Fate.RESET:
        return f"{set_by} is reset to {value_of(after.value)}"
    if after.fate is Fate.REMOVED:
        return f"{set_by} is removed: EKS named it so far, and names it no more"
    if after.fate is Fate.CONFLICT:
        return f"{set_by} is in conflict with what EKS applies: the update fails"
    if after.fate is Fate.KEPT:
        return f"{set_by} is kept"
    return f"{set_by} may be reset: what EKS applies there is not known"


LONGEST = 60


def value_of(value: object) -> str:
    """For a sentence; what is long is named by its kind."""
    if value is MISSING:
        return "nothing"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if len(text) > LONGEST or "\n" in text:
        return "a text" if isinstance(value, str) else "a document"
    return text


def _evidence(change: FieldChange, mode: Mode) -> Iterator[str]:
    yield str(change.field)
    if change.witness is not None:
        yield f"why EKS applies it: {change.witness.value}"
    yield f"confidence: {change.confidence(mode).value}"


def _severity(facts: AddonFacts, change: FieldChange) -> tuple[Severity, tuple[str, ...]]:
    """How bad it is here, with what it rests on."""
    effect = effect_of(change.field)
    if effect is None:
        return Severity.MEDIUM, ("what follows from it is not known here",)
    if effect.of and change.live != effect.of:
        return Severity.LOW, (f"only the loss of {value_of(effect.of)} matters: {effect.does}",)
    when = "as the update rolls over the nodes" if effect.at_once else "later"
    told = f"{effect.does} ({when}; {effect.source})"
    if effect.users is not Users.BRANCH_PODS:
        return effect.worst, (told,)
    pods = facts.usage.branch_pods
    if isinstance(pods, Unknown):
        return effect.worst, (told, f"which pods have security groups of their own is not known: {pods.why}")
    if not pods:
        return Severity.LOW, (f"no pod has security groups of its own; else {told}",)
    named_pods = ", ".join(pods[:3]) + (f" and {len(pods) - 3} more" if len(pods) > 3 else "")
    return effect.worst, (told, f"{len(pods)} pods have security groups of their own: {named_pods}")


def _of_values(facts: AddonFacts, asked: Asked) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    if isinstance(facts.values, Unknown):
        yield Finding(
            codes.VALUES_REFUSED,
            Severity.HIGH,
            Status.UNKNOWN,
            addon,
            "the configuration values of today cannot be read, so nothing is known of what they set",
            (facts.values.why,),
            missing=facts.values.missing or facts.values.why,
        )
        return
    if asked.values is None:
        return
    new = {path for path, _ in leaves(asked.values)}
    gone = sorted(path for path, _ in leaves(facts.values) if path not in new)
    if gone:
        whole = not asked.values
        said = "all configuration values are taken away" if whole else "configuration values are taken away"
        yield Finding(
            codes.VALUES_DROPPED,
            Severity.HIGH,
            Status.FAIL,
            addon,
            f"{said}: {', '.join('.'.join(path) for path in gone)}",
            ("they are replaced as a whole: what the new document lacks goes back to its default",),
        )


def _of_version(facts: AddonFacts) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    target, kubernetes = facts.target.version, facts.cluster.version
    if isinstance(facts.offered, Unknown):
        yield Finding(
            codes.VERSION_UNFIT,
            Severity.HIGH,
            Status.UNKNOWN,
            addon,
            f"it is not known whether EKS offers {target} for Kubernetes {kubernetes}",
            (facts.offered.why,),
            missing=facts.offered.missing or facts.offered.why,
        )
    elif not facts.offered:
        message = f"EKS does not offer {target} for Kubernetes {kubernetes}"
        yield Finding(codes.VERSION_UNFIT, Severity.HIGH, Status.FAIL, addon, message)
    if len(facts.steps) > 1:
        yield Finding(
            codes.VERSION_UNFIT,
            Severity.HIGH,
            Status.FAIL,
            addon,
            f"{facts.addon.name} is updated one minor version at a time: {' → '.join(facts.steps)}",
            ("EKS user guide, update the Amazon VPC CNI add-on",),
        )


def _of_writers(facts: AddonFacts) -> Iterator[Finding]:
    for live in facts.objects:
        try:
            owners = sorted({owner.manager for owner in read(live) if not owner.subresource})
        except MalformedEntries:
            continue
        for manager in owners:
            tool = tool_of(manager)
            if tool:
                yield Finding(
                    codes.OTHER_WRITER,
                    Severity.MEDIUM,
                    Status.FAIL,
                    _subject(named(live)),
                    f"{tool} (field manager {manager}) has fields of it, and will write them again after the update",
                )
