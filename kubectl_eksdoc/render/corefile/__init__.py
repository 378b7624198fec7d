"""A Corefile that was read alone, in every format.

Belongs here: what is shown of it, in which order and in which words.
Never here: what CoreDNS takes, and how bad it is.
"""

from __future__ import annotations

from kubectl_eksdoc.render.corefile.formats import FORMATS
from kubectl_eksdoc.render.corefile.view import CorefileView

__all__ = ["FORMATS", "CorefileView"]
