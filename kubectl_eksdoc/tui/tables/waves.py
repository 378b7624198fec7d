"""Waves as a Gantt chart, comparison of two plans, and precomputed tables of a plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.report.plan import TARGET_SIGN, DrainView, in_brief
from kubectl_eksdoc.drain.report.rows import budget_order
from kubectl_eksdoc.drain.report.timeline import SLOW, text_axis, text_bar
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Cell, Column, Tone

from . import budgets
from .nodes import targets_of, wave_tone
from .pods import Cells, Sheet, of_rows, once_a_view

NOTHING = "No node of the plan is drained."

EVICTING = ("▇", "▆")
"""Alternating symbols of consecutive waves, so that the begin of a wave is visible."""
EMPTY = "─"
_LEAST_BARS = 40
"""Minimum columns of the bars on the full page; other columns are dropped first."""
KEY = f"p50: {EVICTING[0]} pods are evicted  {EMPTY} empty until done  {SLOW} p95"


@once_a_view
def sheet(view: DrainView, full: bool = False) -> Sheet:
    columns = [
        Column("W" if not view.plan.in_generations else "G", right=True),
        Column("NODE", middle=True, floor=14),
        *([Column("EVICTIONS", right=True, short="EV", drop=1), Column("TAKES FROM", drop=2)] if full else []),
        Column("TIME", floor=_LEAST_BARS if full else 0),
    ]
    spans, slow_s = view.spans, view.slow_s
    end = max([*(span.done_s for span in spans.values()), *slow_s.values()], default=0.0) or 1.0
    rows: list[tuple[str, Cells]] = []
    why: dict[str, Cell] = {}
    taken = _taken(view) if full else {}
    last = 0
    for target in view.targets:
        name = target.node.name
        if target.order:
            wave = str(target.wave) if target.wave != last else ""
            last = target.wave
            count = [str(target.evictions), taken.get(name, "")] if full else []
            rows.append((name, [wave, name, *count, ""]))
        else:
            sign, tone = TARGET_SIGN[target.verdict]
            codes = dict.fromkeys(in_brief(code) for row in view.blocking(target) for code in row.codes)
            why[name] = Cell(", ".join(codes) or "; ".join(target.why) or target.verdict.value, tone)
            rows.append((name, [Cell(sign, tone), name, *(["", ""] if full else []), ""]))
    sheet = of_rows(columns, rows, NOTHING, fill=len(columns) - 1)

    def filled(name: str, room: int) -> Cell | str:
        if name in why:
            return why[name]
        span = spans.get(name)
        if span is None:
            return Cell("how long is not known", Tone.UNKNOWN)
        wave = view.wave_of.get(name, 1)
        return Cell(gantt(span, end, room, wave, slow_s.get(name, 0.0)), wave_tone(wave))

    return Sheet(
        sheet.columns,
        sheet.widths,
        sheet.keys,
        sheet.cells,
        sheet.fill,
        filled,
        NOTHING,
        head=lambda room: text_axis(end, room - _time_width(view)),
        ascii_widths=sheet.ascii_widths,
    )


_MOST_BUDGETS = 2


def _taken(view: DrainView) -> dict[str, str]:
    """``shop/checkout 2, data/kafka 1 +3``: by node, the number of its pods for each budget that their evictions use;
    the tightest budgets first."""
    rank = {each.budget.key: at for at, each in enumerate(budget_order(view, full=True))}
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for each in view.evictions:
        if each.budget:
            found[each.node][each.budget] += 1
    said = {}
    for node, budgets_of in found.items():
        worst = sorted(budgets_of, key=lambda key: rank.get(key, len(rank)))
        more = f" +{len(worst) - _MOST_BUDGETS}" if len(worst) > _MOST_BUDGETS else ""
        said[node] = ", ".join(f"{key} {budgets_of[key]}" for key in worst[:_MOST_BUDGETS]) + more
    return said


def _time_width(view: DrainView) -> int:
    """Width of the longest time after a bar."""
    return max((len(duration(span.done_s)) for span in view.spans.values()), default=0) + 1


def gantt(span: Span, end: float, room: int, wave: int, slow_s: float = 0.0) -> str:
    """``   ▇▇▇▇─ 1m05s ···``, at least one symbol long; the time is the p50 end, the tail reaches to the p95 end."""
    bars = max(room - len(duration(end)) - 1, 1)
    bar = f"{text_bar(span, 0.0, end, bars, EVICTING[(wave - 1) % 2], EMPTY)} {duration(span.done_s)} "
    return f"{bar}{SLOW * (round(slow_s / end * bars) - len(bar))}".rstrip()


# Two plans compared: the pinned plan A and the current one.


COLUMNS = (Column("WHAT"), Column("A", right=True), Column("NOW", right=True), Column("CHANGE", right=True))

_NOT_KNOWN = "?"

Figure = Callable[[DrainView], float | None]

FIGURES: tuple[tuple[str, Figure, bool, bool], ...] = (
    ("nodes drained", lambda view: sum(target.order > 0 for target in view.targets), True, False),
    ("nodes not drained", lambda view: sum(target.order == 0 for target in view.targets), False, False),
    ("waves", lambda view: len(set(view.wave_of.values())), False, False),
    ("rounds of evictions", lambda view: view.plan.rounds, False, False),
    ("time, p50", lambda view: _of_estimate(view, "p50_s"), False, True),
    ("time, p95", lambda view: _of_estimate(view, "p95_s"), False, True),
    ("pods away at once", lambda view: _of_estimate(view, "peak_away"), False, False),
    ("evictions", lambda view: len(view.evictions), True, False),
    ("without a place", lambda view: sum(not each.lands_on for each in view.evictions), False, False),
    ("blockers", lambda view: len(view.blockers), False, False),
    ("unknown", lambda view: len(view.unknowns), False, False),
    ("budgets one at a time", lambda view: sum(h.verdict is BudgetVerdict.SERIAL for h in view.budgets), False, False),
)
"""Label, value, whether more is better, and whether it is a time in seconds."""


def _of_estimate(view: DrainView, name: str) -> float | None:
    return None if view.plan.estimate is None else float(getattr(view.plan.estimate, name))


def what_if_sheet(before: DrainView, now: DrainView) -> Sheet:
    rows: list[tuple[str, Cells]] = []
    for what, figure, more_is_better, time in FIGURES:
        was, become = figure(before), figure(now)
        rows.append((what, [what, _said(was, time), _said(become, time), _change(was, become, more_is_better, time)]))
    return of_rows(COLUMNS, rows)


def _said(value: float | None, time: bool) -> str:
    if value is None:
        return _NOT_KNOWN
    return duration(value) if time else f"{value:g}"


def _change(before: float | None, now: float | None, more_is_better: bool, time: bool) -> Cell:
    if before is None or now is None:
        return Cell(_NOT_KNOWN, Tone.UNKNOWN)
    by = round(now) - round(before) if time else now - before  # as both are displayed
    if not by:
        return Cell("=", Tone.FAINT)
    said = f"{'+' if by > 0 else '-'}{duration(abs(by)) if time else f'{abs(by):g}'}"
    better = (by > 0) is more_is_better
    return Cell(said if better else f"! {said}", Tone.GOOD if better else Tone.WARN)


# The tables of a plan, computed in the planner's thread: the thread that handles keys finds them cached.


def prepare(view: DrainView) -> None:
    targets_of(view)
    for full in (False, True):
        budgets.sheet(view, full=full)
        sheet(view, full=full)
    budgets.to_do(view)
