"""Codes about managed node groups, and about what nodes are made from."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

NODEGROUP_HEALTH = Code(
    "nodegroup-health",
    "A managed node group that is not well",
    "Its health issues, or a status such as DEGRADED: an update of it is refused or fails.",
)
NODEGROUP_UPDATE = Code(
    "nodegroup-update",
    "An update of a node group that is under way, or has failed",
    "PodEvictionFailure tells nodes and no pod: the pods on them that no budget lets go now are named here.",
    (kinds.NODES, kinds.PODS, kinds.BUDGETS),
)
NODEGROUP_TEMPLATE = Code(
    "nodegroup-template",
    "A launch template of its owner's with a newer version than the node group uses",
    "What was changed in it comes with the group's next update, or not at all.",
)
NODEGROUP_RELEASE = Code(
    "nodegroup-release",
    "A node group whose AMI is older than the recommended one",
    "EKS recommends a release for each version of Kubernetes (Systems Manager); an update of the group brings it.",
)
AMI_AL2 = Code(
    "ami-al2",
    "Nodes of Amazon Linux 2",
    "EKS has published no AMI of it since 2025-11-26, and none for Kubernetes 1.33 or newer. A managed node group "
    "cannot change its AMI type: a new group takes its place.",
    (kinds.NODES,),
)
AMI_AL2023_MOVES = Code(
    "ami-al2023-moves",
    "What comes with Amazon Linux 2023",
    "IMDSv2 only, with one hop where EKS makes the launch template; cgroup v2; nodeadm instead of bootstrap.sh; a "
    "newer vpc-cni. `imds-probe` tells who loses credentials.",
    (kinds.NODES,),
)
AMI_UNKNOWN = Code(
    "ami-unknown",
    "Nodes of which it is not known whether there is an AMI for the target",
    "Ubuntu's are Canonical's, and an AMI of one's own is its owner's: EKS does not know what they are made for.",
    (kinds.NODES,),
)
CGROUP_V1 = Code(
    "cgroup-v1",
    "Nodes on which the target's kubelet does not start",
    "The kubelet of 1.35 refuses cgroup v1; Bottlerocket and Fargate let it start.",
    (kinds.NODES,),
)
