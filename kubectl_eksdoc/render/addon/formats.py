"""What ``-o`` offers for the updates of add-ons."""

from __future__ import annotations

from kubectl_eksdoc.render.addon.view import AddonView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: AddonView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.table import table

    return table(view, look)


def _wide(view: AddonView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.table import wide

    return wide(view, look)


def _result(view: AddonView) -> object:
    from kubectl_eksdoc.render.addon.result import DiffResult

    return DiffResult.of(view)


FORMATS: Formats[AddonView] = Formats("an add-on's update", {"table": _table, "wide": _wide, **documents(_result)})
