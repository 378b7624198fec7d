"""What there is room for: addresses in subnets, and quotas of an account.

Source of the shapes: botocore 1.44.5, ec2/2016-11-15 (Subnet), service-quotas/2019-06-24 (ServiceQuota).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.model.asked import Unknown


@dataclass(frozen=True, slots=True)
class Subnet:
    """`free`: addresses of IPv4 that nobody has, None where that is not told."""

    id: str
    zone: str = ""
    free: int | None = None
    block: str = ""


@dataclass(frozen=True, slots=True)
class QuotaOf:
    """Which one is meant; its codes are the same in every account."""

    service: str
    code: str
    name: str


ON_DEMAND = QuotaOf("ec2", "L-1216C47A", "vCPUs of running On-Demand Standard instances")
SPOT = QuotaOf("ec2", "L-34B43A08", "vCPUs of all Standard Spot instance requests")
GP3 = QuotaOf("ebs", "L-7A658B76", "storage of gp3 volumes, in TiB")
NODES_PER_GROUP = QuotaOf("eks", "L-BD136A63", "nodes of one managed node group")
QUOTAS = (ON_DEMAND, SPOT, GP3, NODES_PER_GROUP)


@dataclass(frozen=True, slots=True)
class UsageMetric:
    """By which CloudWatch counts what of a quota is in use in the whole account and region."""

    namespace: str
    name: str
    dimensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quota:
    """As it is applied in the account. `metric` is None where Service Quotas names none."""

    code: str
    value: float
    metric: UsageMetric | None = None
    used: float | Unknown = Unknown("nothing counts it")
