"""What ``-o`` offers for a check."""

from __future__ import annotations

from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.check.table import table

    return table(view, look)


def _wide(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.check.table import wide

    return wide(view, look)


def _markdown(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.check.ticket import ticket

    return ticket(view, look)


def _html(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.check.page.page import page

    return page(view, look)


def _junit(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.check.junit import junit

    return junit(view, look)


def _sarif(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.check.sarif import sarif

    return sarif(view, look)


def _result(view: CheckView) -> object:
    from kubectl_eksdoc.render.check.result import CheckResult

    return CheckResult.of(view)


FORMATS: Formats[CheckView] = Formats(
    "a check",
    {
        "table": _table,
        "wide": _wide,
        **documents(_result),
        "markdown": _markdown,
        "html": _html,
        "junit": _junit,
        "sarif": _sarif,
    },
)
