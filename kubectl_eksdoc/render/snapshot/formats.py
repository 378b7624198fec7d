"""What ``-o`` offers for a snapshot that was taken."""

from __future__ import annotations

from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.snapshot.view import SnapshotView


def _table(view: SnapshotView, look: Look) -> str:
    from kubectl_eksdoc.render.snapshot.table import table

    return table(view, look, full=False)


def _wide(view: SnapshotView, look: Look) -> str:
    from kubectl_eksdoc.render.snapshot.table import table

    return table(view, look, full=True)


def _document(view: SnapshotView) -> Json:
    from kubectl_eksdoc.render.snapshot.document import document

    return document(view)


FORMATS: Formats[SnapshotView] = Formats("a snapshot", {"table": _table, "wide": _wide, **documents(_document)})
