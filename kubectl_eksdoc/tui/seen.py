"""How the user looks at it: the order of the nodes, and what is taken away to see the rest. It changes no plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kubectl_eksdoc.tui.sheets.nodes import SortOrder


@dataclass(frozen=True, slots=True)
class TableView:
    """`faults`: only nodes that something is the matter with; `wide`: every column in full; `headless`: without the
    lines at the top of the screen."""

    order: SortOrder = SortOrder()
    faults: bool = False
    wide: bool = False
    headless: bool = False

    def toggled(self, name: str) -> TableView:
        """`name` is one of the three that are on or off."""
        on = {"faults": self.faults, "wide": self.wide, "headless": self.headless}
        return replace(self, **{name: not on[name]})  # type: ignore[arg-type]
