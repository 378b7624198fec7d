"""The sections of a page on a screen: a title in capitals, and a table or sentences below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Column, Row, plain
from kubectl_eksdoc.render.text import shown, wrap

MOST_ROWS = 30

MARGIN = "  "

Drawn: TypeAlias = tuple[list[Column], list[Row]]
"""A table: its columns and rows, whatever draws them."""


class Title(NamedTuple):
    """`head` is in capitals on a screen, so that sections are found at a glance."""

    head: str
    rest: str = ""

    @property
    def screen(self) -> str:
        return self.head.upper() + self.rest

    @property
    def heading(self) -> str:
        return self.head + self.rest


def titled(title: Title, lines: Sequence[str], look: Look) -> list[str]:
    return [look.paint(shown(title.screen, look), Tone.TITLE), *lines] if lines else []


def drawn(title: Title, drawn: Drawn, look: Look, full: bool) -> list[str]:
    columns, every = drawn
    kept = every if full or len(every) <= MOST_ROWS + 1 else every[:MOST_ROWS]
    lines = plain(columns, kept, look, indent=len(MARGIN), fit=not full)
    return titled(title, [*lines, *more(len(every) - len(kept), look)], look)


def more(count: int, look: Look) -> list[str]:
    """The line that says how many are not shown; none where all are."""
    return [f"{MARGIN}{look.ellipsis} and {count} more (-o wide)"] if count > 0 else []


def told(title: Title, texts: Iterable[str], look: Look) -> list[str]:
    lines = [line for text in texts for line in wrap(shown(f"- {text}", look), look.columns, MARGIN, MARGIN * 2)]
    return titled(title, lines, look)
