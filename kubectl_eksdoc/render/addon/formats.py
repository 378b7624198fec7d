"""What ``-o`` offers for the updates of add-ons."""

from __future__ import annotations

from kubectl_eksdoc.render.addon.view import AddonView
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: AddonView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.table import table

    return table(view, look)


def _wide(view: AddonView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.table import wide

    return wide(view, look)


def _document(view: AddonView) -> Json:
    from kubectl_eksdoc.render.addon.document import document

    return document(view)


FORMATS: Formats[AddonView] = Formats("an add-on's update", {"table": _table, "wide": _wide, **documents(_document)})
