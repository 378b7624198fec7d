"""``-o junit``: for CI servers: a suite for each area, in it a case for each finding code that was looked for.

What fails is a failure; what is not known is skipped, with what is missing as its message; so is what is suppressed.
Source of the shape: the schema that Jenkins publishes (junit-10.xsd), which Ant's, GitLab's and Azure's readers accept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from kubectl_eksdoc.check.areas import Area
from kubectl_eksdoc.check.plan import CheckPlan, Judged
from kubectl_eksdoc.check.suppressing import Suppressed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import clean, rfc3339

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write (2.2, Char)."""


@dataclass(frozen=True, slots=True)
class _Case:
    """Of one code: `fails` and `unknown` count, `slight` do not, or pass. Where a command that is summed up could not
    be had, that it is unknown is told with each of its codes: none of them was judged."""

    code: Code
    fails: tuple[Finding, ...]
    unknown: tuple[Finding, ...]
    slight: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]

    @property
    def skipped(self) -> bool:
        return not self.fails and bool(self.unknown or self.suppressed)


def junit(view: CheckView, look: Look) -> str:
    plan = view.plan
    suites = [(area, cases) for area in Area if (cases := _cases(plan, area))]
    every = [case for _, cases in suites for case in cases]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {_attributes('kubectl eksdoc check', every, of_suite=False)}>",
        *(line for number, (area, cases) in enumerate(suites) for line in _suite(plan, area, cases, number)),
        "</testsuites>",
    ]
    text = "\n".join(lines) + "\n"
    return text.encode("ascii", "xmlcharrefreplace").decode() if look.ascii else text


def _cases(plan: CheckPlan, area: Area) -> list[_Case]:
    """A code that several checks find is one case. What is not known has one, too, where it may hide what was asked
    for."""
    judged = plan.in_area(area)
    told = {finding.code for each in judged for finding in each.findings}
    codes = (code for each in judged for code in each.check.codes if code in told or plan.wish.asks(each.check, code))
    return [_case(plan, code, judged) for code in dict.fromkeys(codes)]


def _case(plan: CheckPlan, code: Code, judged: Sequence[Judged]) -> _Case:
    found = [each for one in judged for each in one.findings if each.code == code]
    counting = [each for each in found if plan.counts(each)]
    return _Case(
        code,
        tuple(each for each in counting if each.status is Status.FAIL),
        tuple(each for each in (*counting, *_unjudged(plan, code, judged)) if each.status is Status.UNKNOWN),
        tuple(each for each in found if each.status is Status.PASS or not plan.counts(each)),
        tuple(each for each in plan.suppressed if each.finding.code == code),
    )


def _unjudged(plan: CheckPlan, code: Code, judged: Sequence[Judged]) -> Iterator[Finding]:
    """Of a check of several codes the first stands for the whole."""
    for one in judged:
        whole, *others = one.check.codes
        if code in others:
            yield from (each for each in one.findings if each.code == whole and plan.counts(each))


def _attributes(name: str, cases: Sequence[_Case], of_suite: bool = True) -> str:
    failed, skipped = sum(bool(case.fails) for case in cases), sum(case.skipped for case in cases)
    counted = f' skipped="{skipped}"' if of_suite else ""  # Jenkins' schema has it of a suite alone
    return f'name={_quoted(name)} tests="{len(cases)}" failures="{failed}" errors="0"{counted} time="0"'


def _suite(plan: CheckPlan, area: Area, cases: Sequence[_Case], number: int) -> Iterator[str]:
    cluster = plan.facts.cluster
    moment = rfc3339(cluster.observed_at).removesuffix("Z")
    host = _quoted(cluster.identity.cluster or cluster.identity.context or "unknown")
    yield f'  <testsuite {_attributes(area.value, cases)} id="{number}" timestamp="{moment}" hostname={host}>'
    for case in cases:
        yield from _testcase(area, case)
    yield "  </testsuite>"


def _testcase(area: Area, case: _Case) -> Iterator[str]:
    open_tag = f"    <testcase classname={_quoted(f'eksdoc.check.{_class(area)}')} name={_quoted(case.code.name)}"
    inside = [*_outcome(case), *_output(case)]
    if not inside:
        yield f'{open_tag} time="0"/>'
        return
    yield f'{open_tag} time="0">'
    yield from (f"      {line}" for line in inside)
    yield "    </testcase>"


def _class(area: Area) -> str:
    return area.value.replace(" ", "-")


def _outcome(case: _Case) -> Iterator[str]:
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
        by = case.suppressed[0].by
        yield f"<skipped message={_quoted(f'suppressed until {by.until.isoformat()}: {by.reason}')}/>"


def _output(case: _Case) -> Iterator[str]:
    """What is told besides: what else is unknown, what is suppressed, what does not count."""
    told = [_text(each) for each in case.unknown] if not case.fails else []
    told += [f"suppressed until {each.by.until.isoformat()}: {_text(each.finding)}" for each in case.suppressed]
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
