"""A check as a plain document."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.documents import API_VERSION, UPGRADE_CHECK
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.check.areas import Gate
from kubectl_eksdoc.core.plan.check.plan import CheckPlan, Judged
from kubectl_eksdoc.core.plan.check.way import Way
from kubectl_eksdoc.core.rules.upgrades.sourced import in_words
from kubectl_eksdoc.render.check import documents, words
from kubectl_eksdoc.render.check.gates import gates
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.document import Fields, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.since.document import since_fields


def document(view: CheckView) -> Fields:
    """The whole of it; the same cluster is the same document."""
    plan = view.plan
    gate_of = gates(plan)
    return {
        "apiVersion": API_VERSION,
        "kind": UPGRADE_CHECK,
        "metadata": cast(Json, metadata(plan.facts.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "verdict": words.in_short(plan),
        "way": _way(plan.facts.way),
        "aws": plan.facts.eks.why if isinstance(plan.facts.eks, Unknown) else None,
        "gates": [_gate(plan, gate) for gate in Gate],
        "checks": [_check(each) for each in plan.judged],
        "checklist": documents.checklist(plan),
        "diagnosis": documents.diagnosis(plan, gate_of),
        **documents.changes(plan.changes),
        **since_fields(view.since),
        "suppressed": documents.suppressed(plan, gate_of),
        "notes": strings(plan.notes),
        "findings": [documents.found(gate_of, each) for each in plan.findings],
    }


def _way(way: Way) -> Fields:
    return {
        "now": in_words(way.now),
        "target": in_words(way.target),
        "steps": strings(map(in_words, way.steps)),
        "toldBy": way.told_by,
        "assumed": way.assumed,
    }


def _gate(plan: CheckPlan, gate: Gate) -> Fields:
    """Of what is severe enough."""
    return {
        "gate": gate.value,
        "fail": len(plan.of(gate, Status.FAIL)),
        "unknown": len(plan.of(gate, Status.UNKNOWN)),
    }


def _check(judged: Judged) -> Fields:
    return {
        "codes": strings(sorted(code.name for code in judged.check.codes)),
        "area": judged.check.area.value,
        "gate": None if judged.check.gate is None else judged.check.gate.value,
        "status": judged.status.value,
    }
