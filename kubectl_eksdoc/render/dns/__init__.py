"""Whether DNS survives its nodes, in every format.

Belongs here: what of CoreDNS is shown, in which order and in which words.
Never here: what is judged (that is `coredns_lameduck`), what is asked of AWS or the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.coredns_lameduck.plan import DnsPlan
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of CoreDNS.


@dataclass(frozen=True, slots=True)
class DnsView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read."""

    plan: DnsPlan
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__


# What ``-o`` offers for CoreDNS.


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
