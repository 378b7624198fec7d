"""Many clusters judged together, in every format.

Belongs here: which columns and sections are shown, in which words; how the document is written.
Never here: how rows are ordered and summed (that is `fleet`), how one cluster is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.fleet import FleetPlan
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of a fleet.


@dataclass(frozen=True, slots=True)
class FleetView:
    """`command`: that judged each of them; `options` as they were given."""

    plan: FleetPlan
    command: str
    options: Mapping[str, object]
    tool_version: str = __version__


# What ``-o`` offers for a fleet.


def _table(view: FleetView, look: Look) -> str:
    from kubectl_eksdoc.render.fleet.table import table

    return table(view, look)


def _wide(view: FleetView, look: Look) -> str:
    from kubectl_eksdoc.render.fleet.table import wide

    return wide(view, look)


def _markdown(view: FleetView, look: Look) -> str:
    from kubectl_eksdoc.render.fleet.table import ticket

    return ticket(view, look)


def _result(view: FleetView) -> object:
    from kubectl_eksdoc.render.fleet.result import FleetResult

    return FleetResult.of(view)


FORMATS: Formats[FleetView] = Formats(
    "a fleet", {"table": _table, "wide": _wide, **documents(_result), "markdown": _markdown}
)
