"""Past updates as one plain document: what ``-o json`` and ``-o yaml`` print, as AddonAftermath.json says.

What is not known is null and is told as a finding; what stands nowhere is absent.
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.addons import Update, UpdateHistory
from kubectl_eksdoc.core.model.aws.configuration import shown
from kubectl_eksdoc.core.model.documents import ADDON_AFTERMATH, API_VERSION
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.plan.addon.aftermath.facts import Aftermath, ChangedField, Recreating, Templated, Unrecorded
from kubectl_eksdoc.core.plan.addon.aftermath.timeline import Step, Untold
from kubectl_eksdoc.core.plan.addon.merging import MISSING
from kubectl_eksdoc.core.rules.keeping.secrets import printed
from kubectl_eksdoc.render.addon import commands
from kubectl_eksdoc.render.addon.after import words
from kubectl_eksdoc.render.addon.after.view import AfterView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, moment, strings
from kubectl_eksdoc.render.encode import Json


def document(view: AfterView) -> Fields:
    """The whole of it. Lists are sorted, so the same past is the same document."""
    return {
        "apiVersion": API_VERSION,
        "kind": ADDON_AFTERMATH,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "addons": [_addon(found, view.cluster.identity.context) for found in view.found],
        "findings": [finding(each) for found in view.found for each in found.findings],
    }


def _addon(found: Aftermath, context: str) -> Fields:
    now, update, history = found.facts.now, found.facts.update, found.facts.history
    return {
        "name": now.addon.name,
        "version": now.now.version,
        "verdict": words.verdict(found),
        "update": _update(update) if isinstance(update, Update) else None,
        "otherUpdates": history.unseen if isinstance(history, UpdateHistory) else None,
        "values": None if isinstance(now.values, Unknown) else cast(Json, printed(now.values)),
        "templates": [_templated(each, context) for each in found.templated],
        "withoutHistory": [_unrecorded(each) for each in found.unrecorded],
        "pods": [_pods(each) for each in found.recreating],
        "tomorrow": _tomorrow(found),
    }


def _update(update: Update) -> Fields:
    return {
        "id": update.id,
        "status": update.status,
        "begun": moment(update.begun),
        "parameters": {name: commands.printed_text(text) for name, text in sorted(update.parameters)},
        "errors": [{"code": each.code, "message": each.message} for each in update.errors],
    }


def _object(of: Named) -> Fields:
    return {"apiVersion": of.api_version, "kind": of.kind, "namespace": known(of.namespace), "name": of.name}


def _templated(each: Templated, context: str) -> Fields:
    step = each.step
    candidates = step.candidates if isinstance(step, Untold) else ()
    return {
        "object": _object(each.of),
        "changed": None if isinstance(step, Untold) else isinstance(step, Step),
        "before": step.before.number if isinstance(step, Step) else None,
        "after": step.after.number if isinstance(step, Step) else None,
        "why": step.why,
        "candidates": [{"before": before, "after": after} for before, after in candidates],
        "fields": [_field(change) for change in each.changes],
        "tonight": _tonight(each, context),
    }


def _tonight(each: Templated, context: str) -> Fields | None:
    if each.patch is None:
        return None
    rollout = each.rollout
    return {
        "patch": cast(Json, printed(each.patch)),
        "command": words.patch_command(each, context),
        "pods": rollout.pods if rollout is not None else None,
        "atATime": rollout.at_a_time if rollout is not None else None,
        "waitsForDeletion": rollout is not None and rollout.waits,
    }


def _field(change: ChangedField) -> Fields:
    fields: Fields = {
        "path": str(change.field).partition(" - ")[2],
        "cause": change.because.cause.value,
        "why": change.because.why,
        "confidence": change.because.sure.value,
        "state": change.state.value,
        "owners": strings(change.owners),
        "configuration": shown(change.config) if change.config else None,
    }
    for name, value in (("before", change.before), ("after", change.after), ("live", change.live)):
        if value is not MISSING:
            fields[name] = cast(Json, change.field.printed(value))
    return fields


def _unrecorded(each: Unrecorded) -> Fields:
    fields: Fields = {
        "object": _object(each.of),
        "written": known(each.when),
        "fields": strings(str(field).partition(" - ")[2] for field in each.fields),
    }
    if each.applied is not None:
        fields["lastApplied"] = cast(Json, printed(each.applied))
    return fields


def _pods(rule: Recreating) -> Fields:
    return {
        "field": str(rule.field),
        "recreate": None if isinstance(rule.pods, Unknown) else strings(rule.pods),
        "why": rule.says,
        "source": known(rule.source),
        "confidence": rule.sure.value,
    }


def _tomorrow(found: Aftermath) -> Fields | None:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return None
    broken = None if isinstance(way.broken, Unknown) else strings(str(each) for each in way.broken)
    return {
        "values": cast(Json, printed(way.values)),
        "keeps": strings(str(change.field) for change in way.keeps),
        "cannotKeep": strings(str(change.field) for change in way.cannot),
        "refused": cast(Json, broken),
        "command": commands.update_addon(plan, way) if way.usable else None,
    }
