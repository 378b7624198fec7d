"""Where the demo's instances come from: two managed node groups and a NodePool of Karpenter.

The third incident stands in it: neither node group has a launch template of its owner's. EKS made blue's of Amazon
Linux 2, with two hops and IMDSv1 allowed, and green's of Amazon Linux 2023, with one hop and IMDSv2 required.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.embedded.demo.aws.names import NODE_ROLE, an_id, arn, role
from kubectl_eksdoc.embedded.demo.meta import Json, hexadecimal, uid
from kubectl_eksdoc.embedded.demo.world import CLUSTER, MACHINES, Machine

INSTANCE_TYPE, DISK = "m6i.xlarge", 80


@dataclass(frozen=True, slots=True)
class Image:
    """An AMI that EKS publishes: made for a Kubernetes version, of a node image's release and an AMI type.

    `of` is the pool after which the demo's nodes name the image's id; `imds` is what the image says of the instance
    metadata, "" if nothing; `parameter` is where Systems Manager names the newest of its kind.
    """

    of: str
    version: str
    release: str
    ami_type: str
    name: str
    parameter: str
    made: str
    imds: str = ""

    @property
    def id(self) -> str:
        return f"ami-{hexadecimal(17, 'image', self.of)}"


_AL2 = Image(
    "blue",
    "1.32",
    "1.32.3-20250610",
    "AL2_x86_64",
    "amazon-eks-node-1.32-v20250610",
    "1.32/amazon-linux-2",
    "2025-06-10",
)
_AL2023 = Image(
    "green",
    "1.33",
    "1.33.1-20250610",
    "AL2023_x86_64_STANDARD",
    "amazon-eks-node-al2023-x86_64-standard-1.33-v20250610",
    "1.33/amazon-linux-2023/x86_64/standard",
    "2025-06-10",
    imds="v2.0",
)
IMAGES = (_AL2, _AL2023)


@dataclass(frozen=True, slots=True)
class Pool:
    """A node group or NodePool; `size` is its least and most, `born` minutes ago; a
    NodePool is not `managed` by EKS and has no size.

    `hops` and `tokens` are the instance metadata options that its launch template sets.
    """

    name: str
    image: Image
    tokens: str
    hops: int
    born: int
    size: tuple[int, int]
    managed: bool = True

    @property
    def id(self) -> str:
        """The last part of its ARN, and of the names of what EKS made for it."""
        return uid("Nodegroup", CLUSTER, self.name)

    @property
    def template_name(self) -> str:
        return f"eks-{self.id}" if self.managed else f"karpenter.k8s.aws/{hexadecimal(20, 'template', self.name)}"

    @property
    def template_id(self) -> str:
        return an_id("lt", self.name)

    @property
    def group_name(self) -> str:
        """Of its auto scaling group; a NodePool has none."""
        return f"eks-{self.name}-{self.id}"

    @property
    def profile(self) -> str:
        """The ARN of its instances' profile, which EKS and Karpenter make of the node role."""
        made = f"eks-{self.id}" if self.managed else f"{CLUSTER}_{hexadecimal(20, 'profile', NODE_ROLE)}"
        return role(made).replace(":role/", ":instance-profile/")

    @property
    def arn(self) -> str:
        """Of the node group."""
        return arn("eks", f"nodegroup/{CLUSTER}/{self.name}/{self.id}")

    @property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(machine for machine in MACHINES if machine.pool == self.name)

    @property
    def metadata_options(self) -> Json:
        """What its launch template says of the instance metadata service."""
        return {"HttpTokens": self.tokens, "HttpPutResponseHopLimit": self.hops}


GROUPS = (
    Pool("blue", _AL2, "optional", 2, born=60_010, size=(3, 12)),
    Pool("green", _AL2023, "required", 1, born=100, size=(3, 12)),
)
NODE_POOL = Pool("general", _AL2023, "required", 1, born=702, size=(0, 0), managed=False)
"""Karpenter's; its class of nodes asks for the same image alias and metadata options."""

POOLS = (*GROUPS, NODE_POOL)

OWNED = {
    "eks:cluster-name": CLUSTER,
    f"k8s.io/cluster-autoscaler/{CLUSTER}": "owned",
    "k8s.io/cluster-autoscaler/enabled": "true",
    f"kubernetes.io/cluster/{CLUSTER}": "owned",
}
"""Tags that EKS gives to the auto scaling group of every node group, and that to its instances."""
