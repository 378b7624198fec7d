"""What to write in Terraform against a finding of an update or a creation, by what the provider can."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.addon_diff.facts import AddonFacts
from kubectl_eksdoc.addon_diff.judging import DECLARE, KEEP, LEAVE
from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.addon_diff.terraform.requests import Kind
from kubectl_eksdoc.addon_diff.terraform.result import PlannedAddonChange
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Status


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
