"""JUnit XML (``-o junit``) for CI servers: in suites, one test case for each finding code that was checked and each
manifest.

A failed finding is a failure; an unknown one is an error with the missing data as its message; an accepted or
suppressed one is skipped. So a CI server that only reads the file sees the same outcome as the exit code.
Source of the format: the schema that Jenkins publishes (junit-10.xsd); the readers of Ant, GitLab and Azure accept it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.findings import Finding, Suppression

from .text import Look, clean, rfc3339

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent (2.2, Char)."""


class Case(NamedTuple):
    """The test case of one code or one file. `failing` and `unknown` findings count; `not_counted` do not count, or
    pass; `accepted` are unknown findings that are allowed to be; `suppressed` come with their suppression."""

    name: str
    fails: Sequence[Finding] = ()
    unknown: Sequence[Finding] = ()
    accepted: Sequence[Finding] = ()
    slight: Sequence[Finding] = ()
    suppressed: Sequence[tuple[Finding, Suppression]] = ()

    @property
    def skipped(self) -> bool:
        return not self.fails and not self.unknown and bool(self.accepted or self.suppressed)


class JUnit:
    """The backend of a check report, which has `suites`: names with their test cases."""

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
            tag = f'    <testcase classname={of} name={_quoted(case.name)} time="0"'
            inside = [*_outcome(case), *_output(case)]
            yield from (
                (f"{tag}>", *(f"      {line}" for line in inside), "    </testcase>") if inside else (f"{tag}/>",)
            )
        yield "  </testsuite>"


def _attributes(name: str, cases: Sequence[Case], of_suite: bool = True) -> str:
    failed, skipped = sum(bool(case.fails) for case in cases), sum(case.skipped for case in cases)
    errors = sum(bool(case.unknown) and not case.fails for case in cases)
    counted = f' skipped="{skipped}"' if of_suite else ""  # Jenkins' schema allows it on a suite only
    return f'name={_quoted(name)} tests="{len(cases)}" failures="{failed}" errors="{errors}"{counted} time="0"'


def _outcome(case: Case) -> Iterator[str]:
    """At most one element, as the schema requires."""
    if case.fails:
        worst = case.fails[0]
        message = f"{worst.subject.kind} {worst.subject}: {worst.message}"
        body = "\n".join(_text(each) for each in (*case.fails, *case.unknown))
        yield f"<failure message={_quoted(message)} type={_quoted(worst.severity.value)}>{_body(body)}</failure>"
    elif case.unknown:
        yield f'<error message={_quoted(_unknown(case.unknown[0]))} type="unknown"/>'
    elif case.accepted:
        yield f"<skipped message={_quoted(f'accepted: {_unknown(case.accepted[0])}')}/>"
    elif case.suppressed:
        _, by = case.suppressed[0]
        yield f"<skipped message={_quoted(f'suppressed until {by.until.isoformat()}: {by.reason}')}/>"


def _unknown(found: Finding) -> str:
    return f"unknown: {found.message}{f' (missing: {found.missing})' if found.missing else ''}"


def _output(case: Case) -> Iterator[str]:
    """The other findings: further unknown ones, accepted, suppressed, and those that do not count."""
    told = [_text(each) for each in case.unknown] if not case.fails else []
    told += [f"accepted: {_text(each)}" for each in case.accepted]
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
