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
    MOST_ROWS,
    Drawn,
    Look,
    Title,
    Tone,
    cut,
    few,
    more,
    plain,
    shown,
    titled,
    wrapped,
)

if TYPE_CHECKING:
    from kubectl_eksdoc.model.cluster import Cluster

# Findings on a terminal: a line or two for each, and below it the evidence and the remedies.


SIGNS = {Status.FAIL: ("✗", Tone.BAD), Status.UNKNOWN: ("?", Tone.UNKNOWN), Status.PASS: ("!", Tone.WARN)}


Mark = Callable[[Finding], str]
"""Text after the severity of a finding, such as ``" (new)"``; "" for none."""


def unmarked(_: Finding) -> str:
    return ""


def finding_lines(found: Finding, look: Look, full: bool, named: bool, mark: Mark) -> list[str]:
    """The lines of one finding. `show_subject`: its message begins with kind and name of its subject."""
    sign, tone = SIGNS[found.status]
    what = f"{found.subject.kind} {found.subject}: {found.message}" if named else found.message
    head = wrapped(f"{sign} {found.severity.value}{mark(found)}: {what}", look, MARGIN, MARGIN * 2)
    lines = [look.paint(head[0], tone), *head[1:]]
    evidence = found.evidence if full else found.evidence[:2]
    for text in evidence:
        lines += wrapped(f"- {text}", look, MARGIN * 2, MARGIN * 3)
    if len(evidence) < len(found.evidence):
        lines.append(f"{MARGIN * 2}{look.ellipsis} and {len(found.evidence) - len(evidence)} more")
    if found.missing and found.missing not in found.evidence:
        lines += wrapped(f"missing: {found.missing}", look, MARGIN * 2)
    for each in found.remedy if full else _first(found.remedy, named):
        lines += wrapped(f"→ {each.said}", look, MARGIN * 2, MARGIN * 3)
        if each.command:
            lines.append(f"{MARGIN * 3}{shown(each.command, look)}")
    return lines


def _first(remedies: Sequence[Remedy], named: bool) -> Sequence[Remedy]:
    """The first remedy. If its command is for now, the first remedy for later is added: the command alone may not be a
    lasting fix."""
    if not named or not remedies or remedies[0].when is When.LATER or not remedies[0].command:
        return remedies[:1]
    return (remedies[0], *[each for each in remedies if each.when is When.LATER][:1])


# Sections of a report.


@frozen
class Head:
    """The verdict, and paragraphs below it. With `ticket_title` (``Drain of``), a ticket begins with that title, the
    cluster's name and the origin of its data."""

    verdict: str
    more: Sequence[str] = ()
    ticket: str = ""


@frozen
class Table:
    """A table. `max_rows` limits its rows except in wide output. `row_noun`: a plural noun for the rows; `omitted`: the
    number of further rows that are not in `table`; `intro`: a paragraph above the table (terminal only); `notes`:
    remarks on the rows, or that there are none. A ticket prints the columns titled as in `code_columns` as code, and
    folds the table under `fold_summary` if that is given."""

    title: Title | str
    table: Drawn
    rows: str = "rows"
    most: int = MOST_ROWS
    left_out: int = 0
    above: str = ""
    below: Sequence[Line | str] = ()
    names: Collection[str] = ()
    fold: str = ""


@frozen
class Points:
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
    whole: bool = False


def as_it_is(text: str, indent: int = 2) -> Line:
    """A line to copy: a command, a path, a line of a file."""
    return Line(text, indent, whole=True)


def flush(text: str, indent: int = 2) -> Line:
    """A paragraph without hanging indent: all its lines begin in the same column."""
    return Line(text, indent, 0)


@frozen
class Lines:
    """A block of lines. Without a title, `title` is None. `language` is that of the verbatim lines; `omitted`: how many
    further items are not shown."""

    title: Title | str | None
    lines: Sequence[Line | str]
    language: str = "text"
    left_out: int = 0


@frozen
class Findings:
    """A list of findings. `title_suffix` follows the title, such as ``" with NONE"``; `show_subject`: the findings have
    different subjects, so each names its own."""

    found: Sequence[Finding]
    of: str = ""
    named: bool = True
    mark: Mark = unmarked


@frozen
class ReportFigure:
    """A figure. `draw` returns its lines for an appearance: at full width if its second argument is true, else fitted
    to the width. `notes`: paragraphs below it. Without a title, a terminal shows these lines alone."""

    title: Title | None
    draw: Callable[[Look, bool], Sequence[str]]
    below: Sequence[str] = ()


@frozen
class Written:
    """Markdown lines of a ticket; a terminal does not show them."""

    title: Title | None
    lines: Sequence[str]


@frozen
class Foot:
    """The last paragraph on a terminal: where to find more."""

    text: str


Section: TypeAlias = Head | Table | Points | Lines | Findings | ReportFigure | Written | Foot


class Report:
    """The answer of a command. A subclass is a frozen dataclass of what the command found; `noun_phrase` names it with
    its article."""

    __slots__ = ()
    of: ClassVar[str]
    formats: ClassVar[Mapping[str, Backend]]

    def sections(self, full: bool) -> Iterable[Section | None]:
        """The sections in order; None stands for an absent one. `full`: nothing is left out."""
        raise NotImplementedError

    def ticket(self, most: int) -> Iterable[Section | None]:
        """The sections of a Markdown ticket; `max_rows`: rows of a table."""
        return self.sections(full=False)

    def result(self) -> object:
        """The result as a `Printed` structure, for JSON and YAML."""
        raise NotImplementedError

    @property
    def origin(self) -> str:
        """The cluster, the origin of its data and the version of this tool, on one line; "" if the report has no
        cluster."""
        from .identity import origin

        cluster: Cluster | None = getattr(self, "cluster", None)
        return "" if cluster is None else origin(cluster, getattr(self, "tool_version", ""))

    @classmethod
    def check(cls, output: str) -> None:
        """
        Raises:
            UsageError: this report has no such output format.
        """
        if output not in cls.formats:
            raise UsageError(f"{cls.of} has no output format {output!r}", f"choose one of {', '.join(cls.formats)}")

    def render(self, output: str, look: Look) -> str:
        """The report in this format; the text ends with a newline. Raises: as `check_format`."""
        self.check(output)
        return self.formats[output].write(self, look)


@frozen(kw_only=True)
class CommandReport(Report):
    """A report on one cluster. `options`: the flags as given; `recognised`: how the match between the cluster and its
    AWS description is known."""

    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__


# Backends.


class Backend(Protocol):
    def write(self, report: Any, look: Look) -> str:
        """The complete output; it ends with a newline."""
        ...


@frozen
class Screen:
    """The backend of a terminal. With `full`, no cell is truncated and no column dropped, so lines may be wider than
    the terminal."""

    full: bool = False

    def write(self, report: Report, look: Look) -> str:
        parts = (self.lines(each, look) for each in report.sections(self.full) if each is not None)
        return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"

    def lines(self, section: Section, look: Look) -> list[str]:
        match section:
            case Head(verdict, below):
                head = [look.paint(line, Tone.TITLE) for line in wrapped(verdict, look)]
                return head + [line for text in below if text for line in wrapped(text, look)]
            case Table(title, (columns, every), most=most, left_out=left_out, above=text, below=below):
                kept = every if self.full else few(every, most)
                rows = plain(columns, kept, look, indent=len(MARGIN), fit=not self.full)
                above = _paragraph(text, look) if text else []
                notes = [line for each in below for line in _on_screen(each, look)]
                behind = [*more(len(every) - len(kept), look), *more(left_out, look), *notes]
                return titled(title, [*above, *rows, *behind], look)
            case Points(title, texts):
                return titled(title, [line for text in texts for line in _paragraph(f"- {text}", look)], look)
            case Lines(title, every, left_out=left_out):
                body = [*(line for each in every for line in _on_screen(each, look)), *more(left_out, look)]
                return body if title is None else titled(title, body, look)
            case Findings(found, of, named, mark):
                seen = (each for each in found if self.full or each.severity is not Severity.INFO)
                lines = [line for each in seen for line in finding_lines(each, look, self.full, named, mark)]
                return titled(Title("Findings", of), lines, look)
            case ReportFigure(title, draw, below):
                figure = draw(look, self.full)
                if title is None:
                    return list(figure)
                rest = title.rest if self.full else cut(title.rest, look.columns - len(title.head), look, middle=True)
                under = [line for text in below for line in _paragraph(text, look)] if figure else []
                return titled(Title(title.head, rest), [*figure, *under], look)
            case Written():
                return []
            case Foot(text):
                return [] if self.full else wrapped(text, look)


def _paragraph(text: str, look: Look) -> list[str]:
    return wrapped(text, look, MARGIN, MARGIN * 2)


def _on_screen(line: Line | str, look: Look) -> list[str]:
    text, indent, hang, tone, whole = Line(line) if isinstance(line, str) else line
    if whole:
        return [look.paint(" " * indent + shown(text, look), tone)]
    first, *others = wrapped(text, look, " " * indent, " " * (indent + hang))
    return [look.paint(first, tone), *others]


@frozen
class _Document:
    """The result, encoded in JSON or YAML."""

    encode: Callable[[Any, bool], str]

    def write(self, report: Report, look: Look) -> str:
        from .result import plain

        return self.encode(plain(report.result()), look.ascii)


@frozen
class OwnFormat:
    """An output format of a single command."""

    made: Callable[[Any, Look], str]

    def write(self, report: Report, look: Look) -> str:
        return self.made(report, look)


class Markdown:
    """The backend of Markdown tickets. Headings begin at the second level, so that the text fits below a title; the
    text is short enough for a GitHub comment."""

    def write(self, report: Report, look: Look) -> str:
        from .markdown import fitting, signed

        return fitting(lambda most: signed(list(self._lines(report, look, most)), look).rstrip("\n") + "\n")

    def _lines(self, report: Report, look: Look, most: int) -> Iterator[str]:
        from .markdown import cluster, escape, origin

        of: Any = report
        begun = False
        for section in report.ticket(most):
            if isinstance(section, Head) and section.ticket:
                begun = True
                yield from (f"## {section.ticket} {cluster(of.cluster)}", "", f"**{escape(section.verdict)}**", "")
                yield from (line for text in section.more if text for line in (escape(text), ""))
                yield from (origin(of.cluster, of.tool_version), "")
            elif section is not None:
                yield from self.lines(section, look, most)
        yield "" if begun else escape(report.origin)

    @staticmethod
    def lines(section: Section, look: Look, most: int) -> list[str]:
        """The lines of one section; `max_rows`: rows of a table."""
        from .markdown import (
            CODE_WIDTH,
            block,
            escape,
            folded,
            items,
            more,
            ticket_table,
        )

        match section:
            case Head(verdict, below):
                return [f"## {escape(verdict)}", "", *(line for text in below if text for line in (escape(text), ""))]
            case Table(title, table, rows, left_out=left_out, below=below):
                body = [*ticket_table(table, rows, most, section.names), *more(left_out, rows)]
                body += ["", *_paragraphs(below, "text")] if body and below else _paragraphs(below, "text")
                return [*folded(section.fold, body), ""] if section.fold else _headed(title, body)
            case Points(title, texts):
                return _headed(title, items(texts))
            case Lines(title, lines, language, left_out):
                return _headed(title, [*_paragraphs(lines, language), *more(left_out)])
            case Findings(found, of, _, mark):
                return _headed(Title("Findings", of), list(_findings(found, mark)))
            case ReportFigure(title, draw, below):
                figure = draw(Look(CODE_WIDTH, ascii=look.ascii), False)
                under = (line for text in below for line in ("", escape(text)))
                return _headed(title, [*block(list(figure), "text"), *under] if figure else [])
            case Written(title, lines):
                return _headed(title, list(lines))
            case Foot():
                return []


def _headed(title: Title | str | None, body: list[str]) -> list[str]:
    from .markdown import escape

    if not body:
        return []
    heading = title.heading if isinstance(title, Title) else title
    return [f"### {escape(heading)}", "", *body, ""] if heading else [*body, ""]


def _paragraphs(lines: Sequence[Line | str], language: str) -> Iterator[str]:
    """Markdown of these lines; consecutive verbatim lines form one code block."""
    from .markdown import block, escape

    code: list[str] = []
    for each in (Line(line) if isinstance(line, str) else line for line in lines):
        if each.whole:
            code += [each.text] if code or each.text else []
            continue
        yield from [*block(code, language), ""] if any(code) else []
        code = []
        yield from (escape(each.text.removeprefix("- ")), "")
    yield from [*block(code, language), ""] if any(code) else []


def _findings(found: Sequence[Finding], mark: Mark) -> Iterator[str]:
    from .markdown import block, code, escape

    for each in found:
        if each.severity is Severity.INFO:
            continue
        subject = f"{each.subject.kind} {each.subject}"
        how = f"{each.status.value}, {each.severity.value}{escape(mark(each))}"
        yield f"- **{how}** {code(subject)}: {escape(each.message)}"
        if each.missing:
            yield f"  - missing: {escape(each.missing)}"
        for step in each.remedy:
            yield f"  - {escape(step.said)}"
            if step.command:
                yield from (f"    {line}" for line in block([step.command]))


PLAIN: Mapping[str, Backend] = MappingProxyType(
    {
        "table": Screen(),
        "wide": Screen(full=True),
        "json": _Document(to_json),
        "yaml": _Document(to_yaml),
        "markdown": Markdown(),
    }
)
"""The formats of every command that does not declare others."""

Report.formats = PLAIN
