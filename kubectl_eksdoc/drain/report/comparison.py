"""Comparison of a plan with a saved one: texts, rows and sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.model.baseline import BudgetOutline, TargetOutline
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report import markdown
from kubectl_eksdoc.report.report import MarkdownBackend, MarkdownBlock, Section, Table, TextBlock, flush_left
from kubectl_eksdoc.report.text import (
    MARGIN,
    Appearance,
    Cell,
    Row,
    TableData,
    Title,
    Tone,
    as_columns,
    name_column,
    number_column,
    pluralize,
    text_column,
)

from ..plan_changes import (
    BudgetChange,
    FigureValue,
    Measure,
    PlanComparison,
    PlanFigure,
    TargetChange,
)
from .plan import BUDGET_SYMBOLS, TARGET_SYMBOLS, DrainView
from .rows import NONE

FIGURES = {
    Measure.NODES: "nodes to drain",
    Measure.DRAINED: "nodes that can be drained",
    Measure.PARTIAL: "nodes drained in part",
    Measure.SKIPPED: "nodes skipped",
    Measure.REFUSED: "nodes refused",
    Measure.NOT_JUDGED: "nodes not judged",
    Measure.EVICTIONS: "evictions",
    Measure.LEFT: "pods left",
    Measure.ROUNDS: "rounds",
    Measure.WAVES: "waves",
    Measure.P50: "time, p50",
    Measure.P95: "time, p95",
    Measure.BOUND: "no run takes less than",
    Measure.BINDS: "what decides",
    Measure.GAP: "longer than any order",
    Measure.PEAK: "most pods away at once",
    Measure.BLOCKERS: "findings that block",
    Measure.UNKNOWNS: "findings that are unknown",
    Measure.WARNINGS: "findings that warn",
}

_SECONDS = frozenset({Measure.P50, Measure.P95, Measure.BOUND})
_MORE_IS_BETTER = frozenset({Measure.DRAINED})
_LESS_IS_BETTER = frozenset(
    {
        Measure.SKIPPED,
        Measure.NOT_JUDGED,
        Measure.P50,
        Measure.P95,
        Measure.BLOCKERS,
        Measure.UNKNOWNS,
    }
)
"""Measures that are good or bad by themselves, for the same nodes. More evictions are neither, because more pods may be
allowed to go. More warnings are neither, because a flag turns a blocker into a warning."""


def figure_value(measure: Measure, value: FigureValue) -> str:
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if measure in _SECONDS:
        return format_duration(value)
    return f"{_percent(value)}%" if measure is Measure.GAP else str(value)


def figure_change(figure: PlanFigure) -> str:
    """``+3``, ``-1m20s (-12%)``, ``changed``, ``same``, or ``-`` for values that cannot be compared."""
    change, before = figure.change, figure.before
    if not figure.differs:
        return "same"
    if change is None:
        words = isinstance(before, str) and isinstance(figure.now, str)
        return "changed" if words else NONE
    sign = "+" if change > 0 else "-"
    if figure.what is Measure.GAP:
        points = abs(_percent(figure.now) - _percent(before))
        return f"{sign}{points} points" if points else "under 1 point"
    if figure.what not in _SECONDS:
        return f"{sign}{abs(change):g}"
    share = f" ({change / before:+.0%})" if isinstance(before, (int, float)) and before else ""
    return f"{sign}{format_duration(abs(change))}{share}"


def _percent(value: FigureValue) -> int:
    """A share in percent, rounded as it is printed, so that printed differences add up."""
    return round(value * 100) if isinstance(value, (int, float)) else 0


def figure_tone(figure: PlanFigure) -> Tone | None:
    change = figure.change
    if not change or figure.what not in _MORE_IS_BETTER | _LESS_IS_BETTER:
        return None
    return Tone.GOOD if (change > 0) == (figure.what in _MORE_IS_BETTER) else Tone.WARN


# Rows of the comparison's tables, for every format.


_NO_TARGET = "no target"

_TARGET_SYMBOLS = {verdict.value: sign for verdict, sign in TARGET_SYMBOLS.items()}
_BUDGET_SYMBOLS = {verdict.value: sign for verdict, sign in BUDGET_SYMBOLS.items()}


def figures(comparison: PlanComparison, plan_figures: Sequence[PlanFigure]) -> TableData:
    """A figure is marked better or worse only if both plans are comparable."""
    columns = [text_column("WHAT", 20, 2), *(text_column(each, 18, 3) for each in ("BASELINE", "NOW"))]
    rows: list[Row] = []
    for f in plan_figures:
        change = Cell(figure_change(f), figure_tone(f) if comparison.is_comparable else None)
        rows.append([FIGURES[f.what], figure_value(f.what, f.before), figure_value(f.what, f.now), change])
    return as_columns(*columns, "CHANGE"), rows


def targets(changes: Sequence[TargetChange], full: bool = True) -> TableData:
    """Nodes with another verdict, and why they are not or were not drained; only the first reason without `full`."""
    return as_columns(name_column("NODE"), "BASELINE", "NOW", text_column("WHY", 24, 3)), [
        [t.name, _verdict(t.before), _verdict(t.now), _reason(t, full)] for t in changes
    ]


def budgets(changes: Sequence[BudgetChange]) -> TableData:
    return as_columns(
        name_column("BUDGET", 20),
        "BASELINE",
        number_column("AT ONCE"),
        "NOW",
        number_column("AT ONCE"),
    ), [[b.key, *_allowance(b.before), *_allowance(b.now)] for b in changes]


def _verdict(target: TargetOutline | None) -> Cell:
    if target is None:
        return Cell(_NO_TARGET)
    symbol, tone = _TARGET_SYMBOLS[target.verdict]
    return Cell(f"{symbol} {target.verdict}", tone)


def _reason(change: TargetChange, full: bool) -> str:
    """Why the node is not drained now, or was not drained in the baseline."""
    if change.now is None:
        return NONE
    if change.now.why or change.before is None or not change.before.why:
        return _reasons_text(change.now.why, full) or NONE
    return f"no longer: {_reasons_text(change.before.why, full)}"


def _reasons_text(reasons: Sequence[str], full: bool) -> str:
    if full or len(reasons) < 3:
        return "; ".join(reasons)
    return f"{reasons[0]}; and {len(reasons) - 1} more"


def _allowance(budget: BudgetOutline | None) -> tuple[Cell, str]:
    if budget is None:
        return Cell(NONE), NONE
    symbol, tone = _BUDGET_SYMBOLS[budget.verdict]
    return Cell(f"{symbol} {budget.verdict}", tone), str(budget.per_round)


# The comparison for a terminal (differences only), and for a ticket (every figure).


_MAX_ROWS = 10
_NO_TITLE = Title("")


NO_DIFFERENCES = "Nothing differs."


def sections(view: DrainView, full: bool) -> Iterator[Section | None]:
    comparison = view.comparison
    if comparison is None:
        return
    shown_figures = [figure for figure in comparison.figures if full or figure.differs]
    same = len(comparison.figures) - len(shown_figures)
    below = []
    if same and shown_figures:
        below.append(f"{pluralize(same, 'other figure')} {'is' if same == 1 else 'are'} the same (-o wide).")
    yield screen.section(comparison.since, view.cluster.observed_at, full, view.tool_version)
    if comparison.is_equal:
        yield TextBlock(None, [flush_left(NO_DIFFERENCES, len(MARGIN))])
    yield Table(_NO_TITLE, figures(comparison, shown_figures), notes=below)
    yield Table(_NO_TITLE, targets(_in_both_first(comparison.targets, full), full), max_rows=_MAX_ROWS)
    yield Table(_NO_TITLE, budgets(_in_both_first(comparison.budgets, full)), max_rows=_MAX_ROWS)


_Change = TypeVar("_Change", TargetChange, BudgetChange)


def _in_both_first(changes: Sequence[_Change], full: bool) -> Sequence[_Change]:
    """Changes in both plans first, as changes in only one are less surprising and may be cut."""
    return changes if full else sorted(changes, key=lambda change: change.before is None or change.now is None)


def written(view: DrainView, limit: int) -> MarkdownBlock | None:
    """The comparison in Markdown."""
    comparison = view.comparison
    if comparison is None:
        return None
    since = comparison.since
    parts = (
        Table(_NO_TITLE, targets(comparison.targets), "targets"),
        Table(_NO_TITLE, budgets(comparison.budgets), "budgets", code_columns={"BUDGET"}),
    )
    lines = [line for part in parts for line in MarkdownBackend.section_lines(part, Appearance(), limit)]
    figure_lines = markdown.markdown_table(*figures(comparison, comparison.figures))
    return MarkdownBlock(
        Title(screen.title(since, view.cluster.observed_at)),
        [*screen.markdown_lines(since, limit, view.tool_version), "", *figure_lines, "", *lines],
    )
