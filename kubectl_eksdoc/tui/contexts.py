"""[x] The contexts of the kubeconfig: typing looks for one, Enter opens the same screens on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kubectl_eksdoc.render.tables import Column
from kubectl_eksdoc.tui.sheets.sheet import Sheet, of_rows
from kubectl_eksdoc.tui.widgets.line_table import LineTable

_COLUMNS = (Column("", floor=2), Column("CONTEXT", middle=True))


class ContextsScreen(ModalScreen[str]):
    """It is dismissed with the one that was chosen, "" for none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss('')", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
    ]

    def __init__(self, names: Sequence[str], now: str) -> None:
        """`now`: the one that is open, "" where that is not known."""
        super().__init__()
        self._names = names
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(id="contexts") as box:
            box.border_title = "Contexts: type to search, enter opens, esc closes"
            yield Input(id="search", placeholder="search")
            yield LineTable(id="names")

    def on_mount(self) -> None:
        table = self.query_one("#names", LineTable)
        table.show(sheet(self._names, self._now, ""))
        table.go_to(self._now)
        self.query_one("#search").focus()

    def action_move(self, by: int) -> None:
        self.query_one("#names", LineTable).action_move(by)

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.query_one("#names", LineTable).show(sheet(self._names, self._now, event.value))

    @on(Input.Submitted, "#search")
    def _chosen(self) -> None:
        self.dismiss(self.query_one("#names", LineTable).key or "")

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        self.dismiss(event.key)


def sheet(names: Sequence[str], now: str, wanted: str) -> Sheet:
    """Those with `wanted` in their names, as they come."""
    rows = [(name, ["»" if name == now else "", name]) for name in names if wanted.lower() in name.lower()]
    return of_rows(_COLUMNS, rows, "No context is called like that." if names else "The kubeconfig has none.", fill=1)
