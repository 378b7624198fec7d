"""SARIF 2.1.0: one rule for each finding code, one result for each finding.

An unknown finding is of kind "open" and of level "none", as SARIF requires of every kind but "fail".
Every result has a physical location: GitHub code scanning rejects a file with a result that has none, and matches the
alerts of different days by primaryLocationLineHash alone. For an object of the cluster, which is in no file, the path
is built from its namespace, kind and name.
Source: OASIS, Static Analysis Results Interchange Format 2.1.0 (3.27 result, 3.33 logicalLocation, 3.35 suppression);
GitHub documentation, SARIF support for code scanning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from posixpath import normpath
from typing import Any, NamedTuple
from urllib.parse import quote

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Suppression

from .encode import Json, to_json
from .text import Look

Fields = dict[str, Json]

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
"""The subject kind of findings about manifests."""
_MOST_LINES = 10**9


class SarifDetails(NamedTuple):
    """The parts of a run besides its findings: `run_id`; `codes` that were checked; `suppressed` findings;
    `finding_properties` for one finding; `invocations` and `run_properties` of the run."""

    of: str
    codes: Iterable[Code] = ()
    suppressed: Sequence[tuple[Finding, Suppression]] = ()
    about: Callable[[Finding], Fields] | None = None
    invocations: Sequence[Json] = ()
    properties: Fields | None = None


@frozen
class Sarif:
    """The SARIF backend; `details` returns the `SarifDetails` of a report."""

    details: Callable[[Any], SarifDetails]

    def write(self, report: Any, look: Look) -> str:
        details = self.details(report)
        told = [*((each, None) for each in report.findings), *details.suppressed]
        codes = {each.name: each for each in (*details.codes, *(each.code for each, _ in told))}
        order = {name: index for index, name in enumerate(sorted(codes))}
        rules: list[Json] = [_rule(codes[name]) for name in order]
        seen: Counter[str] = Counter()
        results: list[Json] = []
        for each, by in told:
            seen[_identity(each)] += 1
            result = _result(each, order[each.code.name], seen[_identity(each)])
            if details.about is not None:
                result["properties"] = details.about(each)
            if by is not None:
                why = f"{by.reason} (until {by.until.isoformat()})"
                result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
            results.append(result)
        run: Fields = {
            "tool": {"driver": {"name": "kubectl-eksdoc", "version": report.tool_version, "rules": rules}},
            "automationDetails": {"id": f"{details.of}/"},
            **({"invocations": [*details.invocations]} if details.invocations else {}),
            "columnKind": "unicodeCodePoints",
            "results": results,
            **({"properties": details.properties} if details.properties else {}),
        }
        return to_json({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, look.ascii)


def _rule(code: Code) -> Json:
    return {
        "id": code.name,
        "name": "".join(part.capitalize() for part in code.name.split("-")),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.about},
        "help": {"text": f"{code.title}. {code.about}"},
    }


def _result(found: Finding, rule: int, nth: int) -> Fields:
    """One result. `rule_index`: index of its rule; `occurrence`: its number among the findings of the same identity,
    from 1. The hash has the format that GitHub uses."""
    identity = _identity(found)
    hashed = sha256(identity.encode(errors="replace")).hexdigest()[:16]
    # The location in the cluster; for a manifest the file, and the first line that the evidence names.
    name = found.subject.name or "unknown"
    lines = [f"{found.subject.kind} {found.subject}: {found.message}", *[f"- {each}" for each in found.evidence]]
    lines += [f"missing: {found.missing}"] if found.missing else []
    lines += [f"{each.text} {each.command}".rstrip() for each in found.remedy]
    return {
        "ruleId": found.code.name,
        "ruleIndex": rule,
        "kind": _KINDS[found.status],
        "level": _LEVELS[found.severity] if found.status is Status.FAIL else _NO_LEVEL,
        "message": {"text": "\n".join(lines)},
        "locations": [
            {
                "physicalLocation": _physical(found),
                "logicalLocations": [{"name": name, "fullyQualifiedName": _qualified(found), "kind": "resource"}],
                "message": {"text": f"{found.subject.kind} {found.subject}"},
            }
        ],
        "partialFingerprints": {"finding/v1": identity, "primaryLocationLineHash": f"{hashed}:{nth}"},
    }


def _physical(found: Finding) -> Fields:
    """The location of a manifest: its path is the subject, its line is from evidence that begins with
    ``deploy/web.yaml:12``."""
    if found.subject.kind != FILE:
        return {"artifactLocation": {"uri": quote(_qualified(found), errors="replace")}, "region": {"startLine": 1}}
    path = found.subject.name
    uri = quote(normpath(path), errors="replace") if path else "unknown"  # GitHub rejects ./deploy
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
    """A key that is the same for the same finding on another day: it contains no figures of the message."""
    return f"{found.code.name}:{_qualified(found)}"
