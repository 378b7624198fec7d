"""[=] The plan that was pinned as A beside the one that is chosen now."""

from __future__ import annotations

from textual.app import ComposeResult

from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import waves, what_if
from kubectl_eksdoc.tui.sheets.sheet import EMPTY
from kubectl_eksdoc.tui.widgets.line_table import LineTable


class WhatIfPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="waves-now", classes="framed")
        yield LineTable(id="figures", classes="framed")

    def on_mount(self) -> None:
        self.query_one("#waves-now").border_title = self.said("[=] Waves now")
        self.query_one("#figures").border_title = self.said("A → now")

    def show(self, model: Model) -> None:
        view, pinned = model.view, model.pinned
        figures = self.query_one("#figures", LineTable)
        both = view is not None and pinned is not None
        figures.show(what_if.sheet(pinned.view, view) if pinned is not None and view is not None else EMPTY)
        figures.set_class(both and model.stale, "-stale")
        table = self.query_one("#waves-now", LineTable)
        self.frame(table, model)
        table.show(waves.sheet(view) if view is not None else EMPTY)
        table.set_class(model.stale, "-stale")

    @property
    def node(self) -> str | None:
        return self.table.key
