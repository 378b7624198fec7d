"""What ``-o`` offers for a probe that was carried out."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.metadata_probe.view import ProbeView


def _table(view: ProbeView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_probe.table import table

    return table(view, look)


def _wide(view: ProbeView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_probe.table import wide

    return wide(view, look)


def _result(view: ProbeView) -> object:
    from kubectl_eksdoc.render.metadata_probe.result import ActiveProbeResult

    return ActiveProbeResult.of(view)


FORMATS: Formats[ProbeView] = Formats("an active probe", {"table": _table, "wide": _wide, **documents(_result)})
