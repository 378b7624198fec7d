"""What ``-o`` offers for a measurement that was carried out."""

from __future__ import annotations

from kubectl_eksdoc.render.dns_measure.view import MeasureView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: MeasureView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_measure.table import table

    return table(view, look)


def _wide(view: MeasureView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_measure.table import wide

    return wide(view, look)


def _result(view: MeasureView) -> object:
    from kubectl_eksdoc.render.dns_measure.result import MeasureResult

    return MeasureResult.of(view)


FORMATS: Formats[MeasureView] = Formats("a measurement", {"table": _table, "wide": _wide, **documents(_result)})
