"""``-o sarif`` of `check`: with a rule for each code that was looked for, gates, and suppressions."""

from __future__ import annotations

from collections import Counter

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.check.suppressing import Suppressed
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.areas import gates
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.sarif import Fields, document, driver, identity, result
from kubectl_eksdoc.render.text import rfc3339


def sarif(view: CheckView, look: Look) -> str:
    return document(_run(view), look)


def _run(view: CheckView) -> Fields:
    plan = view.plan
    codes = {code.name: code for each in plan.judged for code in each.check.codes if plan.wish.asks(each.check, code)}
    codes |= {each.code.name: each.code for each in plan.findings}
    order = {name: index for index, name in enumerate(sorted(codes))}
    gate_of = gates(plan)
    told = [(each, None) for each in plan.findings] + [(each.finding, each) for each in plan.suppressed]
    seen: Counter[str] = Counter()
    results: list[Json] = []
    for found, by in told:
        seen[identity(found)] += 1
        results.append(_result(plan, found, gate_of(found), order, by, seen[identity(found)]))
    cluster = plan.facts.cluster
    return {
        "tool": {"driver": driver([codes[name] for name in sorted(codes)], view.tool_version)},
        "automationDetails": {"id": f"eksdoc-check/{cluster.identity.cluster or 'unknown'}/"},
        "invocations": [{"executionSuccessful": True, "endTimeUtc": rfc3339(cluster.observed_at)}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"verdict": words.in_short(plan), "context": cluster.identity.context or None},
    }


def _result(
    plan: CheckPlan, found: Finding, gate: Gate | None, order: dict[str, int], suppressed: Suppressed | None, nth: int
) -> Fields:
    """`order`: of the rules; `nth` of its identity, from 1."""
    fields: Fields = {**result(found, order, nth), "properties": _properties(plan, found, gate)}
    if suppressed is not None:
        fields["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": _justified(suppressed)},
        ]
    return fields


def _justified(of: Suppressed) -> str:
    return f"{of.by.reason} (until {of.by.until.isoformat()})"


def _properties(plan: CheckPlan, found: Finding, gate: Gate | None) -> Fields:
    return {
        "severity": found.severity.value,
        "status": found.status.value,
        "counts": plan.counts(found) and found.status is not Status.PASS,
        "gate": None if gate is None else gate.value,
    }
