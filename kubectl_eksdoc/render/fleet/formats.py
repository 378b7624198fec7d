"""What ``-o`` offers for a fleet."""

from __future__ import annotations

from kubectl_eksdoc.render.fleet.view import FleetView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: FleetView, look: Look) -> str:
    from kubectl_eksdoc.render.fleet.table import table

    return table(view, look)


def _wide(view: FleetView, look: Look) -> str:
    from kubectl_eksdoc.render.fleet.table import wide

    return wide(view, look)


def _markdown(view: FleetView, look: Look) -> str:
    from kubectl_eksdoc.render.fleet.ticket import ticket

    return ticket(view, look)


def _result(view: FleetView) -> object:
    from kubectl_eksdoc.render.fleet.result import FleetResult

    return FleetResult.of(view)


FORMATS: Formats[FleetView] = Formats(
    "a fleet", {"table": _table, "wide": _wide, **documents(_result), "markdown": _markdown}
)
