"""Who reaches the instance metadata service, in every format.

Belongs here: which causes, pods and findings are shown, in which order and in which words.
Never here: what EC2, EKS or a program does (that is `core.plan.metadata`), what is asked of AWS or the cluster.
"""

from __future__ import annotations

from kubectl_eksdoc.render.metadata.formats import FORMATS
from kubectl_eksdoc.render.metadata.view import MetadataView

__all__ = ["FORMATS", "MetadataView"]
