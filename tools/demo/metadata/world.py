"""Machines of every kind that the demo does not have, their pools, and the account's data about them.

Defaults of each way to create nodes: `amazon.metadata_service`, and the modules and charts that are named here.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.demo.aws.pools import AL2023, GROUPS, NODE_POOL, Estate, Image, Maker, Own, Pool
from tools.demo.meta import hexadecimal, suffix
from tools.demo.world import CLUSTER, MACHINES, REGION, Machine

_FIRST_NUMBER = 40
_SIZE = (1, 6)


def _managed(name: str, zones: str, age: int, first: int) -> tuple[Machine, ...]:
    labels = {
        "node.kubernetes.io/instance-type": "m6i.xlarge",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": name,
        "eks.amazonaws.com/nodegroup-image": AL2023.id,
    }
    return _machines(name, name, zones, age, first, "green", labels)


def _machines(
    prefix: str, pool: str, zones: str, age: int, first: int, system: str, labels: Mapping[str, str]
) -> tuple[Machine, ...]:
    return tuple(
        Machine(f"{prefix}-{i}", pool, REGION + zone, age - 2 * i, _FIRST_NUMBER + first + i, labels, system=system)
        for i, zone in enumerate(zones, 1)
    )


_OF_KARPENTER = {
    "node.kubernetes.io/instance-type": "m6i.xlarge",
    "karpenter.k8s.aws/ec2nodeclass": "reports",
    "karpenter.sh/capacity-type": "spot",
    "karpenter.sh/initialized": "true",
    "karpenter.sh/nodepool": "reports",
    "karpenter.sh/registered": "true",
}
_OF_EKSCTL = {
    "node.kubernetes.io/instance-type": "m6i.xlarge",
    "alpha.eksctl.io/cluster-name": CLUSTER,
    "alpha.eksctl.io/nodegroup-name": "tools",
}
_OF_AUTO_MODE = {
    "node.kubernetes.io/instance-type": "m6i.xlarge",
    "eks.amazonaws.com/compute-type": "auto",
    "eks.amazonaws.com/nodeclass": "default",
    "karpenter.sh/capacity-type": "on-demand",
    "karpenter.sh/nodepool": "general-purpose",
}
_HYBRID = Machine(
    "mi-0f2c9b7d41e6a8350",
    "hybrid",
    "",
    30_000,
    _FIRST_NUMBER + 11,
    {
        "eks.amazonaws.com/compute-type": "hybrid",
        "topology.kubernetes.io/region": "",
        "topology.kubernetes.io/zone": "",
    },
    f"eks-hybrid:///{REGION}/{CLUSTER}/mi-0f2c9b7d41e6a8350",
    "hybrid",
)

SEARCH = Pool(
    "search",
    AL2023,
    "required",
    2,
    born=20_000,
    size=_SIZE,
    own=Own("demo-shop-search", 2),
    held=_managed("search", "ab", 19_000, 0),
)
"""The custom template does not set it, so the AMI decides (ImdsSupport v2.0)."""

PAYMENTS = Pool(
    "payments",
    AL2023,
    "required",
    1,
    born=15_000,
    size=_SIZE,
    own=Own("demo-shop-payments", 3, {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}),
    held=_managed("payments", "bc", 14_000, 2),
)
"""A user hardened its template."""

REPORTS = Pool(
    "reports",
    AL2023,
    "required",
    2,
    born=3_000,
    size=(0, 0),
    maker=Maker.KARPENTER,
    held=_machines("reports", "reports", "ab", 2_900, 4, "general", _OF_KARPENTER),
    tags={"karpenter.k8s.aws/ec2nodeclass": "reports"},
    role=f"{CLUSTER}-reports-node",
)
"""Its nodes have a role of their own. Its NodeClass had hop limit 2 when they were created, and has 1 since (see
`REPORTS_CLASS`)."""

REPORTS_CLASS = {"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled"} | {
    "httpPutResponseHopLimit": 1,
    "httpTokens": "required",
}

TOOLS = Pool(
    "tools",
    AL2023,
    "required",
    2,
    born=40_000,
    size=_SIZE,
    maker=Maker.OWNER,
    own=Own(f"eksctl-{CLUSTER}-nodegroup-tools", 1, {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}),
    held=_machines("tools", "tools", "ac", 39_000, 6, "general", _OF_EKSCTL),
    scaling_group=f"eksctl-{CLUSTER}-nodegroup-tools-NodeGroup-{suffix(12, 'eksctl').upper()}",
    tags={"alpha.eksctl.io/nodegroup-name": "tools", "alpha.eksctl.io/cluster-name": CLUSTER},
)
"""As eksctl creates it (pkg/cfn/builder/nodegroup.go, makeMetadataOptions)."""

BATCH = Pool(
    "batch",
    AL2023,
    "required",
    1,
    born=5_000,
    size=_SIZE,
    maker=Maker.OWNER,
    own=Own(
        f"batch-{hexadecimal(20, 'terraform')}",
        4,
        {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 1},
    ),
    held=_machines("batch", "batch", "b", 4_900, 8, "general", {"node.kubernetes.io/instance-type": "m6i.xlarge"}),
    scaling_group=f"batch-{hexadecimal(26, 'terraform', 'group')}",
)
"""As version 21 of the Terraform module creates it (terraform-aws-modules/eks, docs/UPGRADE-21.0.md)."""

_OF_EKS = Image(
    "auto",
    "1.33",
    "1.33-20250611",
    "BOTTLEROCKET_x86_64",
    "eks-auto-standard-1.33-x86_64-20250611",
    "1.33/auto",
    "2025-06-11",
)
"""Hidden by EKS: EC2 shows it to no other caller."""

AUTO = Pool(
    "general-purpose",
    _OF_EKS,
    "required",
    1,
    born=2_000,
    size=(0, 0),
    maker=Maker.AUTO_MODE,
    held=_machines("auto", "general-purpose", "c", 1_900, 9, "auto", _OF_AUTO_MODE),
    tags={"eks:kubernetes-node-class-name": "default"},
)

ADDED = (SEARCH, PAYMENTS, REPORTS, TOOLS, BATCH, AUTO)

NEW_MACHINES = (*(machine for pool in ADDED for machine in pool.machines), _HYBRID)
ALL_MACHINES = (*MACHINES, *NEW_MACHINES)

ESTATE = Estate((*GROUPS, NODE_POOL, *ADDED), identities=("shop/thumbnailer",))
