"""The end of a run in the formats of ``-o``; a format's libraries load with its first use."""

from __future__ import annotations

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.run.view import RunView

FORMATS = ("table", "wide", "json", "markdown")


def check(output: str) -> None:
    """
    Raises:
        UsageError: a run has no such format.
    """
    if output not in FORMATS:
        raise UsageError(f"a run has no output format {output!r}", f"choose one of {', '.join(FORMATS)}")


def render(view: RunView, output: str, look: Look) -> str:
    """Ending with a line end. Raises: as `check`."""
    check(output)
    if output == "json":
        from kubectl_eksdoc.render.run.document import document
        from kubectl_eksdoc.render.run.events import json_line

        return json_line(document(view))
    if output == "markdown":
        from kubectl_eksdoc.render.run.ticket import ticket

        return ticket(view, look)
    from kubectl_eksdoc.render.run.table import table

    return table(view, look, full=output == "wide")
