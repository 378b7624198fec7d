"""Fixes of the metadata service, in every format: those to choose from, one that is to be carried out, what came of it.

Belongs here: what of a fix is shown, in which order and in which words.
Never here: which fixes exist (that is `core.plan.metadata.fixes`), carrying one out.
"""

from __future__ import annotations

from kubectl_eksdoc.render.metadata_fix.formats import FORMATS
from kubectl_eksdoc.render.metadata_fix.view import FixView

__all__ = ["FORMATS", "FixView"]
