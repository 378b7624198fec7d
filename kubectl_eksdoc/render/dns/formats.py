"""What ``-o`` offers for CoreDNS."""

from __future__ import annotations

from kubectl_eksdoc.render.dns.view import DnsView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: DnsView, look: Look) -> str:
    from kubectl_eksdoc.render.dns.table import table

    return table(view, look)


def _wide(view: DnsView, look: Look) -> str:
    from kubectl_eksdoc.render.dns.table import wide

    return wide(view, look)


def _result(view: DnsView) -> object:
    from kubectl_eksdoc.render.dns.result import LameduckResult

    return LameduckResult.of(view)


FORMATS: Formats[DnsView] = Formats("coredns-lameduck", {"table": _table, "wide": _wide, **documents(_result)})
