"""Whether DNS survives its nodes, in every format.

Belongs here: what of CoreDNS is shown, in which order and in which words.
Never here: what is judged (that is `core.plan.dns`), what is asked of AWS or the cluster.
"""

from __future__ import annotations

from kubectl_eksdoc.render.dns.formats import FORMATS
from kubectl_eksdoc.render.dns.view import DnsView

__all__ = ["FORMATS", "DnsView"]
