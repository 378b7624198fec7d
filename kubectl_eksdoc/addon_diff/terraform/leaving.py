"""What it means that Terraform takes an add-on away: deleted, replaced, or forgotten.

Sources: the provider's ``resourceAddonDelete`` (``preserve`` as it is in the state); DeleteAddonRequest: with it the
add-on's software stays in the cluster, and EKS manages it no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.rendering import objects_of
from kubectl_eksdoc.addon_diff.terraform.requests import Kind
from kubectl_eksdoc.addon_diff.terraform.result import PlannedAddonChange
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections


@dataclass(frozen=True, slots=True)
class DeletionLoss:
    """What ends where add-on `name` is deleted."""

    name: str
    severity: Severity
    effect: str
    source: KnowledgeSource


_LOST = {each.name: (each.severity, each.effect) for each in sections(DeletionLoss, "software", "deleted")}
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
    worst, lost = _LOST.get(change.addon, _ANY)
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
