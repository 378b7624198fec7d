"""The active probe of the instance metadata service, in every format: what would be made, and what came of it.

Belongs here: which nodes, answers and findings are shown, in which order and in which words.
Never here: what answers mean (that is `core.plan.metadata.probing`), making or reading pods.
"""

from __future__ import annotations

from kubectl_eksdoc.render.metadata_probe.formats import FORMATS
from kubectl_eksdoc.render.metadata_probe.manifests import MANIFESTS
from kubectl_eksdoc.render.metadata_probe.view import ProbeView

__all__ = ["FORMATS", "MANIFESTS", "ProbeView"]
