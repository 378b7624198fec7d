"""What blocks, what could not be judged, and what warns: equal ones together, the worst first."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.render.drain.groups import Group, grouped
from kubectl_eksdoc.render.drain.verdict import STATUS_SIGN
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.tui.sheets.once import once_a_view
from kubectl_eksdoc.tui.sheets.sheet import Sheet, of_rows

NOTHING = "Nothing blocks, nothing is unknown, nothing is to be warned of."

COLUMNS = (
    Column("CODE"),
    Column("SEVERITY", drop=2),
    Column("NODES", right=True, drop=1),
    Column("ABOUT"),
)


@once_a_view
def groups_of(view: DrainView) -> tuple[Group, ...]:
    return grouped(view.findings, view)


def sheet(groups: Sequence[Group]) -> Sheet:
    """The key of a row is its place in `groups`."""
    rows = []
    for at, group in enumerate(groups):
        sign, tone = STATUS_SIGN[group.first.status]
        code = Cell(f"{sign} {group.first.code.name}", tone)
        nodes = str(len(group.nodes)) if group.nodes else "·"
        rows.append((str(at), [code, group.first.severity.value, nodes, group.about]))
    return of_rows(COLUMNS, rows, NOTHING, fill=len(COLUMNS) - 1)
