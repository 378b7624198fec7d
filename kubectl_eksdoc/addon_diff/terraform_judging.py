"""Findings of an add-on change in a Terraform plan, with the address of the resource and the arguments to edit.

The findings are those of the update or creation, and those of the Terraform change itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, object_name
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, TextName, sort_findings
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections

from .judging import DECLARE_VALUES, GIVE_VALUES, UPDATE_PRESERVING
from .manifests import objects_of
from .plan import AddonPlan, ValuesValidator, plan_update
from .prediction import AddonFacts, AddonUpdateRequest, Mode
from .terraform_requests import RequestKind
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


_LOSSES = sections(DeletionLoss, "software", "deleted")
_DEFAULT_LOSS = (Severity.HIGH, "what it does in the cluster ends")


def removal_findings(change: PlannedAddonChange) -> Iterator[Finding]:
    """One finding for a request that removes the add-on, none for others."""
    request, addon = change.request, change.addon
    if request.kind is RequestKind.FORGET:
        yield Finding.of("addon-terraform-removes/forgotten", change.subject, (_request_text(change),), addon=addon)
    elif request.kind in (RequestKind.DELETE, RequestKind.REPLACE):
        yield _preserved_finding(change) if request.preserves_objects else _deletion_finding(change)


def _preserved_finding(change: PlannedAddonChange) -> Finding:
    is_replaced = change.request.kind is RequestKind.REPLACE
    evidence = ("preserve = true", _request_text(change))
    return Finding.of(
        "addon-terraform-removes/kept", change.subject, evidence, addon=change.addon, replaced=is_replaced
    )


def _deletion_finding(change: PlannedAddonChange) -> Finding:
    is_replaced = change.request.kind is RequestKind.REPLACE
    loss = _LOSSES.by("name").get(change.addon)
    severity, effect = (loss.severity, loss.effect) if loss else _DEFAULT_LOSS
    objects = (
        ", ".join(f"{object_ref.kind} {object_ref.name}" for object_ref in objects_of(change.addon))
        or "all of its objects"
    )
    duration_text = "until it is recreated, without what people had set in it" if is_replaced else "for good"
    return Finding.of(
        "addon-terraform-removes/deleted",
        change.subject,
        (f"deleted {duration_text}: {objects}", "preserve is not true in Terraform's state", _request_text(change)),
        severity=severity,
        addon=change.addon,
        replaced=is_replaced,
        lost=effect,
        preserve=change.declaration.argument("preserve"),
    )


def _request_text(change: PlannedAddonChange) -> str:
    return f"Terraform: {change.request.address}, {change.request.kind.value}"


# Terraform arguments that resolve a finding of an update or a creation, by the features of the provider.


def terraform_remedies(finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> tuple[Remedy, ...]:
    """The remedies of `finding` as edits of Terraform arguments; those that do not concern the request stay."""
    remedies: list[Remedy] = []
    for remedy in finding.remedy:
        remedies += _replace_remedy(remedy, finding, change, facts)
    return tuple(dict.fromkeys(remedies))


def _replace_remedy(
    remedy: Remedy, finding: Finding, change: PlannedAddonChange, facts: AddonFacts
) -> Iterator[Remedy]:
    if remedy in (GIVE_VALUES, DECLARE_VALUES):
        yield from _values_remedies(change)
    elif remedy == UPDATE_PRESERVING:
        if any(each.accepts_preserve for each in change.generations):
            yield Remedy.of("tf-preserve", argument=change.declaration.argument(change.conflicts_argument))
        else:
            yield Remedy.of("tf-no-preserve")
    elif finding.code.name == "addon-version-unfit" and finding.status is Status.FAIL:
        older = facts.current.version if facts.installed else ""
        yield Remedy.of("tf-version", argument=change.declaration.argument("addon_version"), older=older)
    elif finding.code.name == "addon-values-dropped":
        yield Remedy.of("tf-whole", argument=change.declaration.argument("configuration_values"))
    else:
        yield remedy


def _values_remedies(change: PlannedAddonChange) -> Iterator[Remedy]:
    if not change.declaration.accepts_values:
        version = change.declaration.argument("addon_version")
        yield Remedy.of("tf-no-values", source=change.declaration.source, version=version)
        return
    with_values = [generation for generation in change.generations if generation.has_values]
    without_values = [generation for generation in change.generations if not generation.has_values]
    if with_values:
        yield Remedy.of("tf-values", argument=change.declaration.argument("configuration_values"))
        if change.request.mode == Mode.OVERWRITE.value and change.request.kind is RequestKind.UPDATE:
            yield Remedy.of("tf-none", argument=change.declaration.argument(change.conflicts_argument))
    version = change.declaration.argument("addon_version")
    for generation in without_values:
        yield Remedy.of("tf-provider", provider=generation.value, creates=change.is_creation, version=version)


def judge_change(
    change: PlannedAddonChange, facts: AddonFacts, values: Doc | None, validate: ValuesValidator
) -> JudgedAddonChange:
    """Judge an update, or a creation if `facts` say that EKS does not manage the add-on. `values`: the values after the
    change, None if EKS keeps the current ones."""
    plan = plan_update(facts, AddonUpdateRequest(_assumed_mode(change), values), validate)
    assumptions = tuple(_find_assumptions(change, facts))
    all_findings = [_with_address(each, change, facts) for each in plan.findings]
    if assumptions:
        all_findings = [_as_unknown(each, assumptions) for each in all_findings]
    is_irrelevant = _is_only_mode_unknown(change) and not any(each.at_risk for each in plan.changes)
    all_findings += () if is_irrelevant else _assumption_findings(change, assumptions)
    all_findings += _empty_values_findings(change, facts, values)
    all_findings += _drift_findings(change, facts)
    all_findings += _role_findings(change)
    if not facts.installed and facts.objects:
        all_findings.append(_takeover_finding(change, plan, all_findings))
    all_findings += removal_findings(change)
    findings = sort_findings(all_findings)
    return JudgedAddonChange(change, replace(plan, findings=findings), findings, assumptions)


def without_plan(change: PlannedAddonChange, *findings: Finding) -> JudgedAddonChange:
    """A judgement without predicted fields: it has only these findings."""
    return JudgedAddonChange(change, None, sort_findings((*findings, *removal_findings(change))))


def of_change(change: PlannedAddonChange, text: TextName, **values: Any) -> Finding:
    """A finding about a request that EKS refuses, or that lacks a fact for a judgement."""
    return Finding.of(text, change.subject, (change.evidence,), **values)


def _assumed_mode(change: PlannedAddonChange) -> Mode:
    """The worst mode if it is unknown; at a creation, PRESERVE acts as NONE (CreateAddonRequest)."""
    if isinstance(change.request.mode, Unknown):
        return Mode.OVERWRITE
    mode = Mode(change.request.mode)
    return Mode.NONE if mode is Mode.PRESERVE and change.is_creation else mode


def _find_assumptions(change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Assumption]:
    request = change.request
    if request.sends_version and (isinstance(request.after, Unknown) or not request.after):
        reason = _as_clause(request.after) if isinstance(request.after, Unknown) else "is empty"
        yield Assumption("addon_version", reason, f"{facts.target.version}, which EKS marks as default")
    if isinstance(request.mode, Unknown):
        yield Assumption(request.set_by, _as_clause(request.mode), "OVERWRITE, which takes most")
    if request.sends_values and isinstance(request.values, Unknown):
        yield Assumption("configuration_values", _as_clause(request.values), "those of today")


def _as_clause(unknown: Unknown) -> str:
    return unknown.why.removeprefix("it ")


def _is_only_mode_unknown(change: PlannedAddonChange) -> bool:
    request = change.request
    has_other_unknowns = (request.sends_version and not isinstance(request.after, str)) or (
        request.sends_values and isinstance(request.values, Unknown)
    )
    return isinstance(request.mode, Unknown) and not has_other_unknowns


def _assumption_findings(change: PlannedAddonChange, assumptions: Sequence[Assumption]) -> Iterator[Finding]:
    for assumption in assumptions:
        yield of_change(
            change,
            "addon-terraform-unknown/effect",
            addon=change.addon,
            supposed=assumption,
            name=assumption.argument,
            address=change.request.address,
            argument=change.declaration.argument(assumption.argument),
        )


_CONDITIONAL_CODES = frozenset(
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


def _as_unknown(finding: Finding, assumptions: Sequence[Assumption]) -> Finding:
    """The finding holds only under the assumptions."""
    if finding.code.name not in _CONDITIONAL_CODES:
        return finding
    evidence = (*finding.evidence, *map(str, assumptions))
    missing = finding.missing or " and ".join(each.argument for each in assumptions)
    return replace(finding, status=Status.UNKNOWN, evidence=evidence, missing=missing)


def _with_address(finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> Finding:
    remedies = terraform_remedies(finding, change, facts)
    return replace(finding, evidence=(*finding.evidence, change.evidence), remedy=remedies)


def _empty_values_findings(change: PlannedAddonChange, facts: AddonFacts, values: Doc | None) -> Iterator[Finding]:
    """An empty text is sent unchanged, and no document says how EKS reads it: it is judged as ``{}``."""
    if values == {} and change.request.sends_values and not change.request.values and facts.values:
        argument = change.declaration.argument("configuration_values")
        yield of_change(change, "addon-terraform-unknown/emptied", argument=argument)


def _drift_findings(change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Finding]:
    before = change.request.before
    if facts.installed and isinstance(before, str) and before and before != facts.current.version:
        current = facts.current.version
        yield of_change(change, "addon-terraform-unknown/drifted", addon=change.addon, before=before, now=current)


def _role_findings(change: PlannedAddonChange) -> Iterator[Finding]:
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


def _takeover_finding(change: PlannedAddonChange, plan: AddonPlan, all_findings: list[Finding]) -> Finding:
    """The other fields of the chart that are overwritten are never fully known."""
    has_failures = any(each.status is Status.FAIL for each in all_findings)
    mode = plan.request.mode
    objects = ", ".join(str(object_name(live)) for live in plan.facts.objects)
    return Finding.of(
        "addon-terraform-takes-over/known" if has_failures else "addon-terraform-takes-over/unknown",
        change.subject,
        (f"there are: {objects}", change.evidence),
        addon=change.addon,
        mode=mode.value,
        takes=mode is Mode.OVERWRITE,
        values=change.declaration.argument("configuration_values"),
        conflicts=change.declaration.argument(change.conflicts_argument),
    )
