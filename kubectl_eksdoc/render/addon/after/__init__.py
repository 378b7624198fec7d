"""What past updates of add-ons have taken, in every format.

Belongs here: what of an aftermath is shown, in which order and in which words, and the patch as a command.
Never here: what an update has taken (that is `addon_diff.aftermath`), what is asked of AWS or the cluster.
"""

from __future__ import annotations

from kubectl_eksdoc.render.addon.after.formats import FORMATS
from kubectl_eksdoc.render.addon.after.view import AfterView

__all__ = ["FORMATS", "AfterView"]
