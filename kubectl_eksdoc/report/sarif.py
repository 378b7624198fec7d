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
from .text import Appearance

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
_MAX_LINE_NUMBER = 10**9


class SarifDetails(NamedTuple):
    """The parts of a run besides its findings: `run_id`; `codes` that were checked; `suppressed` findings;
    `finding_properties` for one finding; `invocations` and `run_properties` of the run."""

    run_id: str
    codes: Iterable[Code] = ()
    suppressed: Sequence[tuple[Finding, Suppression]] = ()
    finding_properties: Callable[[Finding], Fields] | None = None
    invocations: Sequence[Json] = ()
    run_properties: Fields | None = None


@frozen
class SarifBackend:
    """The SARIF backend; `details` returns the `SarifDetails` of a report."""

    details: Callable[[Any], SarifDetails]

    def write(self, report: Any, appearance: Appearance) -> str:
        details = self.details(report)
        reported = [*((finding, None) for finding in report.findings), *details.suppressed]
        codes = {finding.name: finding for finding in (*details.codes, *(finding.code for finding, _ in reported))}
        order = {name: index for index, name in enumerate(sorted(codes))}
        rules: list[Json] = [_rule(codes[name]) for name in order]
        occurrences: Counter[str] = Counter()
        results: list[Json] = []
        for finding, suppression in reported:
            occurrences[_finding_key(finding)] += 1
            result = _finding_result(finding, order[finding.code.name], occurrences[_finding_key(finding)])
            if details.finding_properties is not None:
                result["properties"] = details.finding_properties(finding)
            if suppression is not None:
                justification = f"{suppression.reason} (until {suppression.until.isoformat()})"
                result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
            results.append(result)
        run: Fields = {
            "tool": {"driver": {"name": "kubectl-eksdoc", "version": report.tool_version, "rules": rules}},
            "automationDetails": {"id": f"{details.run_id}/"},
            **({"invocations": [*details.invocations]} if details.invocations else {}),
            "columnKind": "unicodeCodePoints",
            "results": results,
            **({"properties": details.run_properties} if details.run_properties else {}),
        }
        return to_json({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, appearance.ascii)


def _rule(code: Code) -> Json:
    return {
        "id": code.name,
        "name": "".join(part.capitalize() for part in code.name.split("-")),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.about},
        "help": {"text": f"{code.title}. {code.about}"},
    }


def _finding_result(finding: Finding, rule_index: int, occurrence: int) -> Fields:
    """One result. `rule_index`: index of its rule; `occurrence`: its number among the findings of the same identity,
    from 1. The hash has the format that GitHub uses."""
    identity = _finding_key(finding)
    fingerprint = sha256(identity.encode(errors="replace")).hexdigest()[:16]
    # The location in the cluster; for a manifest the file, and the first line that the evidence names.
    name = finding.subject.name or "unknown"
    lines = [
        f"{finding.subject.kind} {finding.subject}: {finding.message}",
        *[f"- {each}" for each in finding.evidence],
    ]
    lines += [f"missing: {finding.missing}"] if finding.missing else []
    lines += [f"{each.text} {each.command}".rstrip() for each in finding.remedy]
    return {
        "ruleId": finding.code.name,
        "ruleIndex": rule_index,
        "kind": _KINDS[finding.status],
        "level": _LEVELS[finding.severity] if finding.status is Status.FAIL else _NO_LEVEL,
        "message": {"text": "\n".join(lines)},
        "locations": [
            {
                "physicalLocation": _physical_location(finding),
                "logicalLocations": [
                    {"name": name, "fullyQualifiedName": _qualified_name(finding), "kind": "resource"}
                ],
                "message": {"text": f"{finding.subject.kind} {finding.subject}"},
            }
        ],
        "partialFingerprints": {"finding/v1": identity, "primaryLocationLineHash": f"{fingerprint}:{occurrence}"},
    }


def _physical_location(finding: Finding) -> Fields:
    """The location of a manifest: its path is the subject, its line is from evidence that begins with
    ``deploy/web.yaml:12``."""
    if finding.subject.kind != FILE:
        return {
            "artifactLocation": {"uri": quote(_qualified_name(finding), errors="replace")},
            "region": {"startLine": 1},
        }
    path = finding.subject.name
    uri = quote(normpath(path), errors="replace") if path else "unknown"  # GitHub rejects ./deploy
    fields: Fields = {"artifactLocation": {"uri": f"file://{uri}" if path.startswith("/") else uri}}
    for evidence in finding.evidence:
        line, _, _ = evidence.removeprefix(f"{path}:").partition(" ")
        if (
            evidence.startswith(f"{path}:")
            and line.isdecimal()
            and line.isascii()
            and 0 < int(line) <= _MAX_LINE_NUMBER
        ):
            return {**fields, "region": {"startLine": int(line)}}
    return {**fields, "region": {"startLine": 1}}


def _qualified_name(finding: Finding) -> str:
    subject = finding.subject
    return "/".join(part for part in (subject.namespace, subject.kind, subject.name) if part)


def _finding_key(finding: Finding) -> str:
    """A key that is the same for the same finding on another day: it contains no figures of the message."""
    return f"{finding.code.name}:{_qualified_name(finding)}"
