"""The knobs of a plan: what each is at, the flag that says the same, and what it does."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.tui.form import KNOBS
from kubectl_eksdoc.tui.sheets.sheet import Cells, Sheet, of_rows

_DOES = max(len(knob.does) for knob in KNOBS)
COLUMNS = (Column("KNOB"), Column("VALUE"), Column("FLAG", drop=2), Column("WHAT IT DOES", drop=1, floor=_DOES))
"""What it does is seen whole, or below the table."""


def sheet(policy: DrainPolicy) -> Sheet:
    """The key of a row is the knob's id; one that is not as it comes is marked."""
    fresh = DrainPolicy()
    rows: list[tuple[str, Cells]] = []
    for knob in KNOBS:
        said = knob.said(policy)
        moved = said != knob.said(fresh)
        value = Cell(f"< {said} >{' !' if moved else ''}", Tone.WARN if moved else None)
        rows.append((knob.id, [knob.name, value, Cell(knob.flag, Tone.FAINT), knob.does]))
    return of_rows(COLUMNS, rows, fill=len(COLUMNS) - 1)
