"""A measurement of DNS, in every format: what would be made and done, and what came of it, second by second.

Belongs here: which numbers, plots and findings are shown, in which order and in which words.
Never here: what the numbers mean (that is `core.plan.dns.measuring`), making or reading pods.
"""

from __future__ import annotations

from kubectl_eksdoc.render.dns_measure.formats import FORMATS
from kubectl_eksdoc.render.dns_measure.manifests import MANIFESTS
from kubectl_eksdoc.render.dns_measure.view import MeasureView

__all__ = ["FORMATS", "MANIFESTS", "MeasureView"]
