"""The comparison as part of the plan's document; null is what a plan does not have, as DrainPlan.json says."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.baseline import BudgetOutline
from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.plan.drain.comparison.changes import Comparison, FindingChange, TargetChange
from kubectl_eksdoc.render.document import Fields, identity, strings, subject
from kubectl_eksdoc.render.encode import Json, plain_value
from kubectl_eksdoc.render.times import rfc3339


def comparison_fields(comparison: Comparison) -> Fields:
    baseline = comparison.baseline
    return {
        "baseline": {
            "file": baseline.file,
            "toolVersion": baseline.tool_version,
            "cluster": cast(Json, identity(baseline.identity)),
            "source": baseline.source.value,
            "observedAt": rfc3339(baseline.observed_at),
        },
        "sameCluster": None if comparison.doubt else True,
        "readOnlyForBaseline": strings(comparison.read_before),
        "readOnlyNow": strings(comparison.read_now),
        "figures": [
            {"what": f.what.value, "baseline": f.before, "now": f.now, "change": f.change} for f in comparison.figures
        ],
        "asked": [
            {"option": a.option, "baseline": plain_value(a.before), "now": plain_value(a.now)} for a in comparison.asked
        ],
        "targets": [_target(change) for change in comparison.targets],
        "budgets": [
            {"budget": b.key, "baseline": cast(Json, _budget(b.before)), "now": cast(Json, _budget(b.now))}
            for b in comparison.budgets
        ],
        "findings": [_finding(change) for change in comparison.findings],
        "findingsUnchanged": comparison.unchanged,
    }


def _target(change: TargetChange) -> Fields:
    before, now = change.before, change.now
    return {
        "name": change.name,
        "baseline": before.verdict if before else None,
        "now": now.verdict if now else None,
        "whyBaseline": strings(before.why if before else ()),
        "whyNow": strings(now.why if now else ()),
    }


def _budget(budget: BudgetOutline | None) -> Fields | None:
    return None if budget is None else {"verdict": budget.verdict, "perRound": budget.per_round}


def _finding(change: FindingChange) -> Fields:
    said = change.either
    return {
        "change": change.change.value,
        "code": said.code,
        "subject": subject(said.subject),
        "baseline": cast(Json, _said(change.before)),
        "now": cast(Json, _said(change.now)),
    }


def _said(finding: FindingOutline | None) -> Fields | None:
    if finding is None:
        return None
    return {"severity": finding.severity.value, "status": finding.status.value, "message": finding.message}
