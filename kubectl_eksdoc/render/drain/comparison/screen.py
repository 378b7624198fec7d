"""The comparison for a terminal: what differs; ``-o wide`` has every figure and every finding that came or went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from kubectl_eksdoc.drain.comparison.changes import BudgetChange, Comparison, TargetChange
from kubectl_eksdoc.render.drain.comparison import rows, words
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Drawn, plain
from kubectl_eksdoc.render.text import counted, shown, wrap

_Beside = TypeVar("_Beside", TargetChange, BudgetChange)

_MOST_ROWS = 10
_INDENT = 2


def section(view: DrainView, look: Look, full: bool) -> list[str]:
    """With its title; nothing where nothing is compared."""
    if view.comparison is None:
        return []
    title = f"COMPARED{words.title(view.comparison, view).removeprefix('Compared')}"
    titled = (look.paint(text, Tone.TITLE) for text in wrap(shown(title, look), look.columns, rest=" " * _INDENT))
    return [*titled, *lines(view.comparison, view, look, full)]


def lines(comparison: Comparison, view: DrainView, look: Look, full: bool) -> list[str]:
    """Without the title; tables stand apart by a blank line."""
    blocks = [
        [line for text in words.remarks(comparison, view) for line in _text(text, look)],
        _table(rows.asked(comparison.asked), look, full),
        _figures(comparison, look, full),
        _table(rows.targets(_in_both_first(comparison.targets, full), full), look, full),
        _table(rows.budgets(_in_both_first(comparison.budgets, full)), look, full),
        _findings(comparison, look, full),
    ]
    return [line for block in blocks if block for line in ["", *block]][1:]


def _in_both_first(changes: Sequence[_Beside], full: bool) -> Sequence[_Beside]:
    """What only one of the plans has is less of a surprise, so it is what is cut where there is no room."""
    return changes if full else sorted(changes, key=lambda change: change.before is None or change.now is None)


def _figures(comparison: Comparison, look: Look, full: bool) -> list[str]:
    found = [figure for figure in comparison.figures if full or figure.differs]
    same = len(comparison.figures) - len(found)
    drawn = _table(rows.figures(comparison, found), look, True if full else None)
    said = f"{counted(same, 'other figure')} {'is' if same == 1 else 'are'} the same (-o wide)."
    return drawn + (_text(said, look) if same and drawn else [])


def _findings(comparison: Comparison, look: Look, full: bool) -> list[str]:
    found = [change for change in comparison.findings if full or rows.worth_a_line(change)]
    drawn = _table(rows.findings(comparison, found, full), look, full)
    return drawn + [line for text in _beside(comparison, len(found)) for line in _text(text, look)]


def _beside(comparison: Comparison, told: int) -> Iterator[str]:
    notes = len(comparison.findings) - told
    if notes:
        yield f"{counted(notes, 'note')} came or went (-o wide)."
    if not comparison.nothing_differs and words.unchanged(comparison):
        yield words.unchanged(comparison)


def _table(drawn: Drawn, look: Look, full: bool | None) -> list[str]:
    """At most so many rows, unless `full`; None draws all of them and still fits them to the screen."""
    columns, body = drawn
    kept = body if full is not False or len(body) <= _MOST_ROWS + 1 else body[:_MOST_ROWS]
    drawn_lines = plain(columns, kept, look, indent=_INDENT, fit=not full)
    if len(kept) < len(body):
        drawn_lines.append(" " * _INDENT + f"{look.ellipsis} and {len(body) - len(kept)} more (-o wide)")
    return drawn_lines


def _text(text: str, look: Look) -> list[str]:
    return wrap(shown(text, look), look.columns, " " * _INDENT)
