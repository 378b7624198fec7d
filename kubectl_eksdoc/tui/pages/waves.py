"""[3] Waves in full, and why the node under the cursor is where it is."""

from __future__ import annotations

from textual.app import ComposeResult

from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.nothing import no_plan
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import waves
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose


class WavesPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="all-waves", classes="framed")
        yield Prose(id="why")

    def on_mount(self) -> None:
        self.table.border_title = self.said("[3] Waves")
        self.query_one("#why").border_title = self.said("why here")

    def show(self, model: Model) -> None:
        view = model.view
        self.frame(self.table, model, waves.KEY)
        self.table.show(waves.sheet(view, full=True) if view is not None else no_plan(model))
        self.table.set_class(model.stale, "-stale")
        self.moved(self.table, self.table.key or "", model)

    @property
    def node(self) -> str | None:
        return self.table.key

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        self.query_one("#why", Prose).show(details.of_node(key, view) if view is not None and key else [])
