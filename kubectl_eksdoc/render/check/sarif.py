"""``-o sarif``: SARIF 2.1.0: a rule for each finding code that was looked for, a result for each finding.

What is not known is of kind "open" and, as SARIF has it for all kinds but "fail", of level "none".
Each result has a physical location: GitHub's code scanning refuses a file in which one has none, and tells alerts of
one day from those of another by primaryLocationLineHash alone. Of what is in a cluster and in no file, the path is made
of its namespace, kind and name.
Source: OASIS, Static Analysis Results Interchange Format 2.1.0 (3.27 result, 3.33 logicalLocation, 3.35 suppression);
GitHub documentation, SARIF support for code scanning.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from urllib.parse import quote

from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Finding, Severity, Status
from kubectl_eksdoc.core.plan.check.areas import Gate
from kubectl_eksdoc.core.plan.check.plan import CheckPlan
from kubectl_eksdoc.core.plan.check.suppressing import Suppressed
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.gates import gates
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.document import Fields, known
from kubectl_eksdoc.render.encode import Json, to_json
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.times import rfc3339

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}
_KINDS = {Status.FAIL: "fail", Status.PASS: "pass", Status.UNKNOWN: "open"}
_NO_LEVEL = "none"
FILE = "File"
"""The kind of subject by which manifests are named."""
_MOST_LINES = 10**9


def sarif(view: CheckView, look: Look) -> str:
    return to_json({"$schema": SCHEMA, "version": VERSION, "runs": [_run(view)]}, look.ascii)


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
        seen[_identity(found)] += 1
        results.append(_result(plan, found, gate_of(found), order, by, seen[_identity(found)]))
    cluster = plan.facts.cluster
    driver: Fields = {
        "name": "kubectl-eksdoc",
        "version": view.tool_version,
        "rules": [_rule(codes[name]) for name in sorted(codes)],
    }
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"eksdoc-check/{cluster.identity.cluster or 'unknown'}/"},
        "invocations": [{"executionSuccessful": True, "endTimeUtc": rfc3339(cluster.observed_at)}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"verdict": words.in_short(plan), "context": known(cluster.identity.context)},
    }


def _rule(code: Code) -> Fields:
    return {
        "id": code.name,
        "name": "".join(part.capitalize() for part in code.name.split("-")),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.about},
        "help": {"text": f"{code.title}. {code.about}"},
    }


def _result(
    plan: CheckPlan, found: Finding, gate: Gate | None, order: dict[str, int], suppressed: Suppressed | None, nth: int
) -> Fields:
    """`order`: of the rules; `nth` of its identity, from 1."""
    fields: Fields = {
        "ruleId": found.code.name,
        "ruleIndex": order.get(found.code.name, -1),
        "kind": _KINDS[found.status],
        "level": _LEVELS[found.severity] if found.status is Status.FAIL else _NO_LEVEL,
        "message": {"text": _message(found)},
        "locations": [_location(found)],
        "partialFingerprints": {"finding/v1": _identity(found), "primaryLocationLineHash": _hash(found, nth)},
        "properties": _properties(plan, found, gate),
    }
    if suppressed is not None:
        fields["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": _justified(suppressed)},
        ]
    return fields


def _justified(of: Suppressed) -> str:
    return f"{of.by.reason} (until {of.by.until.isoformat()})"


def _location(found: Finding) -> Fields:
    """Where it is in the cluster; of a manifest the file, and the first line that is named."""
    name = known(found.subject.name) or "unknown"
    return {
        "physicalLocation": _physical(found),
        "logicalLocations": [{"name": name, "fullyQualifiedName": _qualified(found), "kind": "resource"}],
        "message": {"text": f"{found.subject.kind} {found.subject}"},
    }


def _physical(found: Finding) -> Fields:
    """Of a manifest by the subject, and by evidence that begins with ``deploy/web.yaml:12``."""
    if found.subject.kind != FILE:
        return {"artifactLocation": {"uri": quote(_qualified(found), errors="replace")}, "region": {"startLine": 1}}
    path = found.subject.name
    uri = quote(path, errors="replace") or "unknown"
    fields: Fields = {"artifactLocation": {"uri": f"file://{uri}" if path.startswith("/") else uri}}
    for each in found.evidence:
        line, _, _ = each.removeprefix(f"{path}:").partition(" ")
        if each.startswith(f"{path}:") and line.isdecimal() and line.isascii() and 0 < int(line) <= _MOST_LINES:
            return {**fields, "region": {"startLine": int(line)}}
    return {**fields, "region": {"startLine": 1}}


def _qualified(found: Finding) -> str:
    of = found.subject
    return "/".join(part for part in (of.namespace, of.kind, of.name) if part)


def _identity(found: Finding) -> str:
    """The same finding of another day has the same: figures in its message are none of it."""
    return f"{found.code.name}:{_qualified(found)}"


def _hash(found: Finding, nth: int) -> str:
    """As GitHub writes it: a hash, and the how manieth of its line it is."""
    return f"{sha256(_identity(found).encode(errors='replace')).hexdigest()[:16]}:{nth}"


def _message(found: Finding) -> str:
    lines = [f"{found.subject.kind} {found.subject}: {found.message}", *[f"- {each}" for each in found.evidence]]
    lines += [f"missing: {found.missing}"] if found.missing else []
    lines += [f"{each.text} {each.command}".rstrip() for each in found.remedy]
    return "\n".join(lines)


def _properties(plan: CheckPlan, found: Finding, gate: Gate | None) -> Fields:
    return {
        "severity": found.severity.value,
        "status": found.status.value,
        "counts": plan.counts(found) and found.status is not Status.PASS,
        "gate": None if gate is None else gate.value,
    }
