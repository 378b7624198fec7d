"""GitHub Markdown: escaped text, code, tables and folded details.

A message from a cluster must not become a link, an image, HTML, a mention that notifies a user, or a reference to an
issue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from kubectl_eksdoc.model.cluster import Cluster, Source

from .identity import NO_CLUSTER, UNKNOWN, called, named
from .text import Cell, Column, Drawn, Look, Row, clean, rfc3339, text_of

_ACTIVE = re.compile(r"[\\`*\[\]<>|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_OPENING = re.compile(r"^(\s*)(?:([-+#=:])|(\d+)([.)])(?=\s|$))")
_ENTITY = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_REFERENCE = re.compile(r"([@#])(?=\w)")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp)(?=://)|\b(www)(?=\.)|(?<=\w)(@)(?=<!)")
_WORD_JOIN = "<!-- -->"
"""An empty comment between two characters: GitHub then recognizes no mention, reference or link."""


class Marked(str):
    """Markdown that goes into a document unchanged."""

    __slots__ = ()


def escape(text: str) -> str:
    """`text` escaped for inline Markdown, including table cells: it is rendered literally."""
    if isinstance(text, Marked):
        return text
    safe = clean(text).replace("&", "&amp;")
    safe = _ACTIVE.sub(lambda m: _ENTITY.get(m[0]) or ("\\" + m[0]), safe)
    safe = _REFERENCE.sub(rf"\1{_WORD_JOIN}", safe)
    safe = _ADDRESS.sub(lambda m: m[0] + _WORD_JOIN, safe)
    return _OPENING.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", safe)


def code(text: str, in_table: bool = False) -> str:
    """A code span; its fence is longer than any run of backticks in the text."""
    safe = clean(text)
    if not safe.strip() or (in_table and "\\" in safe):
        # In a table, a backslash before a pipe is ambiguous in code, but not in text.
        return escape(text)
    if in_table:
        # GitHub splits a row at every unescaped pipe before it parses code spans.
        safe = safe.replace("|", "\\|")
    fence = "`" * (_longest_run(safe) + 1)
    pad = " " if safe[0] in "` " or safe[-1] in "` " else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def block(lines: Sequence[str], language: str = "sh") -> list[str]:
    """A fenced code block with one command per line."""
    safe = [clean(line) for line in lines]
    fence = "`" * max(3, *(_longest_run(line) + 1 for line in safe)) if safe else "```"
    return [f"{fence}{language}", *safe, fence]


def folded(summary: str, lines: Sequence[str]) -> list[str]:
    """Details that open with a click; `summary` is plain text."""
    return ["<details>", f"<summary>{_in_html(summary)}</summary>", "", *lines, "", "</details>"] if lines else []


def _in_html(text: str) -> str:
    """Escaped text for an HTML block. GitHub parses no Markdown there up to the next blank line, so a backslash would
    be visible."""
    safe = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ADDRESS.sub(lambda m: m[0] + _WORD_JOIN, _REFERENCE.sub(rf"\1{_WORD_JOIN}", safe))


def table(columns: Sequence[Column], rows: Sequence[Row], names: Collection[str] = ()) -> list[str]:
    """A table; the columns titled as in `code_columns` hold names to copy and are code.

    Cells are not padded: a GitHub comment is limited to 65,536 characters.
    """
    if not rows:
        return []
    spans = [column.title in names for column in columns]
    head = [escape(column.title) for column in columns]
    rule = ["---:" if column.right else "---" for column in columns]
    body = [[_cell(cell, span) for cell, span in zip(row, spans, strict=True)] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in [head, rule, *body]]


def _cell(cell: str | int | Cell, span: bool) -> str:
    text = text_of(cell)
    return code(text, in_table=True) if span and text != "-" else escape(text)


def signed(lines: Sequence[str], look: Look) -> str:
    """The finished document, in ASCII if that is requested; several blank lines become one."""
    return look.signs(re.sub("\n{3,}", "\n\n", "\n".join(lines))) + "\n"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# Common parts of tickets about runs and rehearsals: GitHub's limits, origin of the data, tables and lists.


LONGEST = 65_536
"""GitHub's limit for an issue or a comment, in characters."""

CODE_WIDTH = 80
"""Columns of a code block that GitHub shows without a scroll bar."""

_MOST_ROWS = (400, 200, 100, 50, 25, 10)
"""Limits for the rows of a table, tried in turn: the first with which the ticket is short enough, else the last."""

_NAMES = frozenset({"NODE", "POD", "SUBJECT", "KIND"})


def fitting(ticket: Callable[[int], str]) -> str:
    """Render the ticket with the largest row limit with which it is short enough for GitHub; `render` takes the
    limit."""
    text = ""
    for most in _MOST_ROWS:
        text = ticket(most)
        if len(text) <= LONGEST:
            break
    return text


def cluster(of: Cluster) -> str:
    """The cluster's name as code, or a description in words."""
    who = of.identity
    return code(called(of)) if who.cluster or who.context else called(of)


def origin(of: Cluster, tool_version: str) -> str:
    """The cluster, the origin of its data and the version of this tool."""
    who = of.identity
    parts = [
        f"{word} {code(value) if value else UNKNOWN}" for word, value in (*named(who), ("server", who.server_version))
    ]
    source = f"{of.source.value} data of {rfc3339(of.observed_at)}"
    said = NO_CLUSTER if of.source is Source.FILE else " · ".join((*parts, source))
    return f"{said} · kubectl eksdoc {escape(tool_version)}"


def items(texts: Iterable[str]) -> list[str]:
    return [f"- {escape(text)}" for text in texts]


def ticket_table(drawn: Drawn, what: str, most: int, names: Collection[str] = ()) -> list[str]:
    columns, body = drawn
    lines = table(columns, body[:most], _NAMES.union(names))
    rest = more(len(body) - most, what)
    return [*lines, "", *rest] if rest else lines


def more(count: int, what: str = "") -> list[str]:
    """The line with the number of omitted rows; no line if there are none."""
    return [f"… and {count} more{f' {what}' if what else ''}; all of them are in `-o json`."] if count > 0 else []
