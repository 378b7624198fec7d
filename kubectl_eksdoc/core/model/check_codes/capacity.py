"""Codes about what there is room for: addresses and quotas."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

SUBNET_ADDRESSES = Code(
    "subnet-addresses",
    "Free addresses for the control plane's update",
    "EKS needs up to five free addresses in the cluster's subnets; without them the update fails.",
)
SUBNET_ADDRESSES_NODES = Code(
    "subnet-addresses-nodes",
    "Free addresses for the nodes that an update adds",
    "A node group's update adds up to two nodes for each zone before it drains one: each needs an address, and so do "
    "the pods that come to it.",
    (kinds.NODES, kinds.PODS),
)


def _quota(name: str, title: str) -> Code:
    about = "An update adds nodes before it takes old ones away. What is left of the quota must be enough for the group"
    return Code(name, title, f"{about} that needs most.", (kinds.NODES,))


QUOTA_ON_DEMAND = _quota("quota-vcpus-on-demand", "The account's quota of On-Demand vCPUs")
QUOTA_SPOT = _quota("quota-vcpus-spot", "The account's quota of Spot vCPUs")
QUOTA_GP3 = _quota("quota-gp3-storage", "The account's quota of gp3 storage")
QUOTA_NODES = _quota("quota-nodes-per-group", "The quota of nodes of one node group")
