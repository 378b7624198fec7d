"""Formats of an upgrade check: terminal, Markdown, HTML, JUnit and SARIF; and the report of the knowledge tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Status, Subject, Suppression
from kubectl_eksdoc.report import markdown
from kubectl_eksdoc.report.junit import JUnitBackend, JUnitCase
from kubectl_eksdoc.report.markdown import code_block, code_span, collapsible, escape_markdown
from kubectl_eksdoc.report.report import (
    DEFAULT_BACKENDS,
    SYMBOLS,
    BulletList,
    CommandReport,
    CustomBackend,
    FindingList,
    Footer,
    Heading,
    Line,
    Report,
    ReportFigure,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.sarif import SarifBackend, SarifDetails
from kubectl_eksdoc.report.text import (
    MARGIN,
    Appearance,
    Column,
    Title,
    Tone,
    as_columns,
    format_age,
    format_table,
    number_column,
    pluralize,
    rfc3339,
    text_column,
    time_between,
    truncate,
    with_title,
    wrap_printable,
)

from ..checking import MAX_TOP_CAUSES, Area, Gate
from ..checks.api_manifests import file_subject
from ..plan import CheckPlan, JudgedFindings, TableOutline
from . import verdict
from .diagnosis import diagnosis_sections, five_lines, split_command
from .verdict import (
    areas_line,
    areas_table,
    aws_unknown_section,
    later_section,
    other_causes_section,
    top_causes_section,
)

if TYPE_CHECKING:  # a check of manifests alone has no comparison and no steps
    from kubectl_eksdoc.baseline.changes import ResultComparison

    from ..changed_since import RecentChanges
    from ..steps import UpgradeStep


@frozen
class CheckReport(CommandReport):
    """`since`: the comparison with an earlier check, None without one."""

    noun_phrase = "a check"

    plan: CheckPlan
    since: ResultComparison | None = None

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.plan.findings

    @property
    def suppressed(self) -> list[tuple[Finding, Suppression]]:
        return [(each.finding, each.rule) for each in self.plan.suppressed]

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The sections of the report; `full`: all findings with all evidence."""
        plan, observed = self.plan, self.cluster.observed_at
        yield Heading(verdict.summary(plan))
        yield screen.section(self.since, observed, full, self.tool_version)
        if plan.diagnosis is not None:
            yield from diagnosis_sections(plan.diagnosis, full)
        if plan.changes is not None:
            yield _changes_section(plan.changes, observed, full)
        if full:
            yield from self._judged()
        elif plan.diagnosis is None:
            mark = screen.change_marks(self.since)
            yield from (
                top_causes_section(plan, mark),
                other_causes_section(plan, mark),
                later_section(plan),
                aws_unknown_section(plan),
                areas_line(plan),
            )
        yield TextBlock("Suppressed", list(self._suppressed(full)))
        yield BulletList("Suppressions that are out of date", plan.notes)
        yield _steps_in_full(plan) if full else _steps_overview(plan)
        # The foot contains the number of findings that block nothing.
        non_blocking = () if self.plan.diagnosis is not None else verdict.non_blocking_findings(self.plan)
        verb = "blocks" if len(non_blocking) == 1 else "block"
        more_text = f"{pluralize(len(non_blocking), 'more finding')} {verb} nothing. " if non_blocking else ""
        yield Footer(f"Nothing is changed. {more_text}Everything: -o wide; for a program: -o json")

    def _judged(self) -> Iterator[Section]:
        """The top causes, the areas, and the findings by the step that waits for them."""
        plan, mark = self.plan, screen.change_marks(self.since)
        if plan.diagnosis is None:
            yield top_causes_section(plan, mark)
            yield Table("Areas", areas_table(plan), "areas")
        for gate in (*Gate, None):
            findings = (*plan.findings_at(gate, Status.FAIL), *plan.findings_at(gate, Status.UNKNOWN))
            yield FindingList(findings, f" {verdict.before_gate(plan, gate)}", suffix=mark)
        yield FindingList(verdict.non_blocking_findings(plan), " that block nothing", suffix=mark)

    def _suppressed(self, full: bool) -> Iterator[Line]:
        """All suppressed findings with reason and last day, or their number."""
        if self.suppressed and not full:
            yield flush_left(f"{pluralize(len(self.suppressed), 'finding')} suppressed: -o wide lists them")
            return
        for finding, rule in self.suppressed:
            subject = f"{finding.subject.kind} {finding.subject}"
            yield Line(f"- {finding.severity.value} {finding.code.name}: {subject}: {finding.message}")
            yield flush_left(f"until {rule.until.isoformat()}: {rule.reason} ({rule.where})", 4)

    def result(self) -> object:
        from .result import CheckResult

        return CheckResult.of(self)

    def markdown(self, appearance: Appearance) -> str:
        return markdown_ticket(self.plan, self.since, self.tool_version, appearance)

    def page(self, appearance: Appearance) -> str:
        from .page import render_check_page
        from .shown import CheckPage

        return render_check_page(CheckPage(self.plan, self.options, self.tool_version), self.since, appearance)

    def suites(self) -> Iterator[tuple[str, Sequence[JUnitCase]]]:
        """The cases of each area. A code that several checks find is one case, or one for each manifest that was read.
        An unknown finding that may hide a requested one has a case, too."""
        plan = self.plan
        for area in Area:
            judged = plan.in_area(area)
            found_codes = {finding.code for each in judged for finding in each.findings}
            case_codes = (
                c
                for each in judged
                for c in each.check.codes
                if c in found_codes or plan.scope.is_requested(each.check, c)
            )
            if cases := [case for code in dict.fromkeys(case_codes) for case in self._cases(code, judged)]:
                yield area.value, cases

    def _cases(self, code: Code, judged: Sequence[JudgedFindings]) -> Iterator[JUnitCase]:
        files = dict.fromkeys(map(file_subject, self.plan.facts.api.manifests))
        if code.name != "api-in-manifest" or not files:
            yield self._case_of_code(code, judged)
            return
        for file in files:
            yield self._case_of_code(code, judged, file)

    def _case_of_code(self, code: Code, judged: Sequence[JudgedFindings], file: Subject | None = None) -> JUnitCase:
        """A summarized command that failed is an unknown finding in the case of each of its codes: none was judged. In
        the same way, findings that are about no `file` are in the case of each file."""
        is_counted, accepted = self.plan.is_counted, self.plan.scope.accepted

        def belongs(finding: Finding) -> bool:
            return finding.code == code and (file in (None, finding.subject) or finding.subject.kind != "File")

        findings = [each for one in judged for each in one.findings if belongs(each)]
        counted = [each for each in findings if is_counted(each)]
        # In a check of several codes, the first one stands for the complete command.
        multi_code_checks = (one for one in judged if code in one.check.codes[1:])
        unjudged_findings = [
            e for one in multi_code_checks for e in one.findings if e.code == one.check.codes[0] and is_counted(e)
        ]
        unknown_findings = [each for each in (*counted, *unjudged_findings) if each.status is Status.UNKNOWN]
        return JUnitCase(
            code.name if file is None else f"{code.name} {file.name}",
            [each for each in counted if each.status is Status.FAIL],
            [each for each in unknown_findings if each.code.name not in accepted],
            [each for each in unknown_findings if each.code.name in accepted],
            [each for each in findings if each.status is Status.PASS or not is_counted(each)],
            [(each, by) for each, by in self.suppressed if belongs(each)],
        )

    def details(self) -> SarifDetails:
        plan, identity = self.plan, self.cluster.identity
        gate_of = verdict.gate_lookup(plan)
        return SarifDetails(
            f"eksdoc-check/{identity.cluster or 'unknown'}",
            (code for each in plan.judged for code in each.check.codes if plan.scope.is_requested(each.check, code)),
            self.suppressed,
            lambda found: {
                "severity": found.severity.value,
                "status": found.status.value,
                "counts": plan.is_counted(found) and found.status is not Status.PASS,
                "gate": (gate := gate_of(found)) and gate.value,
            },
            [{"executionSuccessful": True, "endTimeUtc": rfc3339(self.cluster.observed_at)}],
            {"verdict": verdict.summary(plan), "context": identity.context or None},
        )

    formats = MappingProxyType(
        {
            **DEFAULT_BACKENDS,
            "markdown": CustomBackend(markdown),
            "html": CustomBackend(page),
            "junit": JUnitBackend(),
            "sarif": SarifBackend(details),
        }
    )


_MAX_CHANGES = 15
"""Changes that a page shows."""


def _changes_section(recent_changes: RecentChanges, now: datetime, full: bool) -> Section:
    """`now`: the time of the observation."""
    shown_changes = recent_changes.changes if full else recent_changes.changes[:_MAX_CHANGES]
    columns = as_columns("AT", number_column("AGO", 1), text_column("WHAT", 24, 2))
    rows = [
        [rfc3339(each.at), format_age(time_between(each.at, now)), f"{each.subject.kind} {each.subject}: {each.what}"]
        for each in shown_changes
    ]
    lines_below: list[Line | str] = [] if rows else [Line("nothing that still shows")]
    lines_below += (Line(f"? not known: {each}", tone=Tone.UNKNOWN) for each in recent_changes.not_read)
    title = Title("Changed", f" since {rfc3339(recent_changes.since)}")
    return Table(
        title,
        (columns, rows),
        "changes",
        len(rows),
        len(recent_changes.changes) - len(shown_changes),
        notes=lines_below,
    )


# The upgrade steps: a line for each, or all of them with reasons and commands.


_MAX_PHASE_LINES = 2
"""Lines of a phase, in a short report whose page has causes to show."""


def _step_title(plan: CheckPlan, step: UpgradeStep) -> str:
    waiting_text = verdict.waiting_text(plan, step)
    return f"{step.title} ({waiting_text})" if waiting_text else step.title


def _steps_overview(plan: CheckPlan) -> Section:
    """A few lines for each phase. The prepare phase gets one line, because it is the same for all clusters."""

    def lines(appearance: Appearance) -> Iterator[str]:
        for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
            step_titles = "; ".join(f"{step.number}. {_step_title(plan, step)}" for step in steps)
            lines = wrap_printable(f"{phase.value}: {step_titles}", appearance, MARGIN, MARGIN * 2)
            max_lines = len(lines) if not plan.causes else 1 if phase.name == "PREPARE" else _MAX_PHASE_LINES
            yield from lines[: max_lines - 1]
            if len(lines) <= max_lines:
                yield from lines[max_lines - 1 :]
            else:
                remaining_text = " ".join(line.strip() for line in lines[max_lines - 1 :])
                yield truncate(f"{MARGIN * min(max_lines, 2)}{remaining_text}", appearance.columns, appearance)

    title = Title("Upgrade steps", f": {len(plan.checklist)} (each with its reason and its commands: -o wide)")
    return ReportFigure(None, lambda look, _: with_title(title, list(lines(look)), look))


def _steps_in_full(plan: CheckPlan) -> Section:
    """All steps with a line for each phase; empty without a checklist."""
    lines: list[Line] = []
    for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
        lines.append(Line(phase.value, tone=Tone.FAINT, verbatim=True))
        for step in steps:
            tone = Tone.BAD if verdict.waiting_text(plan, step) else None
            lines += [Line(f"{step.number:>3}. {_step_title(plan, step)}", 2, 5, tone), *_step_details(step)]
    return TextBlock("Upgrade steps", lines)


def _step_details(step: UpgradeStep) -> Iterator[Line]:
    yield Line(f"Why: {verdict.step_reason(step)}", 7)
    yield from (verbatim_line(command, 9) for command in step.commands)
    for form in step.forms:
        yield Line(f"With {form.tool}: {form.text}", 7)
        yield from (verbatim_line(command, 9) for command in form.commands)
    if step.done_when:
        yield Line(f"Done when: {step.done_when}.", 7)
    if step.verify:
        yield verbatim_line(step.verify, 9)


# The tables behind the checks, with their age: a line for each, or on a wide page each row.


@frozen
class TablesReport(Report):
    noun_phrase = "--tables"
    formats = MappingProxyType({name: DEFAULT_BACKENDS[name] for name in ("table", "wide")})

    tables: Sequence[TableOutline]
    today: date

    def sections(self, full: bool) -> Iterator[Section]:
        if full:
            columns = as_columns("ROW", "READ", number_column("AGE"), "SURE", "SOURCE")
            for table in self.tables:
                rows = [
                    [
                        f"{row.name}{f' ({row.promise})' if row.promise else ''}",
                        row.read.isoformat(),
                        self._age_in_days(row.read),
                        row.confidence,
                        row.document,
                    ]
                    for row in table.rows
                ]
                yield Table(Title(table.name, f": {table.about} ({pluralize(len(rows), 'row')})"), (columns, rows))
            return
        columns = as_columns(
            "TABLE",
            number_column("ROWS"),
            "OLDEST",
            number_column("AGE"),
            Column("KUBERNETES", drop_order=2),
            Column("PROMISE", drop_order=1),
            text_column("WHAT", 20),
        )
        rows = [
            [
                table.name,
                str(len(table.rows)),
                table.oldest.isoformat(),
                self._age_in_days(table.oldest),
                f"to {table.read_to}" if table.read_to else "",
                table.promises,
                table.about,
            ]
            for table in self.tables
        ]
        yield ReportFigure(None, lambda look, _: format_table(columns, rows, look))
        yield Footer("Each row with its source: -o wide. Rows of your own: check --tables FILE.")

    def _age_in_days(self, read: date) -> str:
        return f"{max(0, (self.today - read).days)}d"


# ``-o markdown``: a check for a ticket or a pull request: verdict, areas, folded findings, steps with checkboxes.


def markdown_ticket(plan: CheckPlan, since: ResultComparison | None, tool_version: str, appearance: Appearance) -> str:
    """With headings from the second level, to be placed below another title; short enough for GitHub."""
    return markdown.fit_ticket(
        lambda most: markdown.finish_document(list(_ticket_lines(plan, since, tool_version, most)), appearance)
    )


def _ticket_lines(plan: CheckPlan, since: ResultComparison | None, tool_version: str, limit: int) -> Iterator[str]:
    cluster = plan.facts.cluster
    yield from (f"## Upgrade check of {markdown.cluster_name(cluster)}", "")
    yield from (f"**{escape_markdown(verdict.summary(plan))}**", "")
    yield from (markdown.origin_markdown(cluster, tool_version), "")
    if since is not None:
        title = screen.title(since, cluster.observed_at)
        yield from (f"### {escape_markdown(title)}", "", *screen.markdown_lines(since, limit, tool_version), "")
    for title, body in _ticket_sections(plan, limit):
        if body:
            yield from (f"### {escape_markdown(title)}", "", *body, "")


def _ticket_sections(plan: CheckPlan, limit: int) -> Iterator[tuple[str, list[str]]]:
    yield "Likely causes", _diagnosis_lines(plan, limit)
    yield "Changed", _change_lines(plan, limit)
    lines: list[str] = []
    for number, each in enumerate(() if plan.diagnosis is not None else plan.causes[:MAX_TOP_CAUSES], 1):
        cause_text = (
            f"{SYMBOLS[each.status][0]} {each.severity.value}: {verdict.cause_name(each)}: "
            f"{verdict.cause_reason(plan, each)}"
        )
        lines += [f"{number}. {escape_markdown(f'{cause_text} ({verdict.before_gate(plan, each.gate)}).')}", ""]
        lines += [f"   {line}" for line in (escape_markdown(each.do.text), "", *code_block([each.do.command]))]
        lines.append("")
    yield "What decides", lines
    yield "Areas", markdown.ticket_table(areas_table(plan), "areas", limit) if plan.diagnosis is None else []
    for gate in (*Gate, None):
        head = f"Findings {verdict.before_gate(plan, gate)}"
        yield (
            head,
            _finding_lines((*plan.findings_at(gate, Status.FAIL), *plan.findings_at(gate, Status.UNKNOWN)), limit),
        )
    yield "Findings that block nothing", _finding_lines(verdict.non_blocking_findings(plan), limit)
    yield "Suppressed", _suppressed_lines(plan, limit)
    yield "Upgrade steps", _checklist_lines(plan)


def _finding_lines(findings: Sequence[Finding], limit: int) -> list[str]:
    lines = [line for each in findings[:limit] for line in (*_finding_details(each), "")]
    return [*lines, *markdown.omitted_note(len(findings) - limit, "findings")]


def _finding_details(finding: Finding) -> list[str]:
    """The finding as a foldable summary."""
    summary = (
        f"{SYMBOLS[finding.status][0]} {finding.severity.value} {finding.code.name}: {finding.subject.kind} "
        f"{finding.subject}:"
        f" {finding.message}"
    )
    lines = [f"- {escape_markdown(each)}" for each in finding.evidence]
    lines += [f"- missing: {escape_markdown(finding.missing)}"] if finding.missing else []
    for each in finding.remedy:
        lines += ["", escape_markdown(each.dated_text)]
        lines += ["", *code_block([each.command])] if each.command else []
    return collapsible(summary, lines) or [f"- {escape_markdown(summary)}"]


def _checklist_lines(plan: CheckPlan) -> list[str]:
    lines: list[str] = []
    for phase, group in groupby(plan.checklist, key=lambda step: step.phase):
        lines += [f"**{escape_markdown(phase.value.capitalize())}**", ""]
        for step in group:
            lines += _step_lines(plan, step)
        lines.append("")
    return lines


def _step_lines(plan: CheckPlan, step: UpgradeStep) -> list[str]:
    """A checkbox, and below it the reason, the commands, and when it is done."""
    waiting_text = verdict.waiting_text(plan, step)
    first_line = f"- [ ] {step.number}\\. {escape_markdown(step.title)}" + (
        f" **({escape_markdown(waiting_text)})**" if waiting_text else ""
    )
    lines = [first_line, "", f"  Why: {escape_markdown(verdict.step_reason(step))}"]
    if step.commands:
        lines += ["", *[f"  {line}" for line in code_block(step.commands)]]
    for form in step.forms:
        lines += [
            "",
            f"  With {form.tool}: {escape_markdown(form.text)}",
            "",
            *[f"  {line}" for line in code_block(form.commands)],
        ]
    if step.done_when:
        verify = f" {code_span(step.verify)}" if step.verify else ""
        lines += ["", f"  Done when {escape_markdown(step.done_when)}.{verify}"]
    return [*lines, ""]


def _diagnosis_lines(plan: CheckPlan, limit: int) -> list[str]:
    diagnosis = plan.diagnosis
    if diagnosis is None:
        return []
    if not diagnosis.suspects:
        lines = [escape_markdown(f"Nothing was found that explains {diagnosis.symptom.value}."), ""]
    else:
        # Only the first suspect is the likeliest; commands are formatted as code.
        lines = []
        for number, suspect in enumerate(diagnosis.suspects[:limit], 1):
            first, *rest = five_lines(suspect)
            head = first if number == 1 else f"{suspect.what} ({suspect.code})"
            texts = (
                f"{text}{code_span(command)}" if command else escape_markdown(text)
                for text, command in map(split_command, rest)
            )
            lines.append(f"{number}. {'<br>'.join((escape_markdown(head), *texts))}")
        lines += ["", *markdown.omitted_note(len(diagnosis.suspects) - limit, "possible causes")]
    for each in diagnosis.elsewhere:
        lines.append(f"- {escape_markdown(each.text)}{f' {code_span(each.command)}' if each.command else ''}")
    return lines


def _change_lines(plan: CheckPlan, limit: int) -> list[str]:
    recent_changes = plan.changes
    if recent_changes is None:
        return []
    columns = as_columns("AT", "SUBJECT", "WHAT")
    rows = [[rfc3339(each.at), f"{each.subject.kind} {each.subject}", each.what] for each in recent_changes.changes]
    lines = markdown.ticket_table((columns, list(rows)), "changes", limit) or ["Nothing that still shows."]
    return [
        f"Since {rfc3339(recent_changes.since)}.",
        "",
        *lines,
        "",
        *markdown.bullet_list(f"not known: {e}" for e in recent_changes.not_read),
    ]


def _suppressed_lines(plan: CheckPlan, limit: int) -> list[str]:
    lines = [
        f"- {escape_markdown(f'{each.finding.code.name}: {each.finding.subject.kind} {each.finding.subject}')}: until"
        f" {each.rule.until.isoformat()}, {escape_markdown(each.rule.reason)}"
        for each in plan.suppressed[:limit]
    ]
    lines += markdown.omitted_note(len(plan.suppressed) - limit, "findings")
    summary = f"{pluralize(len(plan.suppressed), 'finding')} that do not count"
    return [*collapsible(summary, lines), *(["", *markdown.bullet_list(plan.notes)] if plan.notes else [])]
