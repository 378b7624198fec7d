"""What ``-o`` offers for the metadata service."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.metadata.view import MetadataView


def _table(view: MetadataView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata.table import table

    return table(view, look)


def _wide(view: MetadataView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata.table import wide

    return wide(view, look)


def _result(view: MetadataView) -> object:
    from kubectl_eksdoc.render.metadata.result import ProbeResult

    return ProbeResult.of(view)


FORMATS: Formats[MetadataView] = Formats("a probe", {"table": _table, "wide": _wide, **documents(_result)})
