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

from .text import Appearance, clean, rfc3339

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent (2.2, Char)."""


class JUnitCase(NamedTuple):
    """The test case of one code or one file. `failing` and `unknown` findings count; `not_counted` do not count, or
    pass; `accepted` are unknown findings that are allowed to be; `suppressed` come with their suppression."""

    name: str
    failing: Sequence[Finding] = ()
    unknown: Sequence[Finding] = ()
    accepted: Sequence[Finding] = ()
    not_counted: Sequence[Finding] = ()
    suppressed: Sequence[tuple[Finding, Suppression]] = ()

    @property
    def skipped(self) -> bool:
        return not self.failing and not self.unknown and bool(self.accepted or self.suppressed)


class JUnitBackend:
    """The backend of a check report, which has `suites`: names with their test cases."""

    def write(self, report: Any, appearance: Appearance) -> str:
        suites = list(report.suites())
        all_cases = [case for _, cases in suites for case in cases]
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites {_attributes('kubectl eksdoc check', all_cases, for_suite=False)}>",
            *(
                line
                for index, (name, cases) in enumerate(suites)
                for line in self._suite(report.cluster, name, cases, index)
            ),
            "</testsuites>",
        ]
        text = "\n".join(lines) + "\n"
        return text.encode("ascii", "xmlcharrefreplace").decode() if appearance.ascii else text

    def _suite(self, cluster: Cluster, name: str, cases: Sequence[JUnitCase], index: int) -> Iterator[str]:
        timestamp = rfc3339(cluster.observed_at).removesuffix("Z")
        fallback = "manifests" if cluster.source is Source.FILE else "unknown"
        host = _attribute_value(cluster.identity.cluster or cluster.identity.context or fallback)
        yield f'  <testsuite {_attributes(name, cases)} id="{index}" timestamp="{timestamp}" hostname={host}>'
        class_name = _attribute_value(f"eksdoc.check.{name.replace(' ', '-')}")
        for case in cases:
            tag = f'    <testcase classname={class_name} name={_attribute_value(case.name)} time="0"'
            content = [*_outcome_element(case), *_system_out(case)]
            yield from (
                (f"{tag}>", *(f"      {line}" for line in content), "    </testcase>") if content else (f"{tag}/>",)
            )
        yield "  </testsuite>"


def _attributes(name: str, cases: Sequence[JUnitCase], for_suite: bool = True) -> str:
    failed, skipped = sum(bool(case.failing) for case in cases), sum(case.skipped for case in cases)
    errors = sum(bool(case.unknown) and not case.failing for case in cases)
    skipped_attribute = f' skipped="{skipped}"' if for_suite else ""  # Jenkins' schema allows it on a suite only
    return (
        f'name={_attribute_value(name)} tests="{len(cases)}" failures="{failed}" '
        f'errors="{errors}"{skipped_attribute} time="0"'
    )


def _outcome_element(case: JUnitCase) -> Iterator[str]:
    """At most one element, as the schema requires."""
    if case.failing:
        first_finding = case.failing[0]
        message = f"{first_finding.subject.kind} {first_finding.subject}: {first_finding.message}"
        body = "\n".join(_finding_text(each) for each in (*case.failing, *case.unknown))
        yield (
            f"<failure message={_attribute_value(message)} "
            f"type={_attribute_value(first_finding.severity.value)}>{_element_text(body)}</failure>"
        )
    elif case.unknown:
        yield f'<error message={_attribute_value(_unknown_message(case.unknown[0]))} type="unknown"/>'
    elif case.accepted:
        yield f"<skipped message={_attribute_value(f'accepted: {_unknown_message(case.accepted[0])}')}/>"
    elif case.suppressed:
        _, suppression = case.suppressed[0]
        yield (
            "<skipped "
            f"message={_attribute_value(f'suppressed until {suppression.until.isoformat()}: {suppression.reason}')}/>"
        )


def _unknown_message(finding: Finding) -> str:
    return f"unknown: {finding.message}{f' (missing: {finding.missing})' if finding.missing else ''}"


def _system_out(case: JUnitCase) -> Iterator[str]:
    """The other findings: further unknown ones, accepted, suppressed, and those that do not count."""
    entries = [_finding_text(each) for each in case.unknown] if not case.failing else []
    entries += [f"accepted: {_finding_text(each)}" for each in case.accepted]
    entries += [
        f"suppressed until {suppression.until.isoformat()}: {_finding_text(each)}"
        for each, suppression in case.suppressed
    ]
    entries += [f"does not count: {_finding_text(each)}" for each in case.not_counted]
    if entries:
        yield f"<system-out>{_element_text(chr(10).join(entries))}</system-out>"


def _finding_text(finding: Finding) -> str:
    lines = [
        f"{finding.severity.value} {finding.status.value}: {finding.subject.kind} {finding.subject}: {finding.message}"
    ]
    lines += [f"  - {remedy}" for remedy in finding.evidence]
    lines += [f"  missing: {finding.missing}"] if finding.missing else []
    for remedy in finding.remedy:
        lines += [f"  do: {remedy.text}", *([f"    {remedy.command}"] if remedy.command else [])]
    return "\n".join(map(clean, lines))


def _element_text(text: str) -> str:
    return escape(_ILLEGAL.sub("", text))


def _attribute_value(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("", clean(text)))
