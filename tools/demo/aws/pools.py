"""Sources of instances; the demo's own: two managed node groups and a Karpenter NodePool.

It has the third incident: neither node group has a custom launch template. EKS created blue's with Amazon Linux 2, two
hops and IMDSv1 allowed, and green's with Amazon Linux 2023, one hop and IMDSv2 required.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from tools.demo.aws.names import NODE_ROLE, an_id, arn, role
from tools.demo.meta import Json, hexadecimal, uid
from tools.demo.world import CLUSTER, MACHINES, Machine

INSTANCE_TYPE, DISK = "m6i.xlarge", 80


@dataclass(frozen=True, slots=True)
class Image:
    """An AMI that EKS publishes: for a Kubernetes version, of a node image release and an AMI type.

    `of` is the pool by which the demo's nodes name the id of the AMI; `imds` is the AMI's own setting of the instance
    metadata, "" if none; `parameter` is the name of the newest of its kind in Systems Manager.
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
AL2023 = Image(
    "green",
    "1.33",
    "1.33.1-20250610",
    "AL2023_x86_64_STANDARD",
    "amazon-eks-node-al2023-x86_64-standard-1.33-v20250610",
    "1.33/amazon-linux-2023/x86_64/standard",
    "2025-06-10",
    imds="v2.0",
)
IMAGES = (_AL2, AL2023)

NEWEST = (
    replace(
        _AL2,
        of="newest AL2",
        release="1.32.9-20251120",
        name="amazon-eks-node-1.32-v20251120",
        made="2025-11-20",
    ),
    replace(
        AL2023,
        of="newest AL2023",
        release="1.33.13-20261106",
        name="amazon-eks-node-al2023-x86_64-standard-1.33-v20261106",
        made="2026-11-06",
    ),
)
"""The release that EKS recommends now; no node of the demo has it yet."""


class Maker(Enum):
    """The service that launches the instances of a pool."""

    EKS = "a managed node group"
    KARPENTER = "Karpenter"
    OWNER = "an auto scaling group of its owner's"
    AUTO_MODE = "EKS Auto Mode"


@dataclass(frozen=True, slots=True)
class Own:
    """A custom launch template, not created by EKS or Karpenter: its newest version, which is the only one, and its
    instance metadata options."""

    name: str
    version: int
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return an_id("lt", "own", self.name)


@dataclass(frozen=True, slots=True)
class Pool:
    """A node group, a NodePool, or an auto scaling group; `size` is its minimum and maximum, `born` minutes ago; a
    NodePool has no size.

    `hops` and `tokens` are the instance metadata options of its instances. `own` is the custom launch template, from
    which EKS derives another one. `held`: its machines, where they are not among the demo's; `scaling_group` and `tags`
    of instances are set where the owner chose them; `role` is the role of its nodes.
    """

    name: str
    image: Image
    tokens: str
    hops: int
    born: int
    size: tuple[int, int]
    maker: Maker = Maker.EKS
    own: Own | None = None
    held: tuple[Machine, ...] = ()
    scaling_group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    role: str = NODE_ROLE

    @property
    def managed(self) -> bool:
        return self.maker is Maker.EKS

    @property
    def id(self) -> str:
        """The last part of its ARN, and of the names of the resources that EKS created for it."""
        return uid("Nodegroup", CLUSTER, self.name)

    @property
    def template_name(self) -> str:
        """The name of the launch template of its instances."""
        if self.maker is Maker.OWNER and self.own is not None:
            return self.own.name
        return f"eks-{self.id}" if self.managed else f"karpenter.k8s.aws/{hexadecimal(20, 'template', self.name)}"

    @property
    def template_id(self) -> str:
        return self.own.id if self.maker is Maker.OWNER and self.own is not None else an_id("lt", self.name)

    @property
    def template_version(self) -> str:
        """EKS and Karpenter create one version."""
        return str(self.own.version) if self.maker is Maker.OWNER and self.own is not None else "1"

    @property
    def group_name(self) -> str:
        """The name of its auto scaling group; a NodePool has none."""
        return self.scaling_group or f"eks-{self.name}-{self.id}"

    @property
    def scaled(self) -> bool:
        """Whether it has an auto scaling group."""
        return self.maker in (Maker.EKS, Maker.OWNER)

    @property
    def profile(self) -> str:
        """The ARN of the instance profile, which EKS and Karpenter create from the node role."""
        made = f"eks-{self.id}" if self.managed else f"{CLUSTER}_{hexadecimal(20, 'profile', self.role)}"
        return role(made).replace(":role/", ":instance-profile/")

    @property
    def arn(self) -> str:
        """The ARN of the node group."""
        return arn("eks", f"nodegroup/{CLUSTER}/{self.name}/{self.id}")

    @property
    def machines(self) -> tuple[Machine, ...]:
        return self.held or tuple(machine for machine in MACHINES if machine.pool == self.name)

    @property
    def metadata_options(self) -> Json:
        """The metadata options of its instances, and those in the launch template that EKS or Karpenter created."""
        return {"HttpTokens": self.tokens, "HttpPutResponseHopLimit": self.hops}


GROUPS = (
    Pool("blue", _AL2, "optional", 2, born=60_010, size=(3, 12)),
    Pool("green", AL2023, "required", 1, born=100, size=(3, 12)),
)
NODE_POOL = Pool("general", AL2023, "required", 1, born=702, size=(0, 0), maker=Maker.KARPENTER)
"""The NodePool of Karpenter; its NodeClass has the same AMI alias and metadata options."""


@dataclass(frozen=True, slots=True)
class Estate:
    """Additions to the account of the demo: pools, the account's default metadata options for launches, and service
    accounts (``namespace/name``) that have a role by EKS Pod Identity."""

    pools: tuple[Pool, ...] = (*GROUPS, NODE_POOL)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    identities: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[Pool, ...]:
        """The managed node groups."""
        return tuple(pool for pool in self.pools if pool.managed)


DEMO = Estate()

OWNED = {
    "eks:cluster-name": CLUSTER,
    f"k8s.io/cluster-autoscaler/{CLUSTER}": "owned",
    "k8s.io/cluster-autoscaler/enabled": "true",
    f"kubernetes.io/cluster/{CLUSTER}": "owned",
}
"""The tags that EKS sets on the auto scaling group of every node group, and the tag that it sets on its instances."""
