"""What tickets of runs and rehearsals have in common: GitHub's limits, where facts are from, tables and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.identity import UNKNOWN, named
from kubectl_eksdoc.render.markdown import code, escape
from kubectl_eksdoc.render.sections import Drawn
from kubectl_eksdoc.render.times import rfc3339

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
    return code(who.cluster or who.context) if who.cluster or who.context else "an unknown cluster"


def origin(of: Cluster, tool_version: str) -> str:
    """Which cluster, by what data, by which tool."""
    who = of.identity
    parts = [
        f"{word} {code(value) if value else UNKNOWN}" for word, value in (*named(who), ("server", who.server_version))
    ]
    source = f"{of.source.value} data of {rfc3339(of.observed_at)}"
    return f"{' · '.join(parts)} · {source} · kubectl eksdoc {escape(tool_version)}"


def items(texts: Iterable[str]) -> list[str]:
    return [f"- {escape(text)}" for text in texts]


def table(drawn: Drawn, what: str, most: int) -> list[str]:
    columns, body = drawn
    lines = markdown.table(columns, body[:most], _NAMES)
    rest = more(len(body) - most, what)
    return [*lines, "", *rest] if rest else lines


def more(count: int, what: str) -> list[str]:
    """The line that says how many are left out; none where all are there."""
    return [f"… and {count} more {what}; all of them are in `-o json`."] if count > 0 else []
