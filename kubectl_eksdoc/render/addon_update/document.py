"""The update as one plain document: what ``-o json`` and ``-o yaml`` print, as AddonUpdate.json says."""

from __future__ import annotations

from typing import Any, cast

from kubectl_eksdoc.core.model.documents import ADDON_UPDATE, API_VERSION
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.plan.addon.merging import Missing
from kubectl_eksdoc.core.plan.addon.modes import Fate
from kubectl_eksdoc.core.rules.keeping.secrets import printed
from kubectl_eksdoc.core.run.addon.ended import Ended
from kubectl_eksdoc.core.run.addon.outcome import Check, Verdict
from kubectl_eksdoc.core.run.addon.rollout import Rollout
from kubectl_eksdoc.core.run.addon.targets import Health
from kubectl_eksdoc.render.addon_update import words
from kubectl_eksdoc.render.addon_update.view import UpdateView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json


def document(view: UpdateView) -> Fields:
    """The whole of it. `outcome` is null where nothing was sent."""
    sent = view.sent
    return {
        "apiVersion": API_VERSION,
        "kind": ADDON_UPDATE,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "run": known(view.run),
        "journal": known(view.journal),
        "addon": sent.addon,
        "version": sent.before,
        "target": sent.target,
        "mode": sent.mode,
        "values": cast(Json, printed(sent.values)),
        "keeps": strings(sent.keeps),
        "changes": view.changes,
        "verdict": words.verdict(view),
        "refusals": [{"why": each.why, "hint": each.hint} for each in view.guards],
        "toAcknowledge": strings(each.message for each in view.weighty),
        "wayBack": _back(view),
        "outcome": None if view.ended is None else outcome(view.ended),
        "findings": [finding(each) for each in view.plan.findings] if view.plan is not None else [],
    }


def _back(view: UpdateView) -> Fields | None:
    back = view.back
    if isinstance(back, str):
        return None
    return {
        "commands": strings(back.commands),
        "caveats": strings(back.caveats),
        "byHand": strings(back.by_hand),
    }


def outcome(ended: Ended) -> Fields:
    """What came of it."""
    return {
        "update": ended.id,
        "stage": ended.stage.value,
        "seconds": round(ended.seconds),
        "left": known(ended.left),
        "errors": [
            {"code": each.code, "message": each.message, "resources": strings(each.resources)} for each in ended.errors
        ],
        "fields": [_check(each) for each in ended.checks],
        "rollouts": [_rollout(each) for each in ended.rollouts],
        "notReady": strings(ended.not_ready),
        "targets": [_health(each) for each in ended.health],
        "unwatched": known(ended.unwatched),
        "unread": [{"object": _object(of), "why": why} for of, why in ended.unread],
    }


def _object(of: Named) -> Fields:
    return {"apiVersion": of.api_version, "kind": of.kind, "namespace": known(of.namespace), "name": of.name}


def _check(check: Check) -> Fields:
    fields: Fields = {
        "object": _object(check.field.of),
        "path": str(check.field).partition(" - ")[2],
        "verdict": check.verdict.value,
        **_given("before", check.field.printed(check.live)),
        **({} if check.verdict is Verdict.NOT_READ else _given("now", check.field.printed(check.found))),
        "owners": strings(check.owners),
    }
    if check.why:
        fields["why"] = check.why
    told = check.foretold
    if told is None:
        return fields | {"foretold": None}
    value = {} if told.fate is Fate.UNKNOWN else _given("value", check.field.printed(told.value))
    return fields | {"foretold": {"fate": told.fate.value, **value, "confidence": told.sure.value}}


def _given(key: str, value: Any) -> Fields:
    """What stands nowhere is absent."""
    return {} if isinstance(value, Missing) else {key: cast(Json, value)}


def _rollout(each: Rollout) -> Fields:
    return {
        "object": _object(each.of),
        "desired": each.desired,
        "updated": each.updated,
        "available": each.available,
        "done": each.done,
        "byHand": each.by_hand,
        "stuck": known(each.stuck),
    }


def _health(each: Health) -> Fields:
    return {
        "service": each.service,
        "healthyBefore": None if each.unread and not each.before else each.before,
        "healthyAtWorst": None if each.unread and not each.before else each.lowest,
        "healthyNow": None if each.unread else each.now,
        "unhealthy": strings(each.unhealthy),
        "unread": known(each.unread),
    }
