"""What an add-on's update would change, in every format.

Belongs here: which fields, findings and commands of an update are shown, in which order and in which words.
Never here: what an update does (that is `addon_diff`), what is asked of AWS or the cluster.
"""

from __future__ import annotations

from kubectl_eksdoc.render.addon.formats import FORMATS
from kubectl_eksdoc.render.addon.view import AddonView
from kubectl_eksdoc.render.look import Look

render = FORMATS.render

__all__ = ["FORMATS", "AddonView", "Look", "render"]
