"""What ``-o`` offers for a change of CoreDNS."""

from __future__ import annotations

from kubectl_eksdoc.render.dns_change.view import DnsChangeView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: DnsChangeView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_change.table import table

    return table(view, look)


def _wide(view: DnsChangeView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_change.table import wide

    return wide(view, look)


def _result(view: DnsChangeView) -> object:
    from kubectl_eksdoc.render.dns_change.result import DnsChangeResult

    return DnsChangeResult.of(view)


FORMATS: Formats[DnsChangeView] = Formats("a change of CoreDNS", {"table": _table, "wide": _wide, **documents(_result)})
