"""A change of an add-on in a Terraform plan, judged: the findings of its update or creation with the address that asks
for it and what to write there, and what the plan itself speaks against.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.addon_diff.judging import DECLARE, KEEP, LEAVE
from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.addon_diff.plan import AddonPlan, Judge, plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.terraform.requests import Kind
from kubectl_eksdoc.addon_diff.terraform.result import Assumption, JudgedAddonChange, PlannedAddonChange
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, named
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, in_order
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections

# What it means that Terraform takes an add-on away: deleted, replaced, or forgotten.
#
# Sources: the provider's ``resourceAddonDelete`` (``preserve`` as it is in the state); DeleteAddonRequest: with it the
# add-on's software stays in the cluster, and EKS manages it no more.


@frozen
class DeletionLoss:
    """What ends where add-on `name` is deleted."""

    name: str
    severity: Severity
    effect: str
    source: KnowledgeSource


_LOST = sections(DeletionLoss, "software", "deleted")
_ANY = (Severity.HIGH, "what it does in the cluster ends")


def leaving(change: PlannedAddonChange) -> Iterator[Finding]:
    """One finding for a request that takes the add-on away, none for any other."""
    request, addon = change.request, change.addon
    if request.kind is Kind.FORGET:
        yield _finding(
            change,
            Severity.LOW,
            f"{addon} is forgotten: it stays in the cluster as it is, and Terraform updates it no more",
            (),
            Remedy("declare it elsewhere, or its version stays behind when the cluster is upgraded"),
        )
    elif request.kind in (Kind.DELETE, Kind.REPLACE):
        yield _kept(change) if request.keeps else _deleted(change)


def _kept(change: PlannedAddonChange) -> Finding:
    replaced = change.request.kind is Kind.REPLACE
    return _finding(
        change,
        Severity.MEDIUM,
        f"{change.addon} is deleted {'and recreated ' if replaced else ''}as an add-on, and its objects stay: "
        f"EKS manages them {'not in between' if replaced else 'no more'}",
        ("preserve = true",),
        _FORCED if replaced else _MOVED,
    )


_FORCED = Remedy("look what forces the replacement (# forces replacement in terraform plan), or untaint it")
_MOVED = Remedy("where only its address has changed, write a moved block")


def _deleted(change: PlannedAddonChange) -> Finding:
    replaced = change.request.kind is Kind.REPLACE
    loss = _LOST.by("name").get(change.addon)
    worst, lost = (loss.severity, loss.effect) if loss else _ANY
    objects = ", ".join(f"{of.kind} {of.name}" for of in objects_of(change.addon)) or "all of its objects"
    back = "until it is recreated, without what people had set in it" if replaced else "for good"
    return _finding(
        change,
        worst,
        f"{change.addon} is {'deleted and recreated' if replaced else 'deleted'} with its objects: {lost}",
        (f"deleted {back}: {objects}", "preserve is not true in Terraform's state"),
        Remedy(
            f"set {change.where.argument('preserve')} to true and apply that by itself before: a deletion goes by the "
            "state, not by what is written"
        ),
        _FORCED if replaced else _MOVED,
    )


def _finding(
    change: PlannedAddonChange, severity: Severity, message: str, evidence: tuple[str, ...], *remedies: Remedy
) -> Finding:
    who = f"Terraform: {change.request.address}, {change.request.kind.value}"
    return Finding(
        Code.of("addon-terraform-removes"), severity, Status.FAIL, change.subject, message, (*evidence, who), remedies
    )


# What to write in Terraform against a finding of an update or a creation, by what the provider can.


def written_there(finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> tuple[Remedy, ...]:
    """The remedies of `finding` as Terraform's; those that are no matter of how it is asked stay."""
    found: list[Remedy] = []
    for remedy in finding.remedy:
        found += _instead(remedy, finding, change, facts)
    return tuple(dict.fromkeys(found))


def _instead(remedy: Remedy, finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Remedy]:
    if remedy in (KEEP, DECLARE):
        yield from _values(change)
    elif remedy == LEAVE:
        yield from _preserve(change)
    elif finding.code is Code.of("addon-version-unfit") and finding.status is Status.FAIL:
        version = change.where.argument("addon_version")
        offered = "one that EKS offers" + (
            f", and that is not older than {facts.now.version}" if facts.installed else ""
        )
        yield Remedy(f"set {version} to {offered}")
    elif finding.code is Code.of("addon-values-dropped"):
        whole = change.where.argument("configuration_values")
        yield Remedy(f"write the whole document to {whole}: the values of today with what is to be new")
    else:
        yield remedy


def _values(change: PlannedAddonChange) -> Iterator[Remedy]:
    if not change.where.gives_values:
        version = change.where.argument("addon_version")
        yield Remedy(
            f"{change.where.source} hands on no configuration values before 19.1: raise it, or update with the values "
            f"proposed here by the AWS CLI, and set {version} to the same version in the same change"
        )
        return
    able = [each for each in change.generations if each.gives_values]
    unable = [each for each in change.generations if not each.gives_values]
    if able:
        values = change.where.argument("configuration_values")
        yield Remedy(f"write the values proposed here to {values}, and plan again")
        if change.request.mode == Mode.OVERWRITE.value and change.request.kind is Kind.UPDATE:
            mode = change.where.argument(change.conflicts)
            yield Remedy(f'set {mode} to "NONE" with them: what was not foreseen is refused then')
    version = change.where.argument("addon_version")
    otherwise = (
        "create it with the values proposed here by the AWS CLI, and import it"
        if change.creates
        else f"update with the values proposed here by the AWS CLI, and set {version} to the same version in the same "
        "change"
    )
    for each in unable:
        yield Remedy(
            f"AWS provider {each.value} gives no configuration values: raise it to 4.47 or later, or {otherwise}"
        )


def _preserve(change: PlannedAddonChange) -> Iterator[Remedy]:
    if any(each.gives_preserve for each in change.generations):
        argument = change.where.argument(change.conflicts)
        yield Remedy(
            f'no configuration value that is known here leads to it: set {argument} to "PRESERVE", and check it '
            "afterwards"
        )
    else:
        yield Remedy("the AWS provider takes PRESERVE from 4.32 on only: update by the AWS CLI with PRESERVE")


_FIRST = Remedy("apply what it depends on first (terraform apply -target), and judge the plan that is made then")


def judged(change: PlannedAddonChange, facts: AddonFacts, values: Doc | None, judge: Judge) -> JudgedAddonChange:
    """An update, or a creation where `facts` say that EKS does not manage it. `values`: those that hold afterwards by
    the plan, None where EKS keeps today's."""
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
    """Nothing is predicted of its fields: what is said of it is all."""
    return JudgedAddonChange(change, None, in_order((*findings, *leaving(change))))


def refused(change: PlannedAddonChange, message: str, *remedies: Remedy) -> Finding:
    """EKS refuses what is asked for."""
    return Finding(
        Code.of("addon-terraform-clash"),
        Severity.HIGH,
        Status.FAIL,
        change.subject,
        message,
        (change.evidence,),
        remedies,
    )


def open_question(change: PlannedAddonChange, message: str, missing: str, remedy: Remedy = _FIRST) -> Finding:
    """Something without which the change cannot be judged."""
    return Finding(
        Code.of("addon-terraform-unknown"),
        Severity.HIGH,
        Status.UNKNOWN,
        change.subject,
        message,
        (change.evidence,),
        (remedy,),
        missing=missing,
    )


def _mode(change: PlannedAddonChange) -> Mode:
    """The worst where it is not known; PRESERVE does at a creation what NONE does (CreateAddonRequest)."""
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
        yield open_question(
            change,
            f"the effect on {change.addon} is not known: {each}",
            f"{each.argument} of {change.request.address}",
            Remedy(f"write {change.where.argument(each.argument)} as a value that is known when Terraform plans"),
        )


_OPEN = frozenset(
    Code.each(
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
"""What rests on the version, the values or the mode."""


def _doubted(finding: Finding, supposed: Sequence[Assumption]) -> Finding:
    """It is so only if what was supposed is."""
    if finding.code not in _OPEN:
        return finding
    evidence = (*finding.evidence, *map(str, supposed))
    missing = finding.missing or " and ".join(each.argument for each in supposed)
    return replace(finding, status=Status.UNKNOWN, evidence=evidence, missing=missing)


def _addressed(finding: Finding, change: PlannedAddonChange, facts: AddonFacts) -> Finding:
    remedies = written_there(finding, change, facts)
    return replace(finding, evidence=(*finding.evidence, change.evidence), remedy=remedies)


def _empty(change: PlannedAddonChange, facts: AddonFacts, values: Doc | None) -> Iterator[Finding]:
    """An empty text is sent as it is, and no document says what EKS takes it for: judged as ``{}``."""
    if values == {} and change.request.sends_values and not change.request.values and facts.values:
        yield open_question(
            change,
            "configuration_values are emptied: EKS may take that for no values, or keep those of today",
            "what EKS makes of an empty text",
            Remedy(f'write {change.where.argument("configuration_values")} as "{{}}", or as the values to keep'),
        )


def _drifted(change: PlannedAddonChange, facts: AddonFacts) -> Iterator[Finding]:
    before = change.request.before
    if facts.installed and isinstance(before, str) and before and before != facts.now.version:
        yield open_question(
            change,
            f"the plan was made when {change.addon} was at {before}, and it is at {facts.now.version} here",
            "a plan and a cluster of the same time",
            Remedy("plan again, and read the cluster again"),
        )


def _of_role(change: PlannedAddonChange) -> Iterator[Finding]:
    """What roles allow is not in the plan: pods that have one are not known to do as well with another, or none."""
    before, after = change.request.resource.before, change.request.resource.after
    if before is None or after is None or not before.role or before.role == after.role:
        return
    what = f"becomes {after.role}" if isinstance(after.role, str) and after.role else "is taken away"
    what = "becomes one that is known after apply only" if isinstance(after.role, Unknown) else what
    yield open_question(
        change,
        f"the role of {change.addon}'s service account, {before.role}, {what}: what its pods may do then is not known",
        "what the roles allow",
        Remedy("compare what both allow before it is applied: aws iam list-attached-role-policies"),
    )


def _takes_over(change: PlannedAddonChange, plan: AddonPlan, found: list[Finding]) -> Finding:
    """What else of the chart is written over is never wholly known."""
    fails = any(each.status is Status.FAIL for each in found)
    mode = plan.asked.mode
    does = (
        "EKS takes every field that its chart has"
        if mode is Mode.OVERWRITE
        else "a conflict ends the creation, and the next apply deletes and recreates its objects"
    )
    objects = ", ".join(str(named(live)) for live in plan.facts.objects)
    return Finding(
        Code.of("addon-terraform-takes-over"),
        Severity.HIGH,
        Status.FAIL if fails else Status.UNKNOWN,
        change.subject,
        f"{change.addon} lives in the cluster already, and not as an add-on of EKS: with {mode.value} {does}",
        (f"there are: {objects}", change.evidence),
        (
            Remedy(
                f"write what is to stay to {change.where.argument('configuration_values')}, and set "
                f'{change.where.argument(change.conflicts)} to "OVERWRITE" once nothing else is lost'
            ),
        ),
        missing="" if fails else "which other fields of its objects are not as the chart has them",
    )
