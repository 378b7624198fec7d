"""What ``-o`` offers for an update that is carried out."""

from __future__ import annotations

from kubectl_eksdoc.render.addon_update.view import UpdateView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: UpdateView, look: Look) -> str:
    from kubectl_eksdoc.render.addon_update.table import table

    return table(view, look)


def _wide(view: UpdateView, look: Look) -> str:
    from kubectl_eksdoc.render.addon_update.table import wide

    return wide(view, look)


def _result(view: UpdateView) -> object:
    from kubectl_eksdoc.render.addon_update.result import UpdateResult

    return UpdateResult.of(view)


FORMATS: Formats[UpdateView] = Formats("an add-on's update", {"table": _table, "wide": _wide, **documents(_result)})
