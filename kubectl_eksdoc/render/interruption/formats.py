"""What ``-o`` offers for the handling of interruptions."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.interruption.view import InterruptionView
from kubectl_eksdoc.render.look import Look


def _table(view: InterruptionView, look: Look) -> str:
    from kubectl_eksdoc.render.interruption.table import table

    return table(view, look)


def _wide(view: InterruptionView, look: Look) -> str:
    from kubectl_eksdoc.render.interruption.table import wide

    return wide(view, look)


def _result(view: InterruptionView) -> object:
    from kubectl_eksdoc.render.interruption.result import InterruptionResult

    return InterruptionResult.of(view)


FORMATS: Formats[InterruptionView] = Formats(
    "an answer about interruptions", {"table": _table, "wide": _wide, **documents(_result)}
)
