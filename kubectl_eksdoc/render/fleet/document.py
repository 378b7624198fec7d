"""A fleet as one plain document: what ``-o json`` and ``-o yaml`` print, as Fleet.json says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, FLEET
from kubectl_eksdoc.core.model.findings import Severity
from kubectl_eksdoc.core.model.fleet import Answered, Unanswered
from kubectl_eksdoc.core.plan.fleet.plan import Shared
from kubectl_eksdoc.core.plan.fleet.standing import Row, Standing
from kubectl_eksdoc.render.document import Fields, known, strings
from kubectl_eksdoc.render.encode import Json, plain_value
from kubectl_eksdoc.render.fleet import words
from kubectl_eksdoc.render.fleet.view import FleetView


def document(view: FleetView) -> Fields:
    """The whole of it. Members are sorted, the worst first; the same answers are the same document."""
    plan = view.plan
    return {
        "apiVersion": API_VERSION,
        "kind": FLEET,
        "metadata": {
            "toolVersion": view.tool_version,
            "command": view.command,
            "observedAt": known(plan.observed_at),
            "options": {key: plain_value(view.options[key]) for key in sorted(view.options)},
        },
        "verdict": words.in_short(plan),
        "exitCode": plan.exit_code,
        "standing": {each.value: plan.standing(each) for each in Standing},
        "members": [_member(row) for row in plan.rows],
        "shared": [_shared(each) for each in plan.shared],
        "lacking": [{"right": each.right, "members": strings(each.members)} for each in plan.lacking],
        "notes": strings(plan.notes),
        "findings": [found for row in plan.rows for found in _findings(row)],
    }


def _member(row: Row) -> Fields:
    outcome, who = row.outcome, row.outcome.who
    refused = isinstance(outcome, Unanswered)
    fields: Fields = {
        "name": row.member.name,
        "context": known(who.context or row.member.context),
        "cluster": known(who.cluster),
        "account": known(who.account),
        "region": known(who.region),
        "version": known(who.server_version),
        "source": known(outcome.source) if isinstance(outcome, Answered) else None,
        "observedAt": known(outcome.observed_at) if isinstance(outcome, Answered) else None,
        "standing": row.standing.value,
        "exitCode": outcome.exit_code,
        "reason": outcome.reason if isinstance(outcome, Unanswered) else None,
        "hint": known(outcome.hint) if isinstance(outcome, Unanswered) else None,
        "fail": None if refused else {each.value: row.fails[each] for each in Severity},
        "unknown": None if refused else row.unknown,
        "first": known(words.first(row)),
        "result": cast(Json, outcome.document) if isinstance(outcome, Answered) else None,
    }
    return fields | {"unverified": strings(who.unverified)} if who.unverified else fields


def _findings(row: Row) -> Iterator[Fields]:
    """As its own document has them, each with whose it is."""
    if isinstance(row.outcome, Answered):
        for found in row.outcome.document.get("findings") or ():
            if isinstance(found, dict):
                yield {"member": row.member.name, **found}


def _shared(found: Shared) -> Fields:
    return {
        "code": found.code,
        "title": found.title,
        "severity": found.severity.value,
        "status": found.status.value,
        "members": strings(found.members),
    }
