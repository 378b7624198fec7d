"""What came of a Terraform plan: each change of an add-on, judged."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.terraform.declared import DeclaredAddon
from kubectl_eksdoc.addon_diff.terraform.generations import Generation
from kubectl_eksdoc.addon_diff.terraform.requests import AddonRequest, Kind
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject, in_order
from kubectl_eksdoc.model.terraform import TerraformPlan


@dataclass(frozen=True, slots=True)
class PlannedAddonChange:
    """What EKS is asked for, where people have written that, and for which generations of the provider."""

    request: AddonRequest
    where: DeclaredAddon
    generations: tuple[Generation, ...]

    @property
    def subject(self) -> Subject:
        return Subject("TerraformResource", self.request.address)

    @property
    def addon(self) -> str:
        return named(self.request.addon)

    @property
    def creates(self) -> bool:
        """EKS is asked to create it, be it anew."""
        return self.request.kind in (Kind.CREATE, Kind.REPLACE)

    @property
    def conflicts(self) -> str:
        """The argument by which conflicts are resolved: ``resolve_conflicts`` where that is set, as it goes before any
        other, or where the module hands on nothing else; otherwise as the newest of the providers that it may be
        calls it."""
        one = self.where.one_mode or self.request.set_by == "resolve_conflicts"
        if one or (self.generations and self.generations[0].start < (5, 0)):
            return "resolve_conflicts"
        return f"resolve_conflicts_on_{'create' if self.creates else 'update'}"

    @property
    def evidence(self) -> str:
        """The resource that asks for it, and what says in which mode."""
        mode = self.request.mode
        if isinstance(mode, Unknown):
            return f"Terraform: {self.request.address}, {self.where.argument(self.request.set_by)}: {mode.why}"
        return f"Terraform: {self.request.address}, {self.where.said(self.request.set_by, mode)}"


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a judgement rests on where the plan does not say: of which `argument`, `why` in a clause, and what was taken
    `instead`."""

    argument: str
    why: str
    instead: str

    def __str__(self) -> str:
        return f"{self.argument} {self.why}: judged with {self.instead}"


@dataclass(frozen=True, slots=True)
class JudgedAddonChange:
    """`plan`: what becomes of the fields, None where no update or creation was judged. `supposed`: what it rests on
    where the plan does not say. `findings`: all of them, those of `plan` among them, worst first."""

    change: PlannedAddonChange
    plan: AddonPlan | None
    findings: tuple[Finding, ...]
    supposed: tuple[Assumption, ...] = ()

    @property
    def worst(self) -> Severity | None:
        """Of what fails; None where nothing does."""
        return next((each.severity for each in self.findings if each.status is Status.FAIL), None)


@dataclass(frozen=True, slots=True)
class TerraformJudgement:
    """`changes` by address; `elsewhere`: requests for other clusters, which are not judged here. `findings`: of the
    plan as a whole. `addon`: the only one that was looked at, "" for all."""

    plan: TerraformPlan
    changes: tuple[JudgedAddonChange, ...]
    elsewhere: tuple[AddonRequest, ...]
    findings: tuple[Finding, ...]
    addon: str = ""

    @property
    def every(self) -> tuple[Finding, ...]:
        """The findings of all, worst first."""
        return in_order((*self.findings, *(each for change in self.changes for each in change.findings)))


def named(value: str | Unknown | None) -> str:
    return "(known after apply)" if isinstance(value, Unknown) else value or "(none)"
