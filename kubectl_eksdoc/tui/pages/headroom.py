"""[2] PodDisruptionBudgets in full, and what the one under the cursor means."""

from __future__ import annotations

from textual.app import ComposeResult

from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import budgets
from kubectl_eksdoc.tui.sheets.sheet import EMPTY
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose


class HeadroomPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="all-budgets", classes="framed")
        yield Prose(id="budget")

    def on_mount(self) -> None:
        self.table.border_title = self.said("[2] PDB headroom, the worst first")
        self.query_one("#budget").border_title = self.said("what it means")

    def show(self, model: Model) -> None:
        view = model.view
        self.frame(self.table, model, budgets.KEY)
        self.table.show(budgets.sheet(view, full=True) if view is not None else EMPTY)
        self.moved(self.table, self.table.key or "", model)

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        found = [each for each in view.budgets if each.budget.key == key] if view is not None else []
        lines = details.of_budget(found[0], view) if found and view is not None else []
        self.query_one("#budget", Prose).show(lines)
