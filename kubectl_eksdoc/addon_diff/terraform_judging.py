"""Findings of an add-on change in a Terraform plan, with the address of the resource and the arguments to edit.

The findings are those of the update or creation, and those of the Terraform change itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, named
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, TextName, in_order
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections

from .judging import DECLARE, KEEP, LEAVE
from .manifests import objects_of
from .plan import AddonPlan, Judge, plan_update
from .prediction import AddonFacts, AddonUpdateRequest, Mode
from .terraform_requests import Kind
from .terraform_result import (
    Assumption,
    JudgedAddonChange,
    PlannedAddonChange,
)

# Terraform deletes, replaces or forgets an add-on.
#
# Sources: the provider's ``resourceAddonDelete`` (``preserve`` as in the state); DeleteAddonRequest: with it the
# add-on's software stays in the cluster, and EKS no longer manages it.


@frozen
class DeletionLoss:
    """The functions that end if add-on `name` is deleted."""

    name: str
    severity: Severity
    effect: str
    source: KnowledgeSource


_LOST = sections(DeletionLoss, "software", "deleted")
_ANY = (Severity.HIGH, "what it does in the cluster ends")


def leaving(change: PlannedAddonChange) -> Iterator[Finding]:
    """One finding for a request that removes the add-on, none for others."""
    request, addon = change.request, change.addon
    if request.kind is Kind.FORGET:
        yield Finding.of("addon-terraform-removes/forgotten", change.subject, (_who(change),), addon=addon)
    elif request.kind in (Kind.DELETE, Kind.REPLACE):
        yield _kept(change) if request.keeps else _deleted(change)


def _kept(change: PlannedAddonChange) -> Finding:
    replaced = change.request.kind is Kind.REPLACE
    evidence = ("preserve = true", _who(change))
    return Finding.of("addon-terraform-removes/kept", change.subject, evidence, addon=change.addon, replaced=replaced)


def _deleted(change: PlannedAddonChange) -> Finding:
    replaced = change.request.kind is Kind.REPLACE
    loss = _LOST.by("name").get(change.addon)
    worst, lost = (loss.severity, loss.effect) if loss else _ANY
    objects = ", ".join(f"{of.kind} {of.name}" for of in objects_of(change.addon)) or "all of its objects"
    back = "until it is recreated, without what people had set in it" if replaced else "for good"
    return Finding.of(
        "addon-terraform-removes/deleted",
        change.subject,
        (f"deleted {back}: {objects}", "preserve is not true in Terraform's state", _who(change)),
        severity=worst,
        addon=change.addon,
        replaced=replaced,
        lost=lost,
        preserve=change.where.argument("preserve"),
    )


def _who(change: PlannedAddonChange) -> str:
    return f"Terraform: {change.request.address}, {change.request.kind.value}"


# Terraform arguments that resolve a finding of an update or a creation, by the features of the provider.


def written_there(finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> tuple[Remedy, ...]:
    """The remedies of `finding` as edits of Terraform arguments; those that do not concern the request stay."""
    found: list[Remedy] = []
    for remedy in finding.remedy:
        found += _instead(remedy, finding, change, facts)
    return tuple(dict.fromkeys(found))


def _instead(remedy: Remedy, finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Remedy]:
    if remedy in (KEEP, DECLARE):
        yield from _values(change)
    elif remedy == LEAVE:
        if any(each.gives_preserve for each in change.generations):
            yield Remedy.of("tf-preserve", argument=change.where.argument(change.conflicts))
        else:
            yield Remedy.of("tf-no-preserve")
    elif finding.code.name == "addon-version-unfit" and finding.status is Status.FAIL:
        older = facts.now.version if facts.installed else ""
        yield Remedy.of("tf-version", argument=change.where.argument("addon_version"), older=older)
    elif finding.code.name == "addon-values-dropped":
        yield Remedy.of("tf-whole", argument=change.where.argument("configuration_values"))
    else:
        yield remedy


def _values(change: PlannedAddonChange) -> Iterator[Remedy]:
    if not change.where.gives_values:
        version = change.where.argument("addon_version")
        yield Remedy.of("tf-no-values", source=change.where.source, version=version)
        return
    able = [each for each in change.generations if each.gives_values]
    unable = [each for each in change.generations if not each.gives_values]
    if able:
        yield Remedy.of("tf-values", argument=change.where.argument("configuration_values"))
        if change.request.mode == Mode.OVERWRITE.value and change.request.kind is Kind.UPDATE:
            yield Remedy.of("tf-none", argument=change.where.argument(change.conflicts))
    version = change.where.argument("addon_version")
    for each in unable:
        yield Remedy.of("tf-provider", provider=each.value, creates=change.creates, version=version)


def judged(change: PlannedAddonChange, facts: AddonFacts, values: Doc | None, judge: Judge) -> JudgedAddonChange:
    """Judge an update, or a creation if `facts` say that EKS does not manage the add-on. `values`: the values after the
    change, None if EKS keeps the current ones."""
    plan = plan_update(facts, AddonUpdateRequest(_mode(change), values), judge)
    supposed = tuple(_supposed(change, facts))
    found = [_addressed(each, change, facts) for each in plan.findings]
    if supposed:
        found = [_doubted(each, supposed) for each in found]
    unimportant = _only_the_mode(change) and not any(each.at_risk for each in plan.changes)
    found += () if unimportant else _left_open(change, supposed)
    found += _empty(change, facts, values)
    found += _drifted(change, facts)
    found += _of_role(change)
    if not facts.installed and facts.objects:
        found.append(_takes_over(change, plan, found))
    found += leaving(change)
    findings = in_order(found)
    return JudgedAddonChange(change, replace(plan, findings=findings), findings, supposed)


def unjudged(change: PlannedAddonChange, *findings: Finding) -> JudgedAddonChange:
    """A judgement without predicted fields: it has only these findings."""
    return JudgedAddonChange(change, None, in_order((*findings, *leaving(change))))


def of_change(change: PlannedAddonChange, text: TextName, **values: Any) -> Finding:
    """A finding about a request that EKS refuses, or that lacks a fact for a judgement."""
    return Finding.of(text, change.subject, (change.evidence,), **values)


def _mode(change: PlannedAddonChange) -> Mode:
    """The worst mode if it is unknown; at a creation, PRESERVE acts as NONE (CreateAddonRequest)."""
    if isinstance(change.request.mode, Unknown):
        return Mode.OVERWRITE
    mode = Mode(change.request.mode)
    return Mode.NONE if mode is Mode.PRESERVE and change.creates else mode


def _supposed(change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Assumption]:
    request = change.request
    if request.sends_version and (isinstance(request.after, Unknown) or not request.after):
        why = _clause(request.after) if isinstance(request.after, Unknown) else "is empty"
        yield Assumption("addon_version", why, f"{facts.target.version}, which EKS marks as default")
    if isinstance(request.mode, Unknown):
        yield Assumption(request.set_by, _clause(request.mode), "OVERWRITE, which takes most")
    if request.sends_values and isinstance(request.values, Unknown):
        yield Assumption("configuration_values", _clause(request.values), "those of today")


def _clause(unknown: Unknown) -> str:
    return unknown.why.removeprefix("it ")


def _only_the_mode(change: PlannedAddonChange) -> bool:
    request = change.request
    others = (request.sends_version and not isinstance(request.after, str)) or (
        request.sends_values and isinstance(request.values, Unknown)
    )
    return isinstance(request.mode, Unknown) and not others


def _left_open(change: PlannedAddonChange, supposed: Sequence[Assumption]) -> Iterator[Finding]:
    for each in supposed:
        yield of_change(
            change,
            "addon-terraform-unknown/effect",
            addon=change.addon,
            supposed=each,
            name=each.argument,
            address=change.request.address,
            argument=change.where.argument(each.argument),
        )


_OPEN = frozenset(
    (
        "addon-field-reset",
        "addon-field-changed-in-every-mode",
        "addon-field-conflict",
        "addon-update-refused",
        "addon-field-kept",
        "addon-ownership-grows",
        "addon-values-dropped",
        "addon-values-refused",
        "addon-version-unfit",
    )
)
"""Findings that depend on the version, the values or the mode."""


def _doubted(finding: Finding, supposed: Sequence[Assumption]) -> Finding:
    """The finding holds only under the assumptions."""
    if finding.code.name not in _OPEN:
        return finding
    evidence = (*finding.evidence, *map(str, supposed))
    missing = finding.missing or " and ".join(each.argument for each in supposed)
    return replace(finding, status=Status.UNKNOWN, evidence=evidence, missing=missing)


def _addressed(finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> Finding:
    remedies = written_there(finding, change, facts)
    return replace(finding, evidence=(*finding.evidence, change.evidence), remedy=remedies)


def _empty(change: PlannedAddonChange, facts: AddonFacts, values: Doc | None) -> Iterator[Finding]:
    """An empty text is sent unchanged, and no document says how EKS reads it: it is judged as ``{}``."""
    if values == {} and change.request.sends_values and not change.request.values and facts.values:
        argument = change.where.argument("configuration_values")
        yield of_change(change, "addon-terraform-unknown/emptied", argument=argument)


def _drifted(change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Finding]:
    before = change.request.before
    if facts.installed and isinstance(before, str) and before and before != facts.now.version:
        now = facts.now.version
        yield of_change(change, "addon-terraform-unknown/drifted", addon=change.addon, before=before, now=now)


def _of_role(change: PlannedAddonChange) -> Iterator[Finding]:
    """The plan does not have the permissions of roles: whether the pods work with another role, or none, is unknown."""
    before, after = change.request.resource.before, change.request.resource.after
    if before is None or after is None or not before.role or before.role == after.role:
        return
    yield of_change(
        change,
        "addon-terraform-unknown/role",
        addon=change.addon,
        before=before.role,
        unknown=isinstance(after.role, Unknown),
        after=after.role if isinstance(after.role, str) else "",
    )


def _takes_over(change: PlannedAddonChange, plan: AddonPlan, found: list[Finding]) -> Finding:
    """The other fields of the chart that are overwritten are never fully known."""
    fails = any(each.status is Status.FAIL for each in found)
    mode = plan.asked.mode
    objects = ", ".join(str(named(live)) for live in plan.facts.objects)
    return Finding.of(
        "addon-terraform-takes-over/known" if fails else "addon-terraform-takes-over/unknown",
        change.subject,
        (f"there are: {objects}", change.evidence),
        addon=change.addon,
        mode=mode.value,
        takes=mode is Mode.OVERWRITE,
        values=change.where.argument("configuration_values"),
        conflicts=change.where.argument(change.conflicts),
    )
