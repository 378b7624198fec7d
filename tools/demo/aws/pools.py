"""Where instances come from; the demo's own: two managed node groups and a NodePool of Karpenter.

The third incident stands in it: neither node group has a launch template of its owner's. EKS made blue's of Amazon
Linux 2, with two hops and IMDSv1 allowed, and green's of Amazon Linux 2023, with one hop and IMDSv2 required.
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
"""What EKS recommends now; no node of the demo has it yet."""


class Maker(Enum):
    """Who launches the instances of a pool."""

    EKS = "a managed node group"
    KARPENTER = "Karpenter"
    OWNER = "an auto scaling group of its owner's"
    AUTO_MODE = "EKS Auto Mode"


@dataclass(frozen=True, slots=True)
class Own:
    """A launch template that is not made by EKS or Karpenter: its newest version, which alone is left, and what that
    says of the instance metadata."""

    name: str
    version: int
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return an_id("lt", "own", self.name)


@dataclass(frozen=True, slots=True)
class Pool:
    """A node group, a NodePool, or an auto scaling group; `size` is its least and most, `born` minutes ago; a NodePool
    has no size.

    `hops` and `tokens` are the instance metadata options that its instances have. `own` is the launch template of its
    owner's: EKS makes another one of it. `held`: its machines, where they are none of the demo's; `scaling_group` and
    `tags` of instances are given where its owner chose them; `role` is that of its nodes.
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
        """The last part of its ARN, and of the names of what EKS made for it."""
        return uid("Nodegroup", CLUSTER, self.name)

    @property
    def template_name(self) -> str:
        """Of that from which its instances are launched."""
        if self.maker is Maker.OWNER and self.own is not None:
            return self.own.name
        return f"eks-{self.id}" if self.managed else f"karpenter.k8s.aws/{hexadecimal(20, 'template', self.name)}"

    @property
    def template_id(self) -> str:
        return self.own.id if self.maker is Maker.OWNER and self.own is not None else an_id("lt", self.name)

    @property
    def template_version(self) -> str:
        """EKS and Karpenter make one."""
        return str(self.own.version) if self.maker is Maker.OWNER and self.own is not None else "1"

    @property
    def group_name(self) -> str:
        """Of its auto scaling group; a NodePool has none."""
        return self.scaling_group or f"eks-{self.name}-{self.id}"

    @property
    def scaled(self) -> bool:
        """Whether it has one."""
        return self.maker in (Maker.EKS, Maker.OWNER)

    @property
    def profile(self) -> str:
        """The ARN of its instances' profile, which EKS and Karpenter make of the node role."""
        made = f"eks-{self.id}" if self.managed else f"{CLUSTER}_{hexadecimal(20, 'profile', self.role)}"
        return role(made).replace(":role/", ":instance-profile/")

    @property
    def arn(self) -> str:
        """Of the node group."""
        return arn("eks", f"nodegroup/{CLUSTER}/{self.name}/{self.id}")

    @property
    def machines(self) -> tuple[Machine, ...]:
        return self.held or tuple(machine for machine in MACHINES if machine.pool == self.name)

    @property
    def metadata_options(self) -> Json:
        """Of its instances, and what the launch template says of it that EKS or Karpenter made."""
        return {"HttpTokens": self.tokens, "HttpPutResponseHopLimit": self.hops}


GROUPS = (
    Pool("blue", _AL2, "optional", 2, born=60_010, size=(3, 12)),
    Pool("green", AL2023, "required", 1, born=100, size=(3, 12)),
)
NODE_POOL = Pool("general", AL2023, "required", 1, born=702, size=(0, 0), maker=Maker.KARPENTER)
"""Karpenter's; its class of nodes asks for the same image alias and metadata options."""


@dataclass(frozen=True, slots=True)
class Estate:
    """What of the account may be more than the demo's: pools, what the account says of the instance metadata of its
    launches, and service accounts (``namespace/name``) that have a role by EKS Pod Identity."""

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
"""Tags that EKS gives to the auto scaling group of every node group, and that to its instances."""
