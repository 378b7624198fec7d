"""What is shown of CoreDNS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.plan.dns.plan import DnsPlan


@dataclass(frozen=True, slots=True)
class DnsView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read."""

    plan: DnsPlan
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__
