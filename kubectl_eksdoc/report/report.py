"""The `Report` of a command, rendered in every output format by a backend.

A command lists the sections of its answer once; a backend (terminal, Markdown, JSON, YAML) writes them.

Belongs here: the section types, and the backends for a terminal, Markdown, JSON and YAML.
Never here: the content of any one command's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from kubectl_eksdoc import __version__
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, When

from .encode import to_json, to_yaml
from .text import (
    MARGIN,
    MAX_ROWS,
    Appearance,
    TableData,
    Title,
    Tone,
    first_items,
    format_table,
    omitted_note,
    printable,
    truncate,
    with_title,
    wrap_printable,
)

if TYPE_CHECKING:
    from kubectl_eksdoc.model.cluster import Cluster

# Findings on a terminal: a line or two for each, and below it the evidence and the remedies.


SYMBOLS = {Status.FAIL: ("✗", Tone.BAD), Status.UNKNOWN: ("?", Tone.UNKNOWN), Status.PASS: ("!", Tone.WARN)}


FindingSuffix = Callable[[Finding], str]
"""Text after the severity of a finding, such as ``" (new)"``; "" for none."""


def no_suffix(_: Finding) -> str:
    return ""


def finding_lines(
    finding: Finding, appearance: Appearance, full: bool, show_subject: bool, suffix: FindingSuffix
) -> list[str]:
    """The lines of one finding. `show_subject`: its message begins with kind and name of its subject."""
    symbol, tone = SYMBOLS[finding.status]
    text_with_subject = (
        f"{finding.subject.kind} {finding.subject}: {finding.message}" if show_subject else finding.message
    )
    head = wrap_printable(
        f"{symbol} {finding.severity.value}{suffix(finding)}: {text_with_subject}", appearance, MARGIN, MARGIN * 2
    )
    lines = [appearance.paint(head[0], tone), *head[1:]]
    evidence = finding.evidence if full else finding.evidence[:2]
    for text in evidence:
        lines += wrap_printable(f"- {text}", appearance, MARGIN * 2, MARGIN * 3)
    if len(evidence) < len(finding.evidence):
        lines.append(f"{MARGIN * 2}{appearance.ellipsis} and {len(finding.evidence) - len(evidence)} more")
    if finding.missing and finding.missing not in finding.evidence:
        lines += wrap_printable(f"missing: {finding.missing}", appearance, MARGIN * 2)
    for remedy in finding.remedy if full else _leading_remedies(finding.remedy, show_subject):
        lines += wrap_printable(f"→ {remedy.dated_text}", appearance, MARGIN * 2, MARGIN * 3)
        if remedy.command:
            lines.append(f"{MARGIN * 3}{printable(remedy.command, appearance)}")
    return lines


def _leading_remedies(remedies: Sequence[Remedy], show_subject: bool) -> Sequence[Remedy]:
    """The first remedy. If its command is for now, the first remedy for later is added: the command alone may not be a
    lasting fix."""
    if not show_subject or not remedies or remedies[0].when is When.LATER or not remedies[0].command:
        return remedies[:1]
    return (remedies[0], *[each for each in remedies if each.when is When.LATER][:1])


# Sections of a report.


@frozen
class Heading:
    """The verdict, and paragraphs below it. With `ticket_title` (``Drain of``), a ticket begins with that title, the
    cluster's name and the origin of its data."""

    verdict: str
    paragraphs: Sequence[str] = ()
    ticket_title: str = ""


@frozen
class Table:
    """A table. `max_rows` limits its rows except in wide output. `row_noun`: a plural noun for the rows; `omitted`: the
    number of further rows that are not in `table`; `intro`: a paragraph above the table (terminal only); `notes`:
    remarks on the rows, or that there are none. A ticket prints the columns titled as in `code_columns` as code, and
    folds the table under `fold_summary` if that is given."""

    title: Title | str
    table: TableData
    row_noun: str = "rows"
    max_rows: int = MAX_ROWS
    omitted: int = 0
    intro: str = ""
    notes: Sequence[Line | str] = ()
    code_columns: Collection[str] = ()
    fold_summary: str = ""


@frozen
class BulletList:
    """A bullet list of independent sentences."""

    title: Title | str
    texts: Iterable[str]


class Line(NamedTuple):
    """A paragraph. Its first line is indented by `indent` spaces, the other lines by `hang` more. A `verbatim` line (a
    command, a path, a line of a file) is never wrapped."""

    text: str
    indent: int = 2
    hang: int = 2
    tone: Tone | None = None
    verbatim: bool = False


def verbatim_line(text: str, indent: int = 2) -> Line:
    """A line to copy: a command, a path, a line of a file."""
    return Line(text, indent, verbatim=True)


def flush_left(text: str, indent: int = 2) -> Line:
    """A paragraph without hanging indent: all its lines begin in the same column."""
    return Line(text, indent, 0)


@frozen
class TextBlock:
    """A block of lines. Without a title, `title` is None. `language` is that of the verbatim lines; `omitted`: how many
    further items are not shown."""

    title: Title | str | None
    lines: Sequence[Line | str]
    language: str = "text"
    omitted: int = 0


@frozen
class FindingList:
    """A list of findings. `title_suffix` follows the title, such as ``" with NONE"``; `show_subject`: the findings have
    different subjects, so each names its own."""

    findings: Sequence[Finding]
    title_suffix: str = ""
    show_subject: bool = True
    suffix: FindingSuffix = no_suffix


@frozen
class ReportFigure:
    """A figure. `draw` returns its lines for an appearance: at full width if its second argument is true, else fitted
    to the width. `notes`: paragraphs below it. Without a title, a terminal shows these lines alone."""

    title: Title | None
    draw: Callable[[Appearance, bool], Sequence[str]]
    notes: Sequence[str] = ()


@frozen
class MarkdownBlock:
    """Markdown lines of a ticket; a terminal does not show them."""

    title: Title | None
    lines: Sequence[str]


@frozen
class Footer:
    """The last paragraph on a terminal: where to find more."""

    text: str


Section: TypeAlias = Heading | Table | BulletList | TextBlock | FindingList | ReportFigure | MarkdownBlock | Footer


class Report:
    """The answer of a command. A subclass is a frozen dataclass of what the command found; `noun_phrase` names it with
    its article."""

    __slots__ = ()
    noun_phrase: ClassVar[str]
    formats: ClassVar[Mapping[str, Backend]]

    def sections(self, full: bool) -> Iterable[Section | None]:
        """The sections in order; None stands for an absent one. `full`: nothing is left out."""
        raise NotImplementedError

    def ticket(self, max_rows: int) -> Iterable[Section | None]:
        """The sections of a Markdown ticket; `max_rows`: rows of a table."""
        return self.sections(full=False)

    def result(self) -> object:
        """The result as a `Printed` structure, for JSON and YAML."""
        raise NotImplementedError

    @property
    def origin(self) -> str:
        """The cluster, the origin of its data and the version of this tool, on one line; "" if the report has no
        cluster."""
        from .identity import origin_text

        cluster: Cluster | None = getattr(self, "cluster", None)
        return "" if cluster is None else origin_text(cluster, getattr(self, "tool_version", ""))

    @classmethod
    def check_format(cls, output: str) -> None:
        """
        Raises:
            UsageError: this report has no such output format.
        """
        if output not in cls.formats:
            raise UsageError(
                f"{cls.noun_phrase} has no output format {output!r}", f"choose one of {', '.join(cls.formats)}"
            )

    def render(self, output: str, appearance: Appearance) -> str:
        """The report in this format; the text ends with a newline. Raises: as `check_format`."""
        self.check_format(output)
        return self.formats[output].write(self, appearance)


@frozen(kw_only=True)
class CommandReport(Report):
    """A report on one cluster. `options`: the flags as given; `recognised`: how the match between the cluster and its
    AWS description is known."""

    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__


# Backends.


class Backend(Protocol):
    def write(self, report: Any, appearance: Appearance) -> str:
        """The complete output; it ends with a newline."""
        ...


@frozen
class TerminalBackend:
    """The backend of a terminal. With `full`, no cell is truncated and no column dropped, so lines may be wider than
    the terminal."""

    full: bool = False

    def write(self, report: Report, appearance: Appearance) -> str:
        section_lines = (
            self.section_lines(each, appearance) for each in report.sections(self.full) if each is not None
        )
        return "\n\n".join("\n".join(lines) for lines in section_lines if lines) + "\n"

    def section_lines(self, section: Section, appearance: Appearance) -> list[str]:
        match section:
            case Heading(verdict, paragraphs):
                head = [appearance.paint(line, Tone.TITLE) for line in wrap_printable(verdict, appearance)]
                return head + [line for text in paragraphs if text for line in wrap_printable(text, appearance)]
            case Table(title, (columns, all_rows), max_rows=max_rows, omitted=omitted, intro=text, notes=paragraphs):
                shown_rows = all_rows if self.full else first_items(all_rows, max_rows)
                rows = format_table(columns, shown_rows, appearance, indent=len(MARGIN), fit=not self.full)
                intro_lines = _paragraph(text, appearance) if text else []
                notes = [line for each in paragraphs for line in _terminal_lines(each, appearance)]
                trailing_lines = [
                    *omitted_note(len(all_rows) - len(shown_rows), appearance),
                    *omitted_note(omitted, appearance),
                    *notes,
                ]
                return with_title(title, [*intro_lines, *rows, *trailing_lines], appearance)
            case BulletList(title, texts):
                return with_title(
                    title, [line for text in texts for line in _paragraph(f"- {text}", appearance)], appearance
                )
            case TextBlock(title, all_rows, omitted=omitted):
                body = [
                    *(line for each in all_rows for line in _terminal_lines(each, appearance)),
                    *omitted_note(omitted, appearance),
                ]
                return body if title is None else with_title(title, body, appearance)
            case FindingList(findings, title_suffix, show_subject, suffix):
                shown_findings = (each for each in findings if self.full or each.severity is not Severity.INFO)
                lines = [
                    line
                    for each in shown_findings
                    for line in finding_lines(each, appearance, self.full, show_subject, suffix)
                ]
                return with_title(Title("Findings", title_suffix), lines, appearance)
            case ReportFigure(title, draw, paragraphs):
                figure = draw(appearance, self.full)
                if title is None:
                    return list(figure)
                detail = (
                    title.detail
                    if self.full
                    else truncate(title.detail, appearance.columns - len(title.caption), appearance, in_middle=True)
                )
                note_lines = [line for text in paragraphs for line in _paragraph(text, appearance)] if figure else []
                return with_title(Title(title.caption, detail), [*figure, *note_lines], appearance)
            case MarkdownBlock():
                return []
            case Footer(text):
                return [] if self.full else wrap_printable(text, appearance)


def _paragraph(text: str, appearance: Appearance) -> list[str]:
    return wrap_printable(text, appearance, MARGIN, MARGIN * 2)


def _terminal_lines(line: Line | str, appearance: Appearance) -> list[str]:
    text, indent, hang, tone, verbatim = Line(line) if isinstance(line, str) else line
    if verbatim:
        return [appearance.paint(" " * indent + printable(text, appearance), tone)]
    first, *other_lines = wrap_printable(text, appearance, " " * indent, " " * (indent + hang))
    return [appearance.paint(first, tone), *other_lines]


@frozen
class _EncodedBackend:
    """The result, encoded in JSON or YAML."""

    encode: Callable[[Any, bool], str]

    def write(self, report: Report, appearance: Appearance) -> str:
        from .result import to_json_types

        return self.encode(to_json_types(report.result()), appearance.ascii)


@frozen
class CustomBackend:
    """An output format of a single command."""

    format_report: Callable[[Any, Appearance], str]

    def write(self, report: Report, appearance: Appearance) -> str:
        return self.format_report(report, appearance)


class MarkdownBackend:
    """The backend of Markdown tickets. Headings begin at the second level, so that the text fits below a title; the
    text is short enough for a GitHub comment."""

    def write(self, report: Report, appearance: Appearance) -> str:
        from .markdown import finish_document, fit_ticket

        return fit_ticket(
            lambda most: (
                finish_document(list(self._ticket_lines(report, appearance, most)), appearance).rstrip("\n") + "\n"
            )
        )

    def _ticket_lines(self, report: Report, appearance: Appearance, max_rows: int) -> Iterator[str]:
        from .markdown import cluster_name, escape_markdown, origin_markdown

        cluster_report: Any = report
        has_heading = False
        for section in report.ticket(max_rows):
            if isinstance(section, Heading) and section.ticket_title:
                has_heading = True
                yield from (
                    f"## {section.ticket_title} {cluster_name(cluster_report.cluster)}",
                    "",
                    f"**{escape_markdown(section.verdict)}**",
                    "",
                )
                yield from (line for text in section.paragraphs if text for line in (escape_markdown(text), ""))
                yield from (origin_markdown(cluster_report.cluster, cluster_report.tool_version), "")
            elif section is not None:
                yield from self.section_lines(section, appearance, max_rows)
        yield "" if has_heading else escape_markdown(report.origin)

    @staticmethod
    def section_lines(section: Section, appearance: Appearance, max_rows: int) -> list[str]:
        """The lines of one section; `max_rows`: rows of a table."""
        from .markdown import (
            CODE_WIDTH,
            bullet_list,
            code_block,
            collapsible,
            escape_markdown,
            omitted_note,
            ticket_table,
        )

        match section:
            case Heading(verdict, notes):
                return [
                    f"## {escape_markdown(verdict)}",
                    "",
                    *(line for text in notes if text for line in (escape_markdown(text), "")),
                ]
            case Table(title, table, rows, omitted=omitted, notes=notes):
                body = [*ticket_table(table, rows, max_rows, section.code_columns), *omitted_note(omitted, rows)]
                body += (
                    ["", *_markdown_paragraphs(notes, "text")]
                    if body and notes
                    else _markdown_paragraphs(notes, "text")
                )
                return (
                    [*collapsible(section.fold_summary, body), ""]
                    if section.fold_summary
                    else _under_heading(title, body)
                )
            case BulletList(title, texts):
                return _under_heading(title, bullet_list(texts))
            case TextBlock(title, lines, language, omitted):
                return _under_heading(title, [*_markdown_paragraphs(lines, language), *omitted_note(omitted)])
            case FindingList(findings, title_suffix, _, suffix):
                return _under_heading(Title("Findings", title_suffix), list(_markdown_findings(findings, suffix)))
            case ReportFigure(title, draw, notes):
                figure = draw(Appearance(CODE_WIDTH, ascii=appearance.ascii), False)
                note_lines = (line for text in notes for line in ("", escape_markdown(text)))
                return _under_heading(title, [*code_block(list(figure), "text"), *note_lines] if figure else [])
            case MarkdownBlock(title, lines):
                return _under_heading(title, list(lines))
            case Footer():
                return []


def _under_heading(title: Title | str | None, body: list[str]) -> list[str]:
    from .markdown import escape_markdown

    if not body:
        return []
    heading = title.heading if isinstance(title, Title) else title
    return [f"### {escape_markdown(heading)}", "", *body, ""] if heading else [*body, ""]


def _markdown_paragraphs(lines: Sequence[Line | str], language: str) -> Iterator[str]:
    """Markdown of these lines; consecutive verbatim lines form one code block."""
    from .markdown import code_block, escape_markdown

    code: list[str] = []
    for line_item in (Line(line) if isinstance(line, str) else line for line in lines):
        if line_item.verbatim:
            code += [line_item.text] if code or line_item.text else []
            continue
        yield from [*code_block(code, language), ""] if any(code) else []
        code = []
        yield from (escape_markdown(line_item.text.removeprefix("- ")), "")
    yield from [*code_block(code, language), ""] if any(code) else []


def _markdown_findings(findings: Sequence[Finding], suffix: FindingSuffix) -> Iterator[str]:
    from .markdown import code_block, code_span, escape_markdown

    for finding in findings:
        if finding.severity is Severity.INFO:
            continue
        subject = f"{finding.subject.kind} {finding.subject}"
        status_text = f"{finding.status.value}, {finding.severity.value}{escape_markdown(suffix(finding))}"
        yield f"- **{status_text}** {code_span(subject)}: {escape_markdown(finding.message)}"
        if finding.missing:
            yield f"  - missing: {escape_markdown(finding.missing)}"
        for step in finding.remedy:
            yield f"  - {escape_markdown(step.dated_text)}"
            if step.command:
                yield from (f"    {line}" for line in code_block([step.command]))


DEFAULT_BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {
        "table": TerminalBackend(),
        "wide": TerminalBackend(full=True),
        "json": _EncodedBackend(to_json),
        "yaml": _EncodedBackend(to_yaml),
        "markdown": MarkdownBackend(),
    }
)
"""The formats of every command that does not declare others."""

Report.formats = DEFAULT_BACKENDS
