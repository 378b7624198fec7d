"""PodDisruptionBudgets that have pods on marked nodes: how many pods stand, must stay, may go, and go by the plan."""

from __future__ import annotations

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.plan.drain.outcome import BudgetVerdict
from kubectl_eksdoc.core.plan.drain.result import Headroom
from kubectl_eksdoc.render.drain.rows import budget_order
from kubectl_eksdoc.render.drain.verdict import BUDGET_SIGN
from kubectl_eksdoc.render.drain.view import DrainView, status_of
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.tui.sheets.once import once_a_view
from kubectl_eksdoc.tui.sheets.sheet import Cells, Sheet, of_rows

MUST_STAY, MAY_GO, MISSING = "█", "▒", "░"
KEY = f"{MUST_STAY} must stay  {MAY_GO} may go  {MISSING} missing"

UNKNOWN = "?"

_LONGEST = 12

NOTHING = "No PodDisruptionBudget counts a pod on a marked node: the API refuses none of these evictions."


@once_a_view
def sheet(view: DrainView, full: bool) -> Sheet:
    """The worst first; `full` adds what there is room for on a page of its own."""
    columns = [
        Column("BUDGET", middle=True, floor=12),
        Column("HEADROOM", drop=1),
        Column("HEALTHY/NEEDED/EXPECTED", short="H/N/E", right=True, drop=2),
        Column("ALLOWED", right=True, short="ALLOW"),
        Column("PLAN", right=True),
        *([Column("AT ONCE", right=True, drop=3), Column("ROUNDS", right=True, drop=4)] if full else []),
        Column("VERDICT", floor=17),
        *([Column("WHY")] if full else []),
    ]
    rows = [(headroom.budget.key, _cells(headroom, full)) for headroom in budget_order(view, full=True)]
    return of_rows(columns, rows, NOTHING, fill=len(columns) - 1)


def bar(budget: Budget) -> str:
    """``███▒░``: a sign for each pod, of large budgets one for a share of them; "" where the numbers are not known."""
    status = status_of(budget)
    if status is None:
        return ""
    stay, go = min(status.current, status.desired), max(status.current - status.desired, 0)
    lack = max(status.expected - status.current, 0)
    total = stay + go + lack
    if total > _LONGEST:
        # What there is at all is seen: a share is at least one sign.
        stay, go, lack = (max(round(part / total * _LONGEST), 1) if part else 0 for part in (stay, go, lack))
    return MUST_STAY * stay + MAY_GO * go + MISSING * lack


def numbers(headroom: Headroom) -> str:
    status = status_of(headroom.budget)
    return UNKNOWN if status is None else f"{status.current}/{status.desired}/{status.expected}"


def _cells(headroom: Headroom, full: bool) -> Cells:
    sign, tone = BUDGET_SIGN[headroom.verdict]
    return [
        headroom.budget.key,
        Cell(bar(headroom.budget), tone if headroom.verdict is not BudgetVerdict.FITS else Tone.GOOD),
        numbers(headroom),
        str(headroom.budget.status.allowed),
        str(headroom.to_evict),
        *([str(headroom.per_round), str(headroom.rounds or "·")] if full else []),
        Cell(f"{sign} {headroom.verdict.value}", tone),
        *([headroom.why] if full else []),
    ]
