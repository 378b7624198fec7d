"""What ``-o`` offers for past updates of add-ons."""

from __future__ import annotations

from kubectl_eksdoc.render.addon.after.view import AfterView
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: AfterView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.after.table import table

    return table(view, look)


def _wide(view: AfterView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.after.table import wide

    return wide(view, look)


def _document(view: AfterView) -> Json:
    from kubectl_eksdoc.render.addon.after.document import document

    return document(view)


FORMATS: Formats[AfterView] = Formats(
    "an add-on's past update", {"table": _table, "wide": _wide, **documents(_document)}
)
