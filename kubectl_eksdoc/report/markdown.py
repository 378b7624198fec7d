"""GitHub's Markdown: text of foreign origin that stays text, code, and details that fold.

A message from a cluster must not become a link, an image, HTML, a mention that wakes somebody up, or a
reference to an issue.
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
"""An empty comment between two characters: GitHub then sees neither a mention nor a reference nor a link."""


class Marked(str):
    """Markdown that may stand in a page as it is."""

    __slots__ = ()


def escape(text: str) -> str:
    """`text` that shows as itself wherever inline Markdown stands, table cells included."""
    if isinstance(text, Marked):
        return text
    safe = clean(text).replace("&", "&amp;")
    safe = _ACTIVE.sub(lambda m: _ENTITY.get(m[0]) or ("\\" + m[0]), safe)
    safe = _REFERENCE.sub(rf"\1{_WORD_JOIN}", safe)
    safe = _ADDRESS.sub(lambda m: m[0] + _WORD_JOIN, safe)
    return _OPENING.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", safe)


def code(text: str, in_table: bool = False) -> str:
    """A code span; its fence is longer than any run of backticks inside."""
    safe = clean(text)
    if not safe.strip() or (in_table and "\\" in safe):
        # In a table a backslash before a pipe has two readings; as text it has one.
        return escape(text)
    if in_table:
        # GitHub splits the row at each bare pipe before it looks for code.
        safe = safe.replace("|", "\\|")
    fence = "`" * (_longest_run(safe) + 1)
    pad = " " if safe[0] in "` " or safe[-1] in "` " else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def block(lines: Sequence[str], language: str = "sh") -> list[str]:
    """A fenced block of one command a line."""
    safe = [clean(line) for line in lines]
    fence = "`" * max(3, *(_longest_run(line) + 1 for line in safe)) if safe else "```"
    return [f"{fence}{language}", *safe, fence]


def folded(summary: str, lines: Sequence[str]) -> list[str]:
    """Details that open with a click; `summary` is plain text."""
    return ["<details>", f"<summary>{_in_html(summary)}</summary>", "", *lines, "", "</details>"] if lines else []


def _in_html(text: str) -> str:
    """In a block of HTML no Markdown is read up to the next blank line: a backslash would show."""
    safe = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ADDRESS.sub(lambda m: m[0] + _WORD_JOIN, _REFERENCE.sub(rf"\1{_WORD_JOIN}", safe))


def table(columns: Sequence[Column], rows: Sequence[Row], names: Collection[str] = ()) -> list[str]:
    """A table; the columns titled as in `names` are names to copy and stand as code.

    Cells are not padded: a comment on GitHub has room for 65,536 characters, and padding would fill it.
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
    """The finished document, in ASCII where that is asked for; several blank lines become one."""
    return look.signs(re.sub("\n{3,}", "\n\n", "\n".join(lines))) + "\n"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# What tickets of runs and rehearsals have in common: GitHub's limits, where facts are from, tables and lists.


LONGEST = 65_536
"""What GitHub takes for an issue or a comment, in characters."""

CODE_WIDTH = 80
"""Columns of a block of code that GitHub shows without a scroll bar."""

_MOST_ROWS = (400, 200, 100, 50, 25, 10)
"""How many rows a table may have: the first number with which the ticket is not too long, else the last."""

_NAMES = frozenset({"NODE", "POD", "SUBJECT", "KIND"})


def fitting(ticket: Callable[[int], str]) -> str:
    """`ticket` makes the text with so many rows in a table at most; short enough for GitHub where that can be."""
    text = ""
    for most in _MOST_ROWS:
        text = ticket(most)
        if len(text) <= LONGEST:
            break
    return text


def cluster(of: Cluster) -> str:
    """Its name as code, or words."""
    who = of.identity
    return code(called(of)) if who.cluster or who.context else called(of)


def origin(of: Cluster, tool_version: str) -> str:
    """Which cluster, by what data, by which tool."""
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
    """The line that says how many are left out; none where all are there."""
    return [f"… and {count} more{f' {what}' if what else ''}; all of them are in `-o json`."] if count > 0 else []
