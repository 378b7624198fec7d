"""The parts of a check's document beside its findings: checklist, diagnosis, changes, what is suppressed."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.findings import Finding
from kubectl_eksdoc.core.plan.check.changed import Changed
from kubectl_eksdoc.core.plan.check.checklist.steps import Step
from kubectl_eksdoc.core.plan.check.plan import CheckPlan
from kubectl_eksdoc.core.plan.check.symptoms import Suspect
from kubectl_eksdoc.core.rules.upgrades.sourced import in_words
from kubectl_eksdoc.render.check.gates import GateOf
from kubectl_eksdoc.render.document import Fields, finding, known, remedy, strings, subject
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.times import rfc3339


def found(gate_of: GateOf, each: Finding) -> Fields:
    """A finding, and the step that waits for it."""
    gate = gate_of(each)
    return {**finding(each), "gate": None if gate is None else gate.value}


def checklist(plan: CheckPlan) -> list[Json]:
    return [_step(plan, each) for each in plan.checklist]


def _step(plan: CheckPlan, step: Step) -> Fields:
    """`waitsFor`: the findings to be mended before, by code and subject."""
    source: Json = None
    if step.source is not None:
        source = {"document": step.source.document, "confidence": step.source.confidence.value}
    waiting: list[Json] = [
        {"code": each.code.name, "status": each.status.value, "subject": subject(each.subject)}
        for each in plan.waiting(step)
    ]
    return {
        "number": step.number,
        "phase": step.phase.value,
        "at": None if step.at is None else in_words(step.at),
        "title": step.title,
        "why": step.why,
        "commands": strings(step.commands),
        "doneWhen": known(step.done_when),
        "verify": known(step.verify),
        "gate": None if step.gate is None else step.gate.value,
        "waitsFor": waiting,
        "source": source,
    }


def diagnosis(plan: CheckPlan, gate_of: GateOf) -> Fields | None:
    """None where no symptom was named."""
    told = plan.diagnosis
    if told is None:
        return None
    return {
        "symptom": told.symptom.value,
        "suspects": [_suspect(each) for each in told.suspects],
        "unknown": [found(gate_of, each) for each in told.unknown],
        "elsewhere": [cast(Json, remedy(each)) for each in told.elsewhere],
    }


def _suspect(of: Suspect) -> Fields:
    return {
        "what": of.what,
        "code": of.code,
        "severity": of.severity.value,
        "subject": subject(of.subject),
        "because": of.because,
        "evidence": strings(of.evidence),
        "do": None if of.do is None else cast(Json, remedy(of.do)),
        "undo": of.undo,
    }


def changes(told: Changed | None) -> Fields:
    """Since when, what, and what nobody read; `changedSince` is null where nobody asked."""
    listed: list[Json] = [
        {"at": rfc3339(each.at), "subject": subject(each.subject), "what": each.what, "source": each.source}
        for each in (told.changes if told is not None else ())
    ]
    return {
        "changedSince": None if told is None else rfc3339(told.since),
        "changes": listed,
        "changesUnread": strings(told.unread if told is not None else ()),
    }


def suppressed(plan: CheckPlan, gate_of: GateOf) -> list[Json]:
    return [
        {
            "reason": each.by.reason,
            "until": each.by.until.isoformat(),
            "where": known(each.by.where),
            "finding": found(gate_of, each.finding),
        }
        for each in plan.suppressed
    ]
