"""A change of CoreDNS that is to be made, or was, in every format.

Belongs here: the Corefile and the values before and after, what is sent, the way back, and which pods have taken it up.
Never here: what the change should be (that is `core.plan.dns.change`), whether it may be made.
"""

from __future__ import annotations

from kubectl_eksdoc.render.dns_change.formats import FORMATS
from kubectl_eksdoc.render.dns_change.view import DnsChangeView

render = FORMATS.render

__all__ = ["FORMATS", "DnsChangeView", "render"]
