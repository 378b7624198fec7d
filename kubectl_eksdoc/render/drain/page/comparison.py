"""The page's section on what differs from a saved plan."""

from __future__ import annotations

from kubectl_eksdoc.drain.comparison.changes import Comparison
from kubectl_eksdoc.render.drain.comparison import rows, words
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, folded, lines, table
from kubectl_eksdoc.render.text import counted

_NAMES = frozenset({"NODE", "BUDGET"})


def compared(comparison: Comparison, view: DrainView) -> Html:
    """Every figure; findings that came or went are folded where there are many."""
    changes = table(*rows.findings(comparison, comparison.findings, full=True), _NAMES)
    title = f"{counted(len(comparison.findings), 'finding')} came, changed or went"
    return lines(
        [
            *(el("p", text) for text in words.remarks(comparison, view)),
            _apart(table(*rows.asked(comparison.asked))),
            _apart(table(*rows.figures(comparison, comparison.figures))),
            _apart(table(*rows.targets(comparison.targets), _NAMES)),
            _apart(table(*rows.budgets(comparison.budgets), _NAMES)),
            folded(title, changes, open_=len(comparison.findings) <= 12) if changes else "",
            el("p", words.unchanged(comparison), class_="soft") if comparison.unchanged else "",
        ]
    )


def _apart(drawn: Html) -> Html:
    return el("div", drawn, class_="apart") if drawn else drawn
