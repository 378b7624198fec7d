"""GitHub Markdown: escaped text, code, tables and folded details.

A message from a cluster must not become a link, an image, HTML, a mention that notifies a user, or a reference to an
issue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from kubectl_eksdoc.model.cluster import Cluster, Source

from .identity import NO_CLUSTER, UNKNOWN, cluster_title, identity_parts
from .text import Appearance, Cell, Column, Row, TableData, cell_text, clean, rfc3339

_ACTIVE = re.compile(r"[\\`*\[\]<>|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLOCK_START = re.compile(r"^(\s*)(?:([-+#=:])|(\d+)([.)])(?=\s|$))")
_ENTITY = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_REFERENCE = re.compile(r"([@#])(?=\w)")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp)(?=://)|\b(www)(?=\.)|(?<=\w)(@)(?=<!)")
_EMPTY_COMMENT = "<!-- -->"
"""An empty comment between two characters: GitHub then recognizes no mention, reference or link."""


class MarkdownText(str):
    """Markdown that goes into a document unchanged."""

    __slots__ = ()


def escape_markdown(text: str) -> str:
    """`text` escaped for inline Markdown, including table cells: it is rendered literally."""
    if isinstance(text, MarkdownText):
        return text
    safe = clean(text).replace("&", "&amp;")
    safe = _ACTIVE.sub(lambda m: _ENTITY.get(m[0]) or ("\\" + m[0]), safe)
    safe = _REFERENCE.sub(rf"\1{_EMPTY_COMMENT}", safe)
    safe = _ADDRESS.sub(lambda m: m[0] + _EMPTY_COMMENT, safe)
    return _BLOCK_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", safe)


def code_span(text: str, in_table: bool = False) -> str:
    """A code span; its fence is longer than any run of backticks in the text."""
    safe = clean(text)
    if not safe.strip() or (in_table and "\\" in safe):
        # In a table, a backslash before a pipe is ambiguous in code, but not in text.
        return escape_markdown(text)
    if in_table:
        # GitHub splits a row at every unescaped pipe before it parses code spans.
        safe = safe.replace("|", "\\|")
    fence = "`" * (_longest_run(safe) + 1)
    padding = " " if safe[0] in "` " or safe[-1] in "` " else ""
    return f"{fence}{padding}{safe}{padding}{fence}"


def code_block(lines: Sequence[str], language: str = "sh") -> list[str]:
    """A fenced code block with one command per line."""
    safe = [clean(line) for line in lines]
    fence = "`" * max(3, *(_longest_run(line) + 1 for line in safe)) if safe else "```"
    return [f"{fence}{language}", *safe, fence]


def collapsible(summary: str, lines: Sequence[str]) -> list[str]:
    """Details that open with a click; `summary` is plain text."""
    return ["<details>", f"<summary>{_html_text(summary)}</summary>", "", *lines, "", "</details>"] if lines else []


def _html_text(text: str) -> str:
    """Escaped text for an HTML block. GitHub parses no Markdown there up to the next blank line, so a backslash would
    be visible."""
    safe = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ADDRESS.sub(lambda m: m[0] + _EMPTY_COMMENT, _REFERENCE.sub(rf"\1{_EMPTY_COMMENT}", safe))


def markdown_table(columns: Sequence[Column], rows: Sequence[Row], code_columns: Collection[str] = ()) -> list[str]:
    """A table; the columns titled as in `code_columns` hold names to copy and are code.

    Cells are not padded: a GitHub comment is limited to 65,536 characters.
    """
    if not rows:
        return []
    is_code = [column.title in code_columns for column in columns]
    header_row = [escape_markdown(column.title) for column in columns]
    delimiter_row = ["---:" if column.align_right else "---" for column in columns]
    body = [[_cell(cell, span) for cell, span in zip(row, is_code, strict=True)] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in [header_row, delimiter_row, *body]]


def _cell(cell: str | int | Cell, span: bool) -> str:
    text = cell_text(cell)
    return code_span(text, in_table=True) if span and text != "-" else escape_markdown(text)


def finish_document(lines: Sequence[str], appearance: Appearance) -> str:
    """The finished document, in ASCII if that is requested; several blank lines become one."""
    return appearance.transliterate(re.sub("\n{3,}", "\n\n", "\n".join(lines))) + "\n"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# Common parts of tickets about runs and rehearsals: GitHub's limits, origin of the data, tables and lists.


MAX_CHARACTERS = 65_536
"""GitHub's limit for an issue or a comment, in characters."""

CODE_WIDTH = 80
"""Columns of a code block that GitHub shows without a scroll bar."""

_ROW_LIMITS = (400, 200, 100, 50, 25, 10)
"""Limits for the rows of a table, tried in turn: the first with which the ticket is short enough, else the last."""

_CODE_COLUMNS = frozenset({"NODE", "POD", "SUBJECT", "KIND"})


def fit_ticket(render: Callable[[int], str]) -> str:
    """Render the ticket with the largest row limit with which it is short enough for GitHub; `render` takes the
    limit."""
    text = ""
    for max_rows in _ROW_LIMITS:
        text = render(max_rows)
        if len(text) <= MAX_CHARACTERS:
            break
    return text


def cluster_name(cluster_facts: Cluster) -> str:
    """The cluster's name as code, or a description in words."""
    identity = cluster_facts.identity
    return (
        code_span(cluster_title(cluster_facts))
        if identity.cluster or identity.context
        else cluster_title(cluster_facts)
    )


def origin_markdown(cluster_facts: Cluster, tool_version: str) -> str:
    """The cluster, the origin of its data and the version of this tool."""
    identity = cluster_facts.identity
    parts = [
        f"{label} {code_span(value) if value else UNKNOWN}"
        for label, value in (*identity_parts(identity), ("server", identity.server_version))
    ]
    source = f"{cluster_facts.source.value} data of {rfc3339(cluster_facts.observed_at)}"
    origin_text = NO_CLUSTER if cluster_facts.source is Source.FILE else " · ".join((*parts, source))
    return f"{origin_text} · kubectl eksdoc {escape_markdown(tool_version)}"


def bullet_list(texts: Iterable[str]) -> list[str]:
    return [f"- {escape_markdown(text)}" for text in texts]


def ticket_table(table_data: TableData, noun: str, max_rows: int, code_columns: Collection[str] = ()) -> list[str]:
    columns, body = table_data
    lines = markdown_table(columns, body[:max_rows], _CODE_COLUMNS.union(code_columns))
    note = omitted_note(len(body) - max_rows, noun)
    return [*lines, "", *note] if note else lines


def omitted_note(count: int, noun: str = "") -> list[str]:
    """The line with the number of omitted rows; no line if there are none."""
    return [f"… and {count} more{f' {noun}' if noun else ''}; all of them are in `-o json`."] if count > 0 else []
