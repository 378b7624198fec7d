"""Which rights somebody has: the missing first, then what the cluster does not say, then a line for the rest."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, PERMISSION_CHECK
from kubectl_eksdoc.core.plan.permissions.held import Held
from kubectl_eksdoc.render.document import Fields, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.permissions.view import CheckView
from kubectl_eksdoc.render.tables import Cell, Column, Row, plain
from kubectl_eksdoc.render.text import counted

_ORDER = (False, None, True)
_SIGNS = {True: Cell("✓ yes", Tone.GOOD), False: Cell("✗ missing", Tone.BAD), None: Cell("? unknown", Tone.UNKNOWN)}
_STATES = {True: "held", False: "missing", None: "unknown"}
_COLUMNS = (
    Column("YOU MAY"),
    Column("RIGHT", floor=30, lines=2),
    Column("REQUIRED"),
    Column("WITHOUT IT", floor=30, lines=9),
)


def table(view: CheckView, look: Look) -> str:
    """What you have is counted, not listed."""
    rows = [_row(each) for each in _sorted(view) if each.held is not True]
    return "\n\n".join(filter(None, (_verdict(view), "\n".join(plain(_COLUMNS, rows, look))))) + "\n"


def wide(view: CheckView, look: Look) -> str:
    rows = [_row(each) for each in _sorted(view)]
    return f"{_verdict(view)}\n\n" + "\n".join(plain(_COLUMNS, rows, look, fit=False)) + "\n"


def document(view: CheckView) -> Fields:
    """As PermissionCheck.json says: every right, in the order in which it is asked for."""
    return {
        "apiVersion": API_VERSION,
        "kind": PERMISSION_CHECK,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "verdict": _verdict(view),
        "rights": [_right(each) for each in view.held],
        "missing": strings(each.needed.permission.said for each in view.held if each.held is False),
        "findings": [],
    }


def _right(each: Held) -> Fields:
    asked = each.needed.permission
    fields: Fields = {
        "verb": asked.verb,
        "group": asked.resource.group,
        "resource": asked.resource.plural,
        "subresource": known(asked.subresource),
        "namespace": known(asked.namespace),
        "required": each.needed.required,
        "state": _STATES[each.held],
        "without": strings(each.needed.lost),
        "commands": strings(each.needed.commands),
    }
    return fields | ({"why": each.why} if each.why else {})


def _sorted(view: CheckView) -> list[Held]:
    return sorted(view.held, key=lambda each: _ORDER.index(each.held))


def _row(each: Held) -> Row:
    lost = "; ".join(each.needed.lost)
    said = f"{lost} ({each.why})" if each.why else lost
    return [_SIGNS[each.held], each.needed.permission.said, "yes" if each.needed.required else "no", said]


def _verdict(view: CheckView) -> str:
    many = {state: sum(each.held is state for each in view.held) for state in _ORDER}
    if many[True] == len(view.held):
        return f"You have all {counted(len(view.held), 'right')}."
    parts = [f"{counted(many[False], 'right')} missing"] if many[False] else []
    parts += [f"{counted(many[None], 'right')} of which the cluster does not say"] if many[None] else []
    return f"Of {counted(len(view.held), 'right')} you have {many[True]}: {', '.join(parts)}."
