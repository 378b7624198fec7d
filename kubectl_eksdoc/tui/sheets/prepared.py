"""All that the pages need of a plan, made where the plan is made: the thread that answers keys finds it done."""

from __future__ import annotations

from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.tui.sheets import budgets, waves
from kubectl_eksdoc.tui.sheets.nodes import targets_of


def prepare(view: DrainView) -> None:
    targets_of(view)
    for full in (False, True):
        budgets.sheet(view, full=full)
        waves.sheet(view, full=full)
    budgets.to_do(view)
