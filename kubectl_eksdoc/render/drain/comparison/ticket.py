"""The comparison in Markdown: every figure in a table, and what came or went folded away where it is long."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.drain.comparison.changes import Comparison
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain.comparison import rows, words
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.markdown import escape, folded
from kubectl_eksdoc.render.tables import Drawn
from kubectl_eksdoc.render.text import counted

Table = Callable[[Drawn, str, int], list[str]]
"""How the ticket draws a table of at most so many rows, each of which is called so."""


def lines(comparison: Comparison, view: DrainView, most: int, table: Table) -> list[str]:
    """Without the title."""
    came = len(comparison.findings)
    blocks = [
        [f"- {escape(text)}" for text in words.remarks(comparison, view)],
        table(rows.asked(comparison.asked), "options", most),
        markdown.table(*rows.figures(comparison, comparison.figures)),
        table(rows.targets(comparison.targets), "targets", most),
        table(rows.budgets(comparison.budgets), "budgets", most),
        folded(
            f"{counted(came, 'finding')} came, changed or went",
            table(rows.findings(comparison, comparison.findings, full=True), "findings", most),
        ),
        [words.unchanged(comparison)] if comparison.unchanged else [],
    ]
    return [line for block in blocks if block for line in ["", *block]][1:]
