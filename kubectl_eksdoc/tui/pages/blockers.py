"""[4] What blocks, what is unknown, what warns; and what helps."""

from __future__ import annotations

from textual.app import ComposeResult

from kubectl_eksdoc.render.drain.groups import Group
from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.nothing import no_plan
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import blockers
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose


class BlockersPage(PageOf):
    """Mutable: the groups of the plan that is shown."""

    groups: tuple[Group, ...] = ()

    def compose(self) -> ComposeResult:
        yield LineTable(id="groups", classes="framed")
        yield Prose(id="fix")

    def on_mount(self) -> None:
        self.table.border_title = self.said("[4] Blockers, unknowns and warnings")
        self.query_one("#fix").border_title = self.said("what it means and what to do")

    def show(self, model: Model) -> None:
        self.groups = blockers.groups_of(model.view) if model.view is not None else ()
        self.frame(self.table, model)
        self.table.show(blockers.sheet(self.groups) if self.groups or model.view is not None else no_plan(model))
        self.moved(self.table, self.table.key or "", model)

    @property
    def group(self) -> Group | None:
        """The one under the cursor."""
        return self.groups[int(self.table.key)] if self.table.key is not None and self.groups else None

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        group = self.group
        self.query_one("#fix", Prose).show(details.of_group(group) if group is not None else [])
