"""EKS clusters, and the Kubernetes versions that EKS supports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.model.aws.addons import Issue


@dataclass(frozen=True, slots=True)
class EksCluster:
    """What EKS says of itself (DescribeCluster). `ca` is PEM in base64, `support` STANDARD or EXTENDED: what happens at
    the end of standard support; `auto_mode`: EKS makes the nodes itself. `issues`: what it calls unhealthy in
    the cluster; `subnets`: those of the control plane's interfaces."""

    name: str
    arn: str
    version: str
    platform_version: str
    status: str
    endpoint: str
    ca: str
    support: str = ""
    auto_mode: bool = False
    vpc: str = ""
    created: datetime | None = None
    issues: tuple[Issue, ...] = ()
    subnets: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def account(self) -> str:
        """By its ARN, "" if that is none."""
        return part_of(self.arn, _ACCOUNT)

    @property
    def region(self) -> str:
        return part_of(self.arn, _REGION)


_REGION, _ACCOUNT = 3, 4


def partition_of(region: str) -> str:
    """By the beginning of the region's name (botocore, partitions.json)."""
    return next((partition for begin, partition in _PARTITIONS if region.startswith(begin)), "aws")


_PARTITIONS = (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov"), ("us-iso-", "aws-iso"), ("us-isob-", "aws-iso-b"))


def part_of(arn: str, place: int) -> str:
    """The part of ``arn:partition:service:region:account:resource`` at a place from 0, "" where there is none."""
    parts = arn.split(":", 5)
    return parts[place] if parts[0] == "arn" and len(parts) == 6 else ""


@dataclass(frozen=True, slots=True)
class ClusterVersion:
    """A Kubernetes version as EKS supports it (DescribeClusterVersions). `status` as EKS writes it:
    ``STANDARD_SUPPORT``, ``EXTENDED_SUPPORT`` or ``UNSUPPORTED``."""

    version: str
    status: str
    default: bool
    released: datetime | None = None
    standard_ends: datetime | None = None
    extended_ends: datetime | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose credentials these are."""

    account: str
    arn: str
