"""Which rights somebody has: the missing first, then what the cluster does not say, then a line for the rest."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.permissions.held import Held
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.permissions.view import CheckView
from kubectl_eksdoc.render.tables import Cell, Column, Row, plain
from kubectl_eksdoc.render.text import counted

_ORDER = (False, None, True)
_SIGNS = {True: Cell("✓ yes", Tone.GOOD), False: Cell("✗ missing", Tone.BAD), None: Cell("? unknown", Tone.UNKNOWN)}
_COLUMNS = (
    Column("YOU MAY"),
    Column("RIGHT", floor=30, lines=2),
    Column("REQUIRED"),
    Column("WITHOUT IT", floor=30, lines=9),
)


def table(view: CheckView, look: Look) -> str:
    """What you have is counted, not listed."""
    rows = [_row(each) for each in _sorted(view) if each.held is not True]
    return "\n\n".join(filter(None, (verdict(view), "\n".join(plain(_COLUMNS, rows, look))))) + "\n"


def wide(view: CheckView, look: Look) -> str:
    rows = [_row(each) for each in _sorted(view)]
    return f"{verdict(view)}\n\n" + "\n".join(plain(_COLUMNS, rows, look, fit=False)) + "\n"


def _sorted(view: CheckView) -> list[Held]:
    return sorted(view.held, key=lambda each: _ORDER.index(each.held))


def _row(each: Held) -> Row:
    lost = "; ".join(each.needed.lost)
    said = f"{lost} ({each.why})" if each.why else lost
    return [_SIGNS[each.held], each.needed.permission.said, "yes" if each.needed.required else "no", said]


def verdict(view: CheckView) -> str:
    many = {state: sum(each.held is state for each in view.held) for state in _ORDER}
    if many[True] == len(view.held):
        return f"You have all {counted(len(view.held), 'right')}."
    parts = [f"{counted(many[False], 'right')} missing"] if many[False] else []
    parts += [f"{counted(many[None], 'right')} of which the cluster does not say"] if many[None] else []
    return f"Of {counted(len(view.held), 'right')} you have {many[True]}: {', '.join(parts)}."
