"""[2] PodDisruptionBudgets in full, and what the one under the cursor means."""

from __future__ import annotations

from textual.app import ComposeResult

from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.nothing import no_plan
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import budgets, unguarded
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose


class HeadroomPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="all-budgets", classes="framed")
        yield Prose(id="budget")

    def on_mount(self) -> None:
        self.query_one("#budget", Prose).entitle(self.said("what it means"))

    def show(self, model: Model) -> None:
        view = model.view
        without = view is not None and not view.budgets
        self.frame(self.table, model, "" if without else budgets.KEY)
        title = "[2] No budget counts these" if without else "[2] PDB headroom, the worst first"
        self.table.entitle(self.said(title))
        if view is not None and without:
            found = unguarded.unguarded(view)
            self.table.show(unguarded.sheet(found))
            self.query_one("#budget", Prose).show(unguarded.about(found, view))
            return
        self.table.show(budgets.sheet(view, full=True) if view is not None else no_plan(model))
        self.moved(self.table, self.table.key or "", model)

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        if view is not None and not view.budgets:
            return  # what is said is of all of them
        found = [each for each in view.budgets if each.budget.key == key] if view is not None else []
        lines = details.of_budget(found[0], view) if found and view is not None else []
        self.query_one("#budget", Prose).show(lines)
