"""What forbids to send an update, and what must be acknowledged first. Judged is the plan of what is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.modes import Fate, Mode
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import FieldChange
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Severity, Status

_ACTIVE = ("", "ACTIVE")
_MENDABLE = ("UPDATE_FAILED", "DEGRADED")
"""EKS takes another update then, and the rollback from a failed one is one; it must be acknowledged."""

_MOST = 5


@dataclass(frozen=True, slots=True)
class Guard:
    """Why nothing is sent, a clause, and what to do instead, a sentence."""

    why: str
    hint: str


def refusals(plan: AddonPlan, on_purpose: bool) -> tuple[Guard, ...]:
    """All that forbids it; () if nothing does. `on_purpose`: as in `sending.Sending`."""
    return (*_of_addon(plan), *_of_version(plan), *_of_fields(plan, on_purpose))


def to_acknowledge(plan: AddonPlan) -> tuple[Finding, ...]:
    """What nobody may pass over: what is critical, what is not known, what is taken away as a whole, and an add-on that
    is not in order. As the plan sorts them."""
    return tuple(each for each in plan.findings if _weighs(each))


def acknowledgement(plan: AddonPlan) -> str:
    """What is typed for it: which add-on goes where."""
    return f"{plan.facts.addon.name} {plan.facts.target.version}"


def changing(plan: AddonPlan) -> tuple[FieldChange, ...]:
    """The fields that are known to become other than they are, by object and field."""
    fates = (Fate.RESET, Fate.REMOVED, Fate.FOLLOWS)
    return tuple(change for change in plan.changes if change.fate(plan.asked.mode) in fates)


def is_nothing(plan: AddonPlan) -> bool:
    """The version stays, the values stay, and nothing is known or feared to change."""
    facts, values = plan.facts, plan.asked.values
    same_values = values is None or values == facts.values
    return facts.addon.version == facts.target.version and same_values and not plan.changes and not plan.findings


def _weighs(finding: Finding) -> bool:
    if finding.status is Status.UNKNOWN or finding.code in (
        Code.of("addon-values-dropped"),
        Code.of("addon-not-active"),
    ):
        return True
    return finding.status is Status.FAIL and finding.severity is Severity.CRITICAL


def _of_addon(plan: AddonPlan) -> Iterator[Guard]:
    addon = plan.facts.addon
    if addon.status == "UPDATING":
        yield Guard(
            f"another update of {addon.name} is in progress",
            f"Wait until it has ended, and look again: aws eks describe-addon --addon-name {addon.name}.",
        )
    elif addon.status not in (*_ACTIVE, *_MENDABLE):
        issues = "".join(f"; {each.code}: {each.message}" for each in addon.issues)
        yield Guard(f"{addon.name} is {addon.status}{issues}", "Fix that first: EKS accepts no update of it now.")


def _of_version(plan: AddonPlan) -> Iterator[Guard]:
    facts = plan.facts
    name, target = facts.addon.name, facts.target.version
    if facts.offered is False:
        yield Guard(
            f"EKS does not offer {target} for Kubernetes {facts.cluster.version}",
            f"Name one that it offers: aws eks describe-addon-versions --addon-name {name}.",
        )
    for each in plan.findings:
        if each.code is Code.of("addon-update-refused"):
            yield Guard(each.message, "\n".join(f"{remedy.text}." for remedy in each.remedy))
        if (
            each.code is Code.of("addon-values-refused")
            and each.status is Status.FAIL
            and each.severity is Severity.HIGH
        ):
            yield Guard(each.message, "\n".join(f"{remedy.text}." for remedy in each.remedy))


def _of_fields(plan: AddonPlan, on_purpose: bool) -> Iterator[Guard]:
    mode = plan.asked.mode
    if mode is Mode.NONE and plan.conflict:
        fields = _named(change for change in plan.changes if change.fate(mode) is Fate.CONFLICT)
        yield Guard(
            f"with NONE it would fail for a conflict with {fields}",
            "--resolve-conflicts PRESERVE leaves them to their current manager, OVERWRITE takes them.",
        )
    lost = [change for change in plan.changes if change.at_risk and change.fate(mode) in (Fate.RESET, Fate.REMOVED)]
    if lost and not on_purpose:
        yield Guard(
            f"with {mode.value} it would take {_named(iter(lost))}, and no configuration value that is known keeps it",
            "--resolve-conflicts PRESERVE leaves it as it is; --as-asked sends the update all the same.",
        )


def _named(changes: Iterator[FieldChange]) -> str:
    names = [calls(change.field) for change in changes]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
