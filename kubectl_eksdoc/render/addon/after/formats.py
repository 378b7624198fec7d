"""What ``-o`` offers for past updates of add-ons."""

from __future__ import annotations

from kubectl_eksdoc.render.addon.after.view import AfterView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: AfterView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.after.table import table

    return table(view, look)


def _wide(view: AfterView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.after.table import wide

    return wide(view, look)


def _result(view: AfterView) -> object:
    from kubectl_eksdoc.render.addon.after.result import AftermathResult

    return AftermathResult.of(view)


FORMATS: Formats[AfterView] = Formats("an add-on's past update", {"table": _table, "wide": _wide, **documents(_result)})
