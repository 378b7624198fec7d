"""Many clusters judged together, in every format.

Belongs here: which columns and sections are shown, in which words; how the document is written.
Never here: how rows are ordered and summed (that is `core.plan.fleet`), how one cluster is shown.
"""

from __future__ import annotations

from kubectl_eksdoc.render.fleet.formats import FORMATS
from kubectl_eksdoc.render.fleet.view import FleetView

__all__ = ["FORMATS", "FleetView"]
