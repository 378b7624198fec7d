"""What ``-o`` offers for the end of a run."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.run.view import RunView


def _table(view: RunView, look: Look) -> str:
    from kubectl_eksdoc.render.run.table import table

    return table(view, look)


def _wide(view: RunView, look: Look) -> str:
    from kubectl_eksdoc.render.run.table import table

    return table(view, look, full=True)


def _json(view: RunView, look: Look) -> str:
    """One line, as its events before it."""
    from kubectl_eksdoc.render.run.events import json_line
    from kubectl_eksdoc.render.run.result import RunResult

    return json_line(RunResult.of(view))


def _markdown(view: RunView, look: Look) -> str:
    from kubectl_eksdoc.render.run.table import ticket

    return ticket(view, look)


FORMATS: Formats[RunView] = Formats("a run", {"table": _table, "wide": _wide, "json": _json, "markdown": _markdown})
