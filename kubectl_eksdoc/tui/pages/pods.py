"""The pods of the node, or of the budget, that was opened by enter."""

from __future__ import annotations

from textual.app import ComposeResult

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import pods
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose


class PodsPage(PageOf):
    """Mutable: what is listed, and the node that it is of."""

    IDS = ("pods", "why-pod")
    _about: str | None = None
    _listed: pods.Listed | None = None

    def compose(self) -> ComposeResult:
        table, why = self.IDS
        yield LineTable(id=table, classes="framed pods")
        yield Prose(id=why)

    def on_mount(self) -> None:
        self.query_one(Prose).entitle(self.said("why"))

    def show(self, model: Model) -> None:
        self._about = model.about or None
        if model.facts is None:
            return
        self._listed = self.listed(model, model.facts.cluster)
        self.table.entitle(self.said(self._listed.title))
        self.frame(self.table, model)
        self.table.set_class(model.stale, "-stale")
        self.table.show(self._listed.sheet)
        self.moved(self.table, self.table.key or "", model)

    def listed(self, model: Model, cluster: Cluster) -> pods.Listed:
        return pods.of_node(model.about, cluster, model.view, model.about in model.choice.ask.marked)

    @property
    def node(self) -> str | None:
        return self._about

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        if self._listed is not None and model.facts is not None:
            self.query_one(Prose).show(details.of_pod(key, self._listed, model.facts.cluster, model.view))


class BudgetPage(PodsPage):
    """Of a budget: its rows are on many nodes."""

    IDS = ("pods-of-budget", "why-pod-of-budget")

    def listed(self, model: Model, cluster: Cluster) -> pods.Listed:
        return pods.of_budget(model.about, cluster, model.view)

    @property
    def node(self) -> str | None:
        return None
