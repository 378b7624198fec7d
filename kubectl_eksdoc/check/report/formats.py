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
from kubectl_eksdoc.report.junit import Case, JUnit
from kubectl_eksdoc.report.markdown import block, code, escape, folded
from kubectl_eksdoc.report.report import (
    PLAIN,
    SIGNS,
    CommandReport,
    Findings,
    Foot,
    Head,
    Line,
    Lines,
    OwnFormat,
    Points,
    Report,
    ReportFigure,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.sarif import Sarif, SarifDetails
from kubectl_eksdoc.report.text import (
    MARGIN,
    Column,
    Look,
    Title,
    Tone,
    age,
    between,
    columns_of,
    counted,
    cut,
    number_column,
    plain,
    rfc3339,
    text_column,
    titled,
    wrapped,
)

from ..checking import DECIDING, Area, Gate
from ..checks.api_manifests import file_of
from ..plan import CheckPlan, JudgedFindings, TableOutline
from . import verdict
from .diagnosis import diagnosis, five, pasted
from .verdict import areas, blind, deciding, in_line, later, others

if TYPE_CHECKING:  # a check of manifests alone has no comparison and no steps
    from kubectl_eksdoc.baseline.changes import ResultComparison

    from ..changed_since import RecentChanges
    from ..steps import UpgradeStep


@frozen
class CheckReport(CommandReport):
    """`since`: the comparison with an earlier check, None without one."""

    of = "a check"

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
        return [(each.finding, each.by) for each in self.plan.suppressed]

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The sections of the report; `full`: all findings with all evidence."""
        plan, observed = self.plan, self.cluster.observed_at
        yield Head(verdict.in_short(plan))
        yield screen.section(self.since, observed, full, self.tool_version)
        if plan.diagnosis is not None:
            yield from diagnosis(plan.diagnosis, full)
        if plan.changes is not None:
            yield _changes(plan.changes, observed, full)
        if full:
            yield from self._judged()
        elif plan.diagnosis is None:
            mark = screen.marking(self.since)
            yield from (deciding(plan, mark), others(plan, mark), later(plan), blind(plan), in_line(plan))
        yield Lines("Suppressed", list(self._suppressed(full)))
        yield Points("Suppressions that are out of date", plan.notes)
        yield _whole_way(plan) if full else _way(plan)
        # The foot contains the number of findings that block nothing.
        found = () if self.plan.diagnosis is not None else verdict.blocking_nothing(self.plan)
        verb = "blocks" if len(found) == 1 else "block"
        more = f"{counted(len(found), 'more finding')} {verb} nothing. " if found else ""
        yield Foot(f"Nothing is changed. {more}Everything: -o wide; for a program: -o json")

    def _judged(self) -> Iterator[Section]:
        """The top causes, the areas, and the findings by the step that waits for them."""
        plan, mark = self.plan, screen.marking(self.since)
        if plan.diagnosis is None:
            yield deciding(plan, mark)
            yield Table("Areas", areas(plan), "areas")
        for gate in (*Gate, None):
            found = (*plan.of(gate, Status.FAIL), *plan.of(gate, Status.UNKNOWN))
            yield Findings(found, f" {verdict.before(plan, gate)}", mark=mark)
        yield Findings(verdict.blocking_nothing(plan), " that block nothing", mark=mark)

    def _suppressed(self, full: bool) -> Iterator[Line]:
        """All suppressed findings with reason and last day, or their number."""
        if self.suppressed and not full:
            yield flush(f"{counted(len(self.suppressed), 'finding')} suppressed: -o wide lists them")
            return
        for found, by in self.suppressed:
            subject = f"{found.subject.kind} {found.subject}"
            yield Line(f"- {found.severity.value} {found.code.name}: {subject}: {found.message}")
            yield flush(f"until {by.until.isoformat()}: {by.reason} ({by.where})", 4)

    def result(self) -> object:
        from .result import CheckResult

        return CheckResult.of(self)

    def markdown(self, look: Look) -> str:
        return ticket(self.plan, self.since, self.tool_version, look)

    def page(self, look: Look) -> str:
        from .page import page
        from .shown import CheckPage

        return page(CheckPage(self.plan, self.options, self.tool_version), self.since, look)

    def suites(self) -> Iterator[tuple[str, Sequence[Case]]]:
        """The cases of each area. A code that several checks find is one case, or one for each manifest that was read.
        An unknown finding that may hide a requested one has a case, too."""
        plan = self.plan
        for area in Area:
            judged = plan.in_area(area)
            told = {finding.code for each in judged for finding in each.findings}
            codes = (c for each in judged for c in each.check.codes if c in told or plan.wish.asks(each.check, c))
            if cases := [case for code in dict.fromkeys(codes) for case in self._cases(code, judged)]:
                yield area.value, cases

    def _cases(self, code: Code, judged: Sequence[JudgedFindings]) -> Iterator[Case]:
        files = dict.fromkeys(map(file_of, self.plan.facts.api.manifests))
        if code.name != "api-in-manifest" or not files:
            yield self._case(code, judged)
            return
        for file in files:
            yield self._case(code, judged, file)

    def _case(self, code: Code, judged: Sequence[JudgedFindings], file: Subject | None = None) -> Case:
        """A summarized command that failed is an unknown finding in the case of each of its codes: none was judged. In
        the same way, findings that are about no `file` are in the case of each file."""
        counts, may_be = self.plan.counts, self.plan.wish.accepted

        def fits(each: Finding) -> bool:
            return each.code == code and (file in (None, each.subject) or each.subject.kind != "File")

        found = [each for one in judged for each in one.findings if fits(each)]
        counting = [each for each in found if counts(each)]
        # In a check of several codes, the first one stands for the complete command.
        wholes = (one for one in judged if code in one.check.codes[1:])
        unjudged = [e for one in wholes for e in one.findings if e.code == one.check.codes[0] and counts(e)]
        unknown = [each for each in (*counting, *unjudged) if each.status is Status.UNKNOWN]
        return Case(
            code.name if file is None else f"{code.name} {file.name}",
            [each for each in counting if each.status is Status.FAIL],
            [each for each in unknown if each.code.name not in may_be],
            [each for each in unknown if each.code.name in may_be],
            [each for each in found if each.status is Status.PASS or not counts(each)],
            [(each, by) for each, by in self.suppressed if fits(each)],
        )

    def details(self) -> SarifDetails:
        plan, who = self.plan, self.cluster.identity
        gate_of = verdict.gates(plan)
        return SarifDetails(
            f"eksdoc-check/{who.cluster or 'unknown'}",
            (code for each in plan.judged for code in each.check.codes if plan.wish.asks(each.check, code)),
            self.suppressed,
            lambda found: {
                "severity": found.severity.value,
                "status": found.status.value,
                "counts": plan.counts(found) and found.status is not Status.PASS,
                "gate": (gate := gate_of(found)) and gate.value,
            },
            [{"executionSuccessful": True, "endTimeUtc": rfc3339(self.cluster.observed_at)}],
            {"verdict": verdict.in_short(plan), "context": who.context or None},
        )

    formats = MappingProxyType(
        {
            **PLAIN,
            "markdown": OwnFormat(markdown),
            "html": OwnFormat(page),
            "junit": JUnit(),
            "sarif": Sarif(details),
        }
    )


_MOST = 15
"""Changes that a page shows."""


def _changes(found: RecentChanges, now: datetime, full: bool) -> Section:
    """`now`: the time of the observation."""
    kept = found.changes if full else found.changes[:_MOST]
    columns = columns_of("AT", number_column("AGO", 1), text_column("WHAT", 24, 2))
    rows = [
        [rfc3339(each.at), age(between(each.at, now)), f"{each.subject.kind} {each.subject}: {each.what}"]
        for each in kept
    ]
    below: list[Line | str] = [] if rows else [Line("nothing that still shows")]
    below += (Line(f"? not known: {each}", tone=Tone.UNKNOWN) for each in found.unread)
    title = Title("Changed", f" since {rfc3339(found.since)}")
    return Table(title, (columns, rows), "changes", len(rows), len(found.changes) - len(kept), below=below)


# The upgrade steps: a line for each, or all of them with reasons and commands.


_MOST_LINES = 2
"""Lines of a phase, in a short report whose page has causes to show."""


def _titled(plan: CheckPlan, step: UpgradeStep) -> str:
    waiting = verdict.waits(plan, step)
    return f"{step.title} ({waiting})" if waiting else step.title


def _way(plan: CheckPlan) -> Section:
    """A few lines for each phase. The prepare phase gets one line, because it is the same for all clusters."""

    def lines(look: Look) -> Iterator[str]:
        for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
            told = "; ".join(f"{step.number}. {_titled(plan, step)}" for step in steps)
            lines = wrapped(f"{phase.value}: {told}", look, MARGIN, MARGIN * 2)
            most = len(lines) if not plan.causes else 1 if phase.name == "PREPARE" else _MOST_LINES
            yield from lines[: most - 1]
            if len(lines) <= most:
                yield from lines[most - 1 :]
            else:
                rest = " ".join(line.strip() for line in lines[most - 1 :])
                yield cut(f"{MARGIN * min(most, 2)}{rest}", look.columns, look)

    title = Title("Upgrade steps", f": {len(plan.checklist)} (each with its reason and its commands: -o wide)")
    return ReportFigure(None, lambda look, _: titled(title, list(lines(look)), look))


def _whole_way(plan: CheckPlan) -> Section:
    """All steps with a line for each phase; empty without a checklist."""
    lines: list[Line] = []
    for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
        lines.append(Line(phase.value, tone=Tone.FAINT, whole=True))
        for step in steps:
            tone = Tone.BAD if verdict.waits(plan, step) else None
            lines += [Line(f"{step.number:>3}. {_titled(plan, step)}", 2, 5, tone), *_details(step)]
    return Lines("Upgrade steps", lines)


def _details(step: UpgradeStep) -> Iterator[Line]:
    yield Line(f"Why: {verdict.why(step)}", 7)
    yield from (as_it_is(command, 9) for command in step.commands)
    for form in step.forms:
        yield Line(f"With {form.tool}: {form.text}", 7)
        yield from (as_it_is(command, 9) for command in form.commands)
    if step.done_when:
        yield Line(f"Done when: {step.done_when}.", 7)
    if step.verify:
        yield as_it_is(step.verify, 9)


# The tables behind the checks, with their age: a line for each, or on a wide page each row.


@frozen
class TablesReport(Report):
    of = "--tables"
    formats = MappingProxyType({name: PLAIN[name] for name in ("table", "wide")})

    tables: Sequence[TableOutline]
    today: date

    def sections(self, full: bool) -> Iterator[Section]:
        if full:
            columns = columns_of("ROW", "READ", number_column("AGE"), "SURE", "SOURCE")
            for each in self.tables:
                rows = [
                    [
                        f"{row.name}{f' ({row.promise})' if row.promise else ''}",
                        row.read.isoformat(),
                        self._age(row.read),
                        row.confidence,
                        row.document,
                    ]
                    for row in each.rows
                ]
                yield Table(Title(each.name, f": {each.about} ({counted(len(rows), 'row')})"), (columns, rows))
            return
        columns = columns_of(
            "TABLE",
            number_column("ROWS"),
            "OLDEST",
            number_column("AGE"),
            Column("KUBERNETES", drop=2),
            Column("PROMISE", drop=1),
            text_column("WHAT", 20),
        )
        rows = [
            [
                each.name,
                str(len(each.rows)),
                each.oldest.isoformat(),
                self._age(each.oldest),
                f"to {each.read_to}" if each.read_to else "",
                each.promises,
                each.about,
            ]
            for each in self.tables
        ]
        yield ReportFigure(None, lambda look, _: plain(columns, rows, look))
        yield Foot("Each row with its source: -o wide. Rows of your own: check --tables FILE.")

    def _age(self, read: date) -> str:
        return f"{max(0, (self.today - read).days)}d"


# ``-o markdown``: a check for a ticket or a pull request: verdict, areas, folded findings, steps with checkboxes.


def ticket(plan: CheckPlan, since: ResultComparison | None, tool_version: str, look: Look) -> str:
    """With headings from the second level, to be placed below another title; short enough for GitHub."""
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
    yield "Changed", _since(plan, most)
    lines: list[str] = []
    for number, each in enumerate(() if plan.diagnosis is not None else plan.causes[:DECIDING], 1):
        said = f"{SIGNS[each.status][0]} {each.severity.value}: {verdict.cause(each)}: {verdict.because(plan, each)}"
        lines += [f"{number}. {escape(f'{said} ({verdict.before(plan, each.gate)}).')}", ""]
        lines += [f"   {line}" for line in (escape(each.do.text), "", *block([each.do.command]))]
        lines.append("")
    yield "What decides", lines
    yield "Areas", markdown.ticket_table(areas(plan), "areas", most) if plan.diagnosis is None else []
    for gate in (*Gate, None):
        head = f"Findings {verdict.before(plan, gate)}"
        yield head, _findings((*plan.of(gate, Status.FAIL), *plan.of(gate, Status.UNKNOWN)), most)
    yield "Findings that block nothing", _findings(verdict.blocking_nothing(plan), most)
    yield "Suppressed", _suppressed(plan, most)
    yield "Upgrade steps", _checklist(plan)


def _findings(found: Sequence[Finding], most: int) -> list[str]:
    lines = [line for each in found[:most] for line in (*_finding(each), "")]
    return [*lines, *markdown.more(len(found) - most, "findings")]


def _finding(found: Finding) -> list[str]:
    """The finding as a foldable summary."""
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
    """A checkbox, and below it the reason, the commands, and when it is done."""
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
        # Only the first suspect is the likeliest; commands are formatted as code.
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


def _since(plan: CheckPlan, most: int) -> list[str]:
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
