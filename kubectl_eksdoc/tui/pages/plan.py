"""[1] Nodes, and beside them as much of budgets and waves as there is room for."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from kubectl_eksdoc.render.text import wrap
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.sheets import budgets, narrowing, nodes, order, waves
from kubectl_eksdoc.tui.sheets.sheet import text_sheet
from kubectl_eksdoc.tui.widgets.line_table import LineTable

NOTHING_MARKED = text_sheet(
    (
        "Nothing is marked yet.",
        "",
        "space  mark the node under the cursor",
        "m o    every node with a kubelet before the server's",
        "m a    every node not made from its group's newest AMI",
        "m g    every node of this node group",
        "/      filter first, then m f marks what is shown",
    )
)
NOTHING_SENT = text_sheet(
    (
        "Marks only build a plan: nothing is sent from here.",
        "",
        "{ }    fewer or more nodes at once",
        "J K    a node one wave later, or earlier",
        "=      pin a plan as A, and compare",
        "C      copy the plan as a command line",
        "?      all keys",
    )
)
_WIDTH = 74
"""Of words that must be read on a narrow terminal, too."""

OLD = text_sheet(
    (
        "This is how the cluster was when it was seen last.",
        "",
        "Marks can be set already; those of nodes that are",
        "still there stay when it is read. Nothing is planned",
        "or done before that.",
    )
)
PLANNING = text_sheet(("planning…",))


class PlanPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(marks=True, id="nodes", classes="framed")
        with Horizontal(id="below"):
            yield LineTable(id="budgets", classes="framed")
            yield LineTable(id="waves", classes="framed")

    def on_mount(self) -> None:
        for name, title in (
            ("nodes", "[1] Nodes"),
            ("budgets", "[2] PDB headroom"),
            ("waves", "[3] Waves, p50 and p95"),
        ):
            self.query_one(f"#{name}").border_title = title.replace("[", "[")

    def show(self, model: Model) -> None:
        if model.facts is None:
            if model.trouble:
                told = (*wrap(model.trouble, _WIDTH), "", *wrap(model.reads.remedy, _WIDTH), "", "ctrl+r tries again")
                self.table.show(text_sheet(told))
            return
        names = model.shown_nodes
        columns = order.marked(nodes.COLUMNS, model.seen.order)
        none = "" if names else narrowing.why_none(model.facts.nodes, model.filter, model.seen.faults)
        sheet = nodes.sheet(model.facts.nodes, names, model.view, none, columns)
        table = self.query_one("#nodes", LineTable)
        self.frame(table, model, *_narrowed(model, len(names)))
        table.show(sheet, model.choice.ask.marked)
        table.set_class(model.old, "-old")
        view = model.view
        below = self.query_one("#budgets", LineTable), self.query_one("#waves", LineTable)
        if view is not None:
            below[0].show(budgets.sheet(view, full=False))
            below[1].show(waves.sheet(view))
        else:
            below[0].show(PLANNING if model.stale else NOTHING_MARKED)
            below[1].show(PLANNING if model.stale else OLD if model.old else NOTHING_SENT)
        for each in below:
            each.set_class(model.stale, "-stale")

    @property
    def node(self) -> str | None:
        focused = self.screen.focused
        if isinstance(focused, LineTable) and focused.id == "budgets":
            return None
        return focused.key if isinstance(focused, LineTable) else self.table.key


def _narrowed(model: Model, shown: int) -> list[str]:
    """``3 of 18 are like /spot``, ``faults only: 2 of 3``, ``by AGE▲``: that column may have no room."""
    if model.facts is None:
        return []
    like = len(narrowing.like(model.facts.nodes, model.filter))
    told = [f"{like} of {len(model.facts.nodes.texts)} are like /{model.filter}"] if model.filter else []
    told += [f"faults only: {shown} of {like}"] if model.seen.faults else []
    by = model.seen.order
    return told if by == order.Order() else [*told, f"by {by.column}{order.sign(by)}"]
