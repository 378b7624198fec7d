"""What ``-o`` offers for a fix that is carried out."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.metadata_fix.view import FixView


def _table(view: FixView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_fix.table import table

    return table(view, look)


def _wide(view: FixView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_fix.table import wide

    return wide(view, look)


def _result(view: FixView) -> object:
    from kubectl_eksdoc.render.metadata_fix.result import FixResult

    return FixResult.of(view)


FORMATS: Formats[FixView] = Formats("a fix", {"table": _table, "wide": _wide, **documents(_result)})
