"""Whether a cluster may be upgraded, in every format.

Belongs here: which checks, steps and findings are shown, in which order and in which words; how documents are written.
Never here: how anything is judged (that is `check`).
"""

from __future__ import annotations

from kubectl_eksdoc.render.check.formats import FORMATS
from kubectl_eksdoc.render.check.view import CheckView

__all__ = ["FORMATS", "CheckView"]
