"""What ``-o`` offers for a plugin that was held to krew's rules."""

from __future__ import annotations

from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.krew_lint.view import KrewLintView
from kubectl_eksdoc.render.look import Look


def _table(view: KrewLintView, look: Look) -> str:
    from kubectl_eksdoc.render.krew_lint.table import table

    return table(view, look, full=False)


def _wide(view: KrewLintView, look: Look) -> str:
    from kubectl_eksdoc.render.krew_lint.table import table

    return table(view, look, full=True)


def _document(view: KrewLintView) -> Json:
    from kubectl_eksdoc.render.krew_lint.document import document

    return document(view)


FORMATS: Formats[KrewLintView] = Formats(
    "an answer of krew-lint", {"table": _table, "wide": _wide, **documents(_document)}
)
