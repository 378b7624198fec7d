"""The update of an add-on in sentences."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.fields import value_of
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.modes import Fate, Mode
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import FieldChange
from kubectl_eksdoc.model.api_objects import at
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.text import counted


def verdict(plan: AddonPlan) -> str:
    """``vpc-cni v1.19.5-eksbuild.1 → v1.20.4-eksbuild.2 with OVERWRITE: 2 fields that somebody has set are reset``."""
    facts, mode = plan.facts, plan.asked.mode
    now = facts.now.version or ("(self-managed)" if facts.objects else "(not there)")
    head = f"{facts.addon.name} {now} → {facts.target.version} with {mode.value}"
    if facts.now.version == facts.target.version:
        head = f"{facts.addon.name} {facts.now.version} (the same version) with {mode.value}"
    return f"{head}: {_in_short(plan)}"


def _in_short(plan: AddonPlan) -> str:
    if plan.facts.offered is False:
        return f"EKS does not offer it for Kubernetes {plan.facts.cluster.version}"
    fates = [change.fate(plan.asked.mode) for change in plan.changes if change.at_risk]
    lost = sum(fate in (Fate.RESET, Fate.REMOVED) for fate in fates)
    if plan.asked.mode is Mode.NONE and Fate.CONFLICT in fates:
        return f"it fails, in conflict over {counted(fates.count(Fate.CONFLICT), 'field')} that another client has set"
    if lost:
        return f"{counted(lost, 'field')} that another client has set {'is' if lost == 1 else 'are'} lost"
    if any(finding.status is Status.UNKNOWN for finding in plan.findings):
        return "nothing that is known to be lost, but not all of it is known"
    if any(finding.status is Status.FAIL for finding in plan.findings):
        return "no field is lost, but something stands in its way"
    return "nothing that other clients have set is lost"


def becomes(change: FieldChange, mode: Mode) -> str:
    """``→ "false"``, ``kept``, ``conflict``, ``?``."""
    told = change.by_mode[mode]
    if told.fate is Fate.UNKNOWN:
        return "?"
    if told.fate in (Fate.RESET, Fate.FOLLOWS):
        return f"→ {value_of(told.value, change.field)}"
    return str(told.fate.value)


def named(change: FieldChange) -> str:
    """Short, for a table: ``DISABLE_TCP_EARLY_DEMUX (init)``, ``.data.Corefile``."""
    field = change.field
    if field.variable:
        return f"{field.variable} (init)" if field.starts_first else field.variable
    return calls(field).removeprefix(".spec.template")


def rolls(plan: AddonPlan) -> str:
    """How the update reaches the nodes, "" for an add-on without a DaemonSet."""
    if plan.asked.mode is Mode.NONE and plan.conflict:
        return "As it fails, nothing is replaced."
    for live in plan.facts.objects:
        if live.get("kind") != "DaemonSet":
            continue
        nodes = at(live, "status", "desiredNumberScheduled")
        most = at(live, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
        if at(live, "spec", "updateStrategy", "type") == "OnDelete":
            return "Its pods are replaced when they are deleted (updateStrategy OnDelete)."
        count = counted(nodes, "node") if isinstance(nodes, int) else "every node it runs on"
        return f"If its template changes, its pods are replaced on {count}, {1 if most is None else most} at a time."
    return ""
