"""What ``-o`` offers for a snapshot that was taken."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.snapshot.view import SnapshotView


def _table(view: SnapshotView, look: Look) -> str:
    from kubectl_eksdoc.render.snapshot.table import table

    return table(view, look, full=False)


def _wide(view: SnapshotView, look: Look) -> str:
    from kubectl_eksdoc.render.snapshot.table import table

    return table(view, look, full=True)


def _result(view: SnapshotView) -> object:
    from kubectl_eksdoc.render.snapshot.result import SnapshotResult

    return SnapshotResult.of(view)


FORMATS: Formats[SnapshotView] = Formats("a snapshot", {"table": _table, "wide": _wide, **documents(_result)})
