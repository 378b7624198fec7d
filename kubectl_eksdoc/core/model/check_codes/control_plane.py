"""Codes about the control plane itself: its health, its updates, and the way back."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

CLUSTER_HEALTH = Code(
    "cluster-health",
    "A cluster that EKS calls unhealthy",
    "Its health issues, or a status other than ACTIVE: EKS updates no such control plane, or fails at it.",
)
CLUSTER_UPDATE = Code(
    "cluster-update",
    "An update of the cluster that is under way, or has failed",
    "EKS takes one update at a time; what the last one failed for may stop the next one, too.",
)
ROLLBACK_WINDOW = Code(
    "rollback-window",
    "Until when the last upgrade can be taken back",
    "For seven days the control plane can go back by one minor version, under conditions: nodes must not be newer than "
    "that, so that whoever upgrades them gives that way up.",
    (kinds.NODES,),
)
