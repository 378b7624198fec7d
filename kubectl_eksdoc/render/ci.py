"""``-o junit``: for CI servers: in suites, a case for each finding code that was looked for.

What fails is a failure; what is not known is skipped, with what is missing as its message; so is what is suppressed.
Source of the shape: the schema that Jenkins publishes (junit-10.xsd), which Ant's, GitLab's and Azure's readers accept.

SARIF 2.1.0: a rule for each finding code, a result for each finding.

What is not known is of kind "open" and, as SARIF has it for all kinds but "fail", of level "none".
Each result has a physical location: GitHub's code scanning refuses a file in which one has none, and tells alerts of
one day from those of another by primaryLocationLineHash alone. Of what is in a cluster and in no file, the path is made
of its namespace, kind and name.
Source: OASIS, Static Analysis Results Interchange Format 2.1.0 (3.27 result, 3.33 logicalLocation, 3.35 suppression);
GitHub documentation, SARIF support for code scanning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Suppression
from kubectl_eksdoc.render.encode import Json, to_json
from kubectl_eksdoc.render.text import Look, clean, rfc3339

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write (2.2, Char)."""


class Case(NamedTuple):
    """Of one code: `fails` and `unknown` count, `slight` do not, or pass; `suppressed` with what does so."""

    code: str
    fails: Sequence[Finding] = ()
    unknown: Sequence[Finding] = ()
    slight: Sequence[Finding] = ()
    suppressed: Sequence[tuple[Finding, Suppression]] = ()

    @property
    def skipped(self) -> bool:
        return not self.fails and bool(self.unknown or self.suppressed)


class JUnit:
    """Of a check, which has `suites`: names with their cases."""

    def write(self, report: Any, look: Look) -> str:
        suites = list(report.suites())
        every = [case for _, cases in suites for case in cases]
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites {_attributes('kubectl eksdoc check', every, of_suite=False)}>",
            *(line for at, (name, cases) in enumerate(suites) for line in self._suite(report.cluster, name, cases, at)),
            "</testsuites>",
        ]
        text = "\n".join(lines) + "\n"
        return text.encode("ascii", "xmlcharrefreplace").decode() if look.ascii else text

    def _suite(self, cluster: Cluster, name: str, cases: Sequence[Case], number: int) -> Iterator[str]:
        moment = rfc3339(cluster.observed_at).removesuffix("Z")
        files = "manifests" if cluster.source is Source.FILE else "unknown"
        host = _quoted(cluster.identity.cluster or cluster.identity.context or files)
        yield f'  <testsuite {_attributes(name, cases)} id="{number}" timestamp="{moment}" hostname={host}>'
        of = _quoted(f"eksdoc.check.{name.replace(' ', '-')}")
        for case in cases:
            tag = f'    <testcase classname={of} name={_quoted(case.code)} time="0"'
            inside = [*_outcome(case), *_output(case)]
            yield from (
                (f"{tag}>", *(f"      {line}" for line in inside), "    </testcase>") if inside else (f"{tag}/>",)
            )
        yield "  </testsuite>"


def _attributes(name: str, cases: Sequence[Case], of_suite: bool = True) -> str:
    failed, skipped = sum(bool(case.fails) for case in cases), sum(case.skipped for case in cases)
    counted = f' skipped="{skipped}"' if of_suite else ""  # Jenkins' schema has it of a suite alone
    return f'name={_quoted(name)} tests="{len(cases)}" failures="{failed}" errors="0"{counted} time="0"'


def _outcome(case: Case) -> Iterator[str]:
    """One at most, as the schema has it."""
    if case.fails:
        worst = case.fails[0]
        message = f"{worst.subject.kind} {worst.subject}: {worst.message}"
        body = "\n".join(_text(each) for each in (*case.fails, *case.unknown))
        yield f"<failure message={_quoted(message)} type={_quoted(worst.severity.value)}>{_body(body)}</failure>"
    elif case.unknown:
        first = case.unknown[0]
        why = f" (missing: {first.missing})" if first.missing else ""
        yield f"<skipped message={_quoted(f'unknown: {first.message}{why}')}/>"
    elif case.suppressed:
        _, by = case.suppressed[0]
        yield f"<skipped message={_quoted(f'suppressed until {by.until.isoformat()}: {by.reason}')}/>"


def _output(case: Case) -> Iterator[str]:
    """What is told besides: what else is unknown, what is suppressed, what does not count."""
    told = [_text(each) for each in case.unknown] if not case.fails else []
    told += [f"suppressed until {by.until.isoformat()}: {_text(each)}" for each, by in case.suppressed]
    told += [f"does not count: {_text(each)}" for each in case.slight]
    if told:
        yield f"<system-out>{_body(chr(10).join(told))}</system-out>"


def _text(found: Finding) -> str:
    lines = [f"{found.severity.value} {found.status.value}: {found.subject.kind} {found.subject}: {found.message}"]
    lines += [f"  - {each}" for each in found.evidence]
    lines += [f"  missing: {found.missing}"] if found.missing else []
    for each in found.remedy:
        lines += [f"  do: {each.text}", *([f"    {each.command}"] if each.command else [])]
    return "\n".join(map(clean, lines))


def _body(text: str) -> str:
    return escape(_ILLEGAL.sub("", text))


def _quoted(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("", clean(text)))


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
"""The kind of subject by which manifests are named."""
_MOST_LINES = 10**9


class SarifDetails(NamedTuple):
    """What a report says in its run besides findings: `of` what is its id; `codes` that were looked for; `suppressed`
    findings; `about`: properties of a finding; `invocations` and `properties` of the run."""

    of: str
    codes: Iterable[Code] = ()
    suppressed: Sequence[tuple[Finding, Suppression]] = ()
    about: Callable[[Finding], Fields] | None = None
    invocations: Sequence[Json] = ()
    properties: Fields | None = None


@dataclass(frozen=True, slots=True)
class Sarif:
    """`details`: of a report."""

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
    """`rule`: which one it is; `nth` of its identity, from 1. A hash is written as GitHub does."""
    identity = _identity(found)
    hashed = sha256(identity.encode(errors="replace")).hexdigest()[:16]
    return {
        "ruleId": found.code.name,
        "ruleIndex": rule,
        "kind": _KINDS[found.status],
        "level": _LEVELS[found.severity] if found.status is Status.FAIL else _NO_LEVEL,
        "message": {"text": _message(found)},
        "locations": [_location(found)],
        "partialFingerprints": {"finding/v1": identity, "primaryLocationLineHash": f"{hashed}:{nth}"},
    }


def _location(found: Finding) -> Fields:
    """Where it is in the cluster; of a manifest the file, and the first line that is named."""
    name = found.subject.name or "unknown"
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


def _message(found: Finding) -> str:
    lines = [f"{found.subject.kind} {found.subject}: {found.message}", *[f"- {each}" for each in found.evidence]]
    lines += [f"missing: {found.missing}"] if found.missing else []
    lines += [f"{each.text} {each.command}".rstrip() for each in found.remedy]
    return "\n".join(lines)
