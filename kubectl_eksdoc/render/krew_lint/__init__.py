"""What krew-lint says of a plugin, in every format.

Belongs here: what is shown, in which order and in which words.
Never here: the rules, and how bad it is to break one.
"""

from __future__ import annotations

from kubectl_eksdoc.render.krew_lint.formats import FORMATS
from kubectl_eksdoc.render.krew_lint.view import KrewLintView

__all__ = ["FORMATS", "KrewLintView"]
