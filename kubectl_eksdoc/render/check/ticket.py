"""``-o markdown``: a check for a ticket or a pull request: verdict, areas, findings folded away, the way with boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from kubectl_eksdoc.check.causes import DECIDING
from kubectl_eksdoc.check.checking import Gate
from kubectl_eksdoc.check.checklist.steps import UpgradeStep
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.check import verdict
from kubectl_eksdoc.render.check.diagnosis import five, pasted
from kubectl_eksdoc.render.check.verdict import areas
from kubectl_eksdoc.render.markdown import block, code, escape, folded
from kubectl_eksdoc.render.report import SIGNS
from kubectl_eksdoc.render.since import screen
from kubectl_eksdoc.render.text import Look, columns_of, counted, rfc3339

if TYPE_CHECKING:  # manifests alone are beside nothing earlier
    from kubectl_eksdoc.baseline.changes import ResultComparison


def ticket(plan: CheckPlan, since: ResultComparison | None, tool_version: str, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return markdown.fitting(lambda most: markdown.signed(list(_lines(plan, since, tool_version, most)), look))


def _lines(plan: CheckPlan, since: ResultComparison | None, tool_version: str, most: int) -> Iterator[str]:
    cluster = plan.facts.cluster
    yield from (f"## Upgrade check of {markdown.cluster(cluster)}", "")
    yield from (f"**{escape(verdict.in_short(plan))}**", "")
    yield from (markdown.origin(cluster, tool_version), "")
    if since is not None:
        title = screen.title(since, cluster.observed_at)
        yield from (f"### {escape(title)}", "", *screen.lines(since, most, tool_version), "")
    for title, body in _sections(plan, most):
        if body:
            yield from (f"### {escape(title)}", "", *body, "")


def _sections(plan: CheckPlan, most: int) -> Iterator[tuple[str, list[str]]]:
    yield "Likely causes", _diagnosis(plan, most)
    yield "Changed", _changes(plan, most)
    yield "What decides", _deciding(plan)
    yield "Areas", markdown.ticket_table(areas(plan), "areas", most) if plan.diagnosis is None else []
    for gate in (*Gate, None):
        head = f"Findings {verdict.before(plan, gate)}"
        yield head, _findings((*plan.of(gate, Status.FAIL), *plan.of(gate, Status.UNKNOWN)), most)
    yield "Findings that block nothing", _findings(verdict.blocking_nothing(plan), most)
    yield "Suppressed", _suppressed(plan, most)
    yield "Upgrade steps", _checklist(plan)


def _deciding(plan: CheckPlan) -> list[str]:
    lines: list[str] = []
    for number, each in enumerate(() if plan.diagnosis is not None else plan.causes[:DECIDING], 1):
        said = f"{SIGNS[each.status][0]} {each.severity.value}: {verdict.cause(each)}: {verdict.because(plan, each)}"
        lines += [f"{number}. {escape(f'{said} ({verdict.before(plan, each.gate)}).')}", ""]
        lines += [f"   {line}" for line in (escape(each.do.text), "", *block([each.do.command]))]
        lines.append("")
    return lines


def _findings(found: Sequence[Finding], most: int) -> list[str]:
    lines = [line for each in found[:most] for line in (*_finding(each), "")]
    return [*lines, *markdown.more(len(found) - most, "findings")]


def _finding(found: Finding) -> list[str]:
    """Its line is the summary that opens."""
    summary = (
        f"{SIGNS[found.status][0]} {found.severity.value} {found.code.name}: {found.subject.kind} {found.subject}:"
        f" {found.message}"
    )
    lines = [f"- {escape(each)}" for each in found.evidence]
    lines += [f"- missing: {escape(found.missing)}"] if found.missing else []
    for each in found.remedy:
        lines += ["", escape(each.said)]
        lines += ["", *block([each.command])] if each.command else []
    return folded(summary, lines) or [f"- {escape(summary)}"]


def _checklist(plan: CheckPlan) -> list[str]:
    lines: list[str] = []
    for phase, group in groupby(plan.checklist, key=lambda step: step.phase):
        lines += [f"**{escape(phase.value.capitalize())}**", ""]
        for step in group:
            lines += _step(plan, step)
        lines.append("")
    return lines


def _step(plan: CheckPlan, step: UpgradeStep) -> list[str]:
    """A box, and below it why, how, and when it is done."""
    waits = verdict.waits(plan, step)
    head = f"- [ ] {step.number}\\. {escape(step.title)}" + (f" **({escape(waits)})**" if waits else "")
    lines = [head, "", f"  Why: {escape(verdict.why(step))}"]
    if step.commands:
        lines += ["", *[f"  {line}" for line in block(step.commands)]]
    for form in step.forms:
        lines += ["", f"  With {form.tool}: {escape(form.text)}", "", *[f"  {line}" for line in block(form.commands)]]
    if step.done_when:
        verify = f" {code(step.verify)}" if step.verify else ""
        lines += ["", f"  Done when {escape(step.done_when)}.{verify}"]
    return [*lines, ""]


def _diagnosis(plan: CheckPlan, most: int) -> list[str]:
    found = plan.diagnosis
    if found is None:
        return []
    if not found.suspects:
        lines = [escape(f"Nothing was found that explains {found.symptom.value}."), ""]
    else:
        # Only the first is the likeliest; what is to be pasted is code.
        lines = []
        for number, of in enumerate(found.suspects[:most], 1):
            first, *rest = five(of)
            head = first if number == 1 else f"{of.what} ({of.code})"
            said = (f"{text}{code(command)}" if command else escape(text) for text, command in map(pasted, rest))
            lines.append(f"{number}. {'<br>'.join((escape(head), *said))}")
        lines += ["", *markdown.more(len(found.suspects) - most, "possible causes")]
    for each in found.elsewhere:
        lines.append(f"- {escape(each.text)}{f' {code(each.command)}' if each.command else ''}")
    return lines


def _changes(plan: CheckPlan, most: int) -> list[str]:
    found = plan.changes
    if found is None:
        return []
    columns = columns_of("AT", "SUBJECT", "WHAT")
    rows = [[rfc3339(each.at), f"{each.subject.kind} {each.subject}", each.what] for each in found.changes]
    lines = markdown.ticket_table((columns, list(rows)), "changes", most) or ["Nothing that still shows."]
    return [f"Since {rfc3339(found.since)}.", "", *lines, "", *markdown.items(f"not known: {e}" for e in found.unread)]


def _suppressed(plan: CheckPlan, most: int) -> list[str]:
    lines = [
        f"- {escape(f'{each.finding.code.name}: {each.finding.subject.kind} {each.finding.subject}')}: until"
        f" {each.by.until.isoformat()}, {escape(each.by.reason)}"
        for each in plan.suppressed[:most]
    ]
    lines += markdown.more(len(plan.suppressed) - most, "findings")
    summary = f"{counted(len(plan.suppressed), 'finding')} that do not count"
    return [*folded(summary, lines), *(["", *markdown.items(plan.notes)] if plan.notes else [])]
