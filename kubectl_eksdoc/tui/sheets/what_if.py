"""Two plans beside each other: A, which was pinned, and the one that is chosen now."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.core.plan.drain.outcome import BudgetVerdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.sheets.sheet import Cells, Sheet, of_rows

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
"""Each with whether more of it is better, and whether it is a time in seconds."""


def _of_estimate(view: DrainView, name: str) -> float | None:
    return None if view.plan.estimate is None else float(getattr(view.plan.estimate, name))


def sheet(before: DrainView, now: DrainView) -> Sheet:
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
    by = round(now - before) if time else now - before
    if not by:
        return Cell("=", Tone.FAINT)
    said = f"{'+' if by > 0 else '-'}{duration(abs(by)) if time else f'{abs(by):g}'}"
    better = (by > 0) is more_is_better
    return Cell(said if better else f"! {said}", Tone.GOOD if better else Tone.WARN)
