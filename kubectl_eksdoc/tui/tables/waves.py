"""Waves as a Gantt chart, comparison of two plans, and precomputed tables of a plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.report.plan import TARGET_SYMBOLS, DrainView, short_code
from kubectl_eksdoc.drain.report.rows import budget_order
from kubectl_eksdoc.drain.report.timeline import SLOW, text_axis, text_bar
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import Cell, Column, Tone

from . import budgets
from .nodes import targets_by_node, wave_tone
from .pods import Cells, Sheet, cached_per_view, sheet_of_rows

EMPTY_TEXT = "No node of the plan is drained."

EVICTION_SYMBOLS = ("▇", "▆")
"""Alternating symbols of consecutive waves, so that the begin of a wave is visible."""
EMPTY_SYMBOL = "─"
_MIN_BAR_WIDTH = 40
"""Minimum columns of the bars on the full page; other columns are dropped first."""
LEGEND = f"p50: {EVICTION_SYMBOLS[0]} pods are evicted  {EMPTY_SYMBOL} empty until done  {SLOW} p95"


@cached_per_view
def waves_sheet(view: DrainView, full: bool = False) -> Sheet:
    columns = [
        Column("W" if not view.plan.uses_generations else "G", align_right=True),
        Column("NODE", cut_middle=True, min_width=14),
        *(
            [Column("EVICTIONS", align_right=True, short_title="EV", drop_order=1), Column("TAKES FROM", drop_order=2)]
            if full
            else []
        ),
        Column("TIME", min_width=_MIN_BAR_WIDTH if full else 0),
    ]
    spans, slow_s = view.spans, view.p95_done_s
    end = max([*(span.done_s for span in spans.values()), *slow_s.values()], default=0.0) or 1.0
    rows: list[tuple[str, Cells]] = []
    reasons: dict[str, Cell] = {}
    budgets_used = _budgets_used(view) if full else {}
    last_wave = 0
    for target in view.targets:
        name = target.node.name
        if target.order:
            wave = str(target.wave) if target.wave != last_wave else ""
            last_wave = target.wave
            eviction_cells = [str(target.evictions), budgets_used.get(name, "")] if full else []
            rows.append((name, [wave, name, *eviction_cells, ""]))
        else:
            symbol, tone = TARGET_SYMBOLS[target.verdict]
            codes = dict.fromkeys(short_code(code) for row in view.blocking(target) for code in row.codes)
            reasons[name] = Cell(", ".join(codes) or "; ".join(target.why) or target.verdict.value, tone)
            rows.append((name, [Cell(symbol, tone), name, *(["", ""] if full else []), ""]))
    row_sheet = sheet_of_rows(columns, rows, EMPTY_TEXT, fill_column=len(columns) - 1)

    def fill_cell(name: str, width: int) -> Cell | str:
        if name in reasons:
            return reasons[name]
        span = spans.get(name)
        if span is None:
            return Cell("how long is not known", Tone.UNKNOWN)
        wave = view.wave_of.get(name, 1)
        return Cell(gantt_bar(span, end, width, wave, slow_s.get(name, 0.0)), wave_tone(wave))

    return Sheet(
        row_sheet.columns,
        row_sheet.widths,
        row_sheet.keys,
        row_sheet.cells,
        row_sheet.fill_column,
        fill_cell,
        EMPTY_TEXT,
        fill_title=lambda room: text_axis(end, room - _time_width(view)),
        ascii_widths=row_sheet.ascii_widths,
    )


_MAX_BUDGETS = 2


def _budgets_used(view: DrainView) -> dict[str, str]:
    """``shop/checkout 2, data/kafka 1 +3``: by node, the number of its pods for each budget that their evictions use;
    the tightest budgets first."""
    rank = {eviction.budget.key: at for at, eviction in enumerate(budget_order(view, full=True))}
    counts_by_node: dict[str, Counter[str]] = defaultdict(Counter)
    for eviction in view.evictions:
        if eviction.budget:
            counts_by_node[eviction.node][eviction.budget] += 1
    texts = {}
    for node, budget_counts in counts_by_node.items():
        ordered_budgets = sorted(budget_counts, key=lambda key: rank.get(key, len(rank)))
        more_text = f" +{len(ordered_budgets) - _MAX_BUDGETS}" if len(ordered_budgets) > _MAX_BUDGETS else ""
        texts[node] = ", ".join(f"{key} {budget_counts[key]}" for key in ordered_budgets[:_MAX_BUDGETS]) + more_text
    return texts


def _time_width(view: DrainView) -> int:
    """Width of the longest time after a bar."""
    return max((len(format_duration(span.done_s)) for span in view.spans.values()), default=0) + 1


def gantt_bar(span: NodeSpan, end_s: float, width: int, wave: int, slow_s: float = 0.0) -> str:
    """``   ▇▇▇▇─ 1m05s ···``, at least one symbol long; the time is the p50 end, the tail reaches to the p95 end."""
    bar_width = max(width - len(format_duration(end_s)) - 1, 1)
    bar = (
        f"{text_bar(span, 0.0, end_s, bar_width, EVICTION_SYMBOLS[(wave - 1) % 2], EMPTY_SYMBOL)} "
        f"{format_duration(span.done_s)} "
    )
    return f"{bar}{SLOW * (round(slow_s / end_s * bar_width) - len(bar))}".rstrip()


# Two plans compared: the pinned plan A and the current one.


WHAT_IF_COLUMNS = (
    Column("WHAT"),
    Column("A", align_right=True),
    Column("NOW", align_right=True),
    Column("CHANGE", align_right=True),
)

_UNKNOWN_VALUE = "?"

FigureOf = Callable[[DrainView], float | None]

FIGURES: tuple[tuple[str, FigureOf, bool, bool], ...] = (
    ("nodes drained", lambda view: sum(target.order > 0 for target in view.targets), True, False),
    ("nodes not drained", lambda view: sum(target.order == 0 for target in view.targets), False, False),
    ("waves", lambda view: len(set(view.wave_of.values())), False, False),
    ("rounds of evictions", lambda view: view.plan.rounds, False, False),
    ("time, p50", lambda view: _estimate_value(view, "p50_s"), False, True),
    ("time, p95", lambda view: _estimate_value(view, "p95_s"), False, True),
    ("pods away at once", lambda view: _estimate_value(view, "peak_away"), False, False),
    ("evictions", lambda view: len(view.evictions), True, False),
    ("without a place", lambda view: sum(not each.lands_on for each in view.evictions), False, False),
    ("blockers", lambda view: len(view.blockers), False, False),
    ("unknown", lambda view: len(view.unknowns), False, False),
    ("budgets one at a time", lambda view: sum(h.verdict is BudgetVerdict.SERIAL for h in view.budgets), False, False),
)
"""Label, value, whether more is better, and whether it is a time in seconds."""


def _estimate_value(view: DrainView, name: str) -> float | None:
    return None if view.plan.estimate is None else float(getattr(view.plan.estimate, name))


def what_if_sheet(pinned_view: DrainView, current_view: DrainView) -> Sheet:
    rows: list[tuple[str, Cells]] = []
    for label, figure, more_is_better, is_time in FIGURES:
        pinned_value, current_value = figure(pinned_view), figure(current_view)
        rows.append(
            (
                label,
                [
                    label,
                    _figure_text(pinned_value, is_time),
                    _figure_text(current_value, is_time),
                    _change_cell(pinned_value, current_value, more_is_better, is_time),
                ],
            )
        )
    return sheet_of_rows(WHAT_IF_COLUMNS, rows)


def _figure_text(value: float | None, is_time: bool) -> str:
    if value is None:
        return _UNKNOWN_VALUE
    return format_duration(value) if is_time else f"{value:g}"


def _change_cell(pinned_value: float | None, current_value: float | None, more_is_better: bool, is_time: bool) -> Cell:
    if pinned_value is None or current_value is None:
        return Cell(_UNKNOWN_VALUE, Tone.UNKNOWN)
    difference = (
        round(current_value) - round(pinned_value) if is_time else current_value - pinned_value
    )  # as both are displayed
    if not difference:
        return Cell("=", Tone.FAINT)
    change_text = (
        f"{'+' if difference > 0 else '-'}{format_duration(abs(difference)) if is_time else f'{abs(difference):g}'}"
    )
    better = (difference > 0) is more_is_better
    return Cell(change_text if better else f"! {change_text}", Tone.GOOD if better else Tone.WARN)


# The tables of a plan, computed in the planner's thread: the thread that handles keys finds them cached.


def precompute(view: DrainView) -> None:
    targets_by_node(view)
    for full in (False, True):
        budgets.budgets_sheet(view, full=full)
        waves_sheet(view, full=full)
    budgets.blocker_rows(view)
