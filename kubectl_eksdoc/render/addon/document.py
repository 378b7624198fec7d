"""The updates as one plain document: what ``-o json`` and ``-o yaml`` print, as AddonDiff.json says.

What is not known is null and is told as a finding; what stands nowhere is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.configuration import Broken, shown
from kubectl_eksdoc.core.model.documents import ADDON_DIFF, API_VERSION
from kubectl_eksdoc.core.plan.addon.merging import MISSING
from kubectl_eksdoc.core.plan.addon.modes import Mode
from kubectl_eksdoc.core.plan.addon.plan import AddonPlan, WayOut
from kubectl_eksdoc.core.plan.addon.prediction import FieldChange, Foretold
from kubectl_eksdoc.core.plan.addon.schema.changes import changes
from kubectl_eksdoc.core.plan.addon.since import Since
from kubectl_eksdoc.core.plan.addon.usage import Usage
from kubectl_eksdoc.core.rules.keeping.secrets import printed
from kubectl_eksdoc.render.addon import commands, words
from kubectl_eksdoc.render.addon.view import AddonView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.since.document import since_fields


def document(view: AddonView) -> Fields:
    """The whole of it. Lists are sorted, so the same updates are the same document."""
    return {
        "apiVersion": API_VERSION,
        "kind": ADDON_DIFF,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "addons": [_of_view(plan, view) for plan in view.plans],
        **since_fields(view.beside),
        "findings": [finding(each) for plan in view.plans for each in plan.findings],
    }


def _of_view(plan: AddonPlan, view: AddonView) -> Fields:
    name = plan.facts.addon.name
    return addon(plan, commands.terraform, view.steps.get(name), view.since.get(name))


ForTerraform = Callable[[AddonPlan, WayOut], Iterable[tuple[str, str]]]
"""(of which versions of the provider, what to write)."""


def addon(
    plan: AddonPlan,
    terraform: ForTerraform,
    steps: Sequence[AddonPlan] | None = None,
    since: Sequence[Since] | None = None,
) -> Fields:
    """The update of one; `steps` and `since` are None where they were not asked for."""
    facts = plan.facts
    return {
        "name": facts.addon.name,
        "version": known(facts.now.version),
        "target": facts.target.version,
        "steps": strings(facts.steps),
        "offered": None if isinstance(facts.offered, Unknown) else facts.offered,
        "mode": plan.asked.mode.value,
        "verdict": words.verdict(plan),
        "values": None if isinstance(facts.values, Unknown) else cast(Json, printed(facts.values)),
        "conflict": known(plan.conflict),
        "fields": [_field(change) for change in plan.changes],
        "schemaChanges": _schema(plan),
        "wayOut": None if plan.way_out is None else _way_out(plan, plan.way_out, terraform),
        "users": _users(plan.facts.usage),
        "eachStep": None if steps is None else [_step(each) for each in steps],
        "firstInSchema": None if since is None else [_since(each) for each in since],
    }


def _users(usage: Usage) -> Fields:
    """Null is what could not be read."""
    names, groups = usage.branch_pods, usage.target_groups
    return {
        "podsWithSecurityGroups": None if isinstance(names, Unknown) else strings(names),
        "podsAstray": None if isinstance(names, Unknown) else strings(pod.key for pod in usage.astray),
        "securityGroupPolicies": None if isinstance(usage.policies, Unknown) else strings(usage.policies),
        "eniConfigs": None if isinstance(usage.eni_configs, Unknown) else strings(usage.eni_configs),
        "targetGroupBindings": None if isinstance(groups, Unknown) else strings(groups),
    }


def _since(found: Since) -> Fields:
    return {
        "field": str(found.field),
        "configuration": shown(found.config),
        "lacks": known(found.lacks),
        "has": found.has,
        "exact": found.exact,
    }


def _step(plan: AddonPlan) -> Fields:
    values = plan.way_out.values if plan.way_out is not None else plan.facts.values
    return {
        "version": plan.facts.target.version,
        "verdict": words.verdict(plan),
        "atRisk": strings(str(change.field) for change in plan.changes if change.at_risk),
        "cannotKeep": strings(str(change.field) for change in (plan.way_out.cannot if plan.way_out else ())),
        "values": None if isinstance(values, Unknown) else cast(Json, printed(values)),
        "command": known(commands.next_update(plan)),
        "findings": [finding(each) for each in plan.findings],
    }


def _field(change: FieldChange) -> Fields:
    fields: Fields = {
        "object": {
            "apiVersion": change.field.of.api_version,
            "kind": change.field.of.kind,
            "namespace": known(change.field.of.namespace),
            "name": change.field.of.name,
        },
        "path": str(change.field).partition(" - ")[2],
        "configuration": shown(change.config) if change.config else None,
    }
    if change.live is not MISSING:
        fields["live"] = cast(Json, change.field.printed(change.live))
    return fields | {
        "owners": strings(change.owners),
        "atRisk": change.at_risk,
        "ownershipGrows": change.expands,
        "why": None if change.witness is None else change.witness.value,
        "modes": {mode.value: _foretold(change, change.by_mode[mode], mode) for mode in Mode},
    }


def _foretold(change: FieldChange, told: Foretold, mode: Mode) -> Fields:
    fields: Fields = {"fate": told.fate.value, "confidence": change.confidence(mode).value}
    if told.value is not MISSING and told.value is not None:
        fields["value"] = cast(Json, change.field.printed(told.value))
    return fields


def _schema(plan: AddonPlan) -> list[Json] | None:
    """None where one of the two schemas is not known."""
    old, new = plan.facts.now.schema, plan.facts.target.schema
    if isinstance(old, Unknown) or isinstance(new, Unknown):
        return None
    return strings(changes(old, new).lines)


def _way_out(plan: AddonPlan, way: WayOut, terraform: ForTerraform) -> Fields:
    now = way.usable and len(plan.facts.steps) <= 1  # else another version comes first
    return {
        "values": cast(Json, printed(way.values)),
        "keeps": strings(str(change.field) for change in way.keeps),
        "cannotKeep": strings(str(change.field) for change in way.cannot),
        "refused": None if isinstance(way.broken, Unknown) else [_broken(each) for each in way.broken],
        "command": commands.update_addon(plan, way) if now and plan.facts.installed else None,
        "terraform": [
            {"provider": provider, "arguments": arguments}
            for provider, arguments in (terraform(plan, way) if now else ())
        ],
        "eksctl": cast(Json, commands.eksctl(plan, way)) if now else None,
    }


def _broken(each: Broken) -> Fields:
    return {"path": shown(each.path), "what": each.what, "doubtful": each.doubtful}
