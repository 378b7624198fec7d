"""The rehearsal of a drain in every format: what happened in virtual time, beside what the plan says.

Belongs here: what of a rehearsal is shown, in which order and in which words.
Never here: how a drain is rehearsed (that is `flows.rehearse`), what a plan says by itself (that is beside).
"""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.view import RecordView

# What ``-o`` offers for a rehearsal.


def _table(view: RecordView, look: Look) -> str:
    from kubectl_eksdoc.render.rehearsal.table import table

    return table(view, look)


def _wide(view: RecordView, look: Look) -> str:
    from kubectl_eksdoc.render.rehearsal.table import wide

    return wide(view, look)


def _result(view: RecordView) -> object:
    from kubectl_eksdoc.render.rehearsal.result import RehearsalResult

    return RehearsalResult.of(view)


def _markdown(view: RecordView, look: Look) -> str:
    from kubectl_eksdoc.render.rehearsal.table import ticket

    return ticket(view, look)


FORMATS: Formats[RecordView] = Formats(
    "a rehearsal", {"table": _table, "wide": _wide, **documents(_result), "markdown": _markdown}
)


render = FORMATS.render
