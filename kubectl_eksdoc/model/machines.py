"""EC2 instances and their configuration: launch templates, AMIs, node groups, Auto Scaling groups.

Source of the shapes: botocore 1.44.5, ec2/2016-11-15, autoscaling/2011-01-01, eks/2017-11-01.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import field, fields
from datetime import datetime
from operator import add
from typing import Any

from kubectl_eksdoc.frozen import frozen

from .addons import HealthIssue
from .kinds import NOT_REQUESTED, Absent, Unknown

# The tool that manages a resource, by the resource's tags.
#
# Sources: eksctl, pkg/apis/eksctl.io/v1alpha5/types.go; CloudFormation user guide, resource tags. Terraform sets no
# tags itself, but modules and default_tags often name it.


Tags = tuple[tuple[str, str], ...]
EKSCTL, CLOUDFORMATION, TERRAFORM = "eksctl", "CloudFormation", "Terraform"
_EKSCTL_TAGS = ("alpha.eksctl.io/", "eksctl.cluster.k8s.io/", "eksctl.io/")
_STACK_TAG = "aws:cloudformation:stack-name"
_TERRAFORM_TAG = re.compile(r"(?i)terraform|opentofu|terragrunt")
_FALSE_VALUES = ("", "0", "false", "no")


def manager_tags(tags: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """By tool: the tag that names it, ``managed-by=terraform``, or the name of the stack. CloudFormation stacks of
    eksctl are reported as eksctl."""
    tag_by_tool: dict[str, str] = {}
    for key, value in tags:
        if key.startswith(_EKSCTL_TAGS):
            tag_by_tool[EKSCTL] = f"{key}={value}"
        elif key == _STACK_TAG:
            tag_by_tool[CLOUDFORMATION] = value
        elif _TERRAFORM_TAG.search(f"{key}={value}") and value.lower() not in _FALSE_VALUES:
            tag_by_tool[TERRAFORM] = f"{key}={value}"
    if EKSCTL in tag_by_tool:
        tag_by_tool.pop(CLOUDFORMATION, None)
    return tag_by_tool


@frozen
class MetadataOptions:
    """The instance metadata options of an instance. `tokens`: ``required`` (IMDSv2 only) or ``optional``; `hop_limit`:
    the IP TTL of the answer with the token, 1 to 64. `pending`: a change is not applied yet."""

    tokens: str
    hop_limit: int
    endpoint: bool = True
    ipv6: bool = False
    pending: bool = False


@frozen
class DeclaredMetadataOptions:
    """The metadata options that a launch template, an account or a node class declares; None (tokens: "") for options
    it does not declare. `tags`: whether the metadata includes the instance's tags. `enforced`, of an account: an
    instance that does not require tokens is not launched."""

    tokens: str = ""
    hop_limit: int | None = None
    endpoint: bool | None = None
    ipv6: bool | None = None
    tags: bool | None = None
    enforced: bool | None = None

    @property
    def is_empty(self) -> bool:
        return self == DeclaredMetadataOptions()


@frozen
class TemplateVersion:
    """One version of a launch template; `image` is "" if it declares no AMI."""

    id: str
    name: str
    number: int
    options: DeclaredMetadataOptions = DeclaredMetadataOptions()
    image: str = ""


@frozen
class TemplateRef:
    """A reference to a version of a launch template: a number, ``$Latest`` or ``$Default``; one of `id` and `name` may
    be ""."""

    id: str
    name: str = ""
    version: str = "$Default"

    def __str__(self) -> str:
        return f"{self.name or self.id} {self.version}"


@frozen
class Instance:
    """An EC2 instance. `template` and `scaling_group` are those in its tags, None and "" if there are none; `profile`:
    the ARN of its instance profile."""

    id: str
    image: str = ""
    type: str = ""
    state: str = ""
    options: MetadataOptions | None = None
    template: TemplateRef | None = None
    scaling_group: str = ""
    launched: datetime | None = None
    profile: str = ""


@frozen
class Image:
    """An AMI. `v2`: it has ``ImdsSupport: v2.0``, so that launches without own options get IMDSv2 only and two hops."""

    id: str
    name: str = ""
    v2: bool = False


@frozen
class NodeGroup:
    """A managed node group (DescribeNodegroup). `template` is its custom launch template, None if EKS created one.
    `at_once`: how many nodes an update makes unavailable, ``1`` or ``33 %``, "" if not known. `issues`: its health
    issues. `size`: the desired nodes, between `least` and `most`. `capacity`: ``ON_DEMAND``, ``SPOT``,
    ``CAPACITY_BLOCK``; `strategy`: of its updates, ``DEFAULT`` or ``MINIMAL``; `disk`: of each node, in GiB, None if a
    launch template sets it."""

    name: str
    ami_type: str = ""
    release: str = ""
    version: str = ""
    status: str = ""
    template: TemplateRef | None = None
    scaling_groups: tuple[str, ...] = ()
    created: datetime | None = None
    at_once: str = ""
    issues: tuple[HealthIssue, ...] = ()
    subnets: tuple[str, ...] = ()
    size: int | None = None
    least: int | None = None
    most: int | None = None
    capacity: str = ""
    instance_types: tuple[str, ...] = ()
    strategy: str = ""
    disk: int | None = None
    tags: Tags = ()


@frozen
class ScalingGroup:
    """An Auto Scaling group. `template`: what it launches next, None for an old launch configuration, which is then in
    `configuration`. `mixed`: it has a mixed instances policy; `others`: templates for some of its instance types."""

    name: str
    template: TemplateRef | None = None
    mixed: bool = False
    others: tuple[TemplateRef, ...] = ()
    configuration: str = ""


IMDSV1_LOOKBACK_DAYS = 14
"""Days for which requests without a token are counted."""


@frozen
class Imdsv1Requests:
    """Requests without a token (IMDSv1) to the metadata service of an instance, as counted by CloudWatch: `answered`
    (MetadataNoToken) and `rejected` (MetadataNoTokenRejected), None without data; on `days` days."""

    answered: int | None = None
    rejected: int | None = None
    days: int = 0


@frozen
class RoleUse:
    """Requests to a service with the role of a node, including denied ones. `action` and `agent` (the user agent) are
    "" if only the service is known. `v1`: number of requests with credentials that the metadata service gave without a
    token."""

    service: str
    last: datetime
    action: str = ""
    agent: str = ""
    count: int = 1
    v1: int = 0


@frozen
class RoleUses:
    """`since`: the earliest time that was read."""

    since: datetime
    uses: tuple[RoleUse, ...] = ()


@frozen(order=True)
class PodIdentity:
    """A service account whose pods have a role by EKS Pod Identity (ListPodIdentityAssociations)."""

    namespace: str
    service_account: str


@frozen
class MachineQuery:
    """The names to read. `account`: also the account's defaults and the Pod Identity associations."""

    instances: tuple[str, ...] = ()
    node_groups: tuple[str, ...] = ()
    scaling_groups: tuple[str, ...] = ()
    templates: tuple[TemplateRef, ...] = ()
    images: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    account: bool = False

    @property
    def has_any(self) -> bool:
        return self != MachineQuery()

    def without(self, other: MachineQuery) -> MachineQuery:
        """The names that are not in `other`."""
        account = self.account and not other.account
        return self._combine(other, lambda ours, theirs: tuple(each for each in ours if each not in theirs), account)

    def union(self, other: MachineQuery) -> MachineQuery:
        return self._combine(other, add, self.account or other.account)

    def _combine(self, other: MachineQuery, operation: Callable[[Any, Any], Any], account: bool) -> MachineQuery:
        names = [each.name for each in fields(self) if each.name != "account"]
        by_key: dict[str, Any] = {name: operation(getattr(self, name), getattr(other, name)) for name in names}
        return MachineQuery(**by_key, account=account)


@frozen
class MachineFacts:
    """Each answer by its name; what was not requested is not included. `configurations`: launch configurations, whose
    content is like that of a launch template version."""

    instances: Mapping[str, Instance | Absent | Unknown] = field(default_factory=dict)
    node_groups: Mapping[str, NodeGroup | Absent | Unknown] = field(default_factory=dict)
    scaling_groups: Mapping[str, ScalingGroup | Absent | Unknown] = field(default_factory=dict)
    templates: Mapping[TemplateRef, TemplateVersion | Absent | Unknown] = field(default_factory=dict)
    images: Mapping[str, Image | Absent | Unknown] = field(default_factory=dict)
    account: DeclaredMetadataOptions | Unknown = NOT_REQUESTED
    identities: Set[PodIdentity] | Unknown = NOT_REQUESTED
    configurations: Mapping[str, TemplateVersion | Absent | Unknown] = field(default_factory=dict)


# Capacity: addresses in subnets, and quotas of an account.
#
# Source of the shapes: botocore 1.44.5, ec2/2016-11-15 (Subnet), service-quotas/2019-06-24 (ServiceQuota).


@frozen
class Subnet:
    """`free`: unused IPv4 addresses, None if not known."""

    id: str
    zone: str = ""
    free: int | None = None
    block: str = ""


@frozen
class QuotaKey:
    """Identifies a quota; its codes are the same in every account."""

    service: str
    code: str
    name: str


ON_DEMAND = QuotaKey("ec2", "L-1216C47A", "vCPUs of running On-Demand Standard instances")
SPOT = QuotaKey("ec2", "L-34B43A08", "vCPUs of all Standard Spot instance requests")
GP3 = QuotaKey("ebs", "L-7A658B76", "storage of gp3 volumes, in TiB")
NODES_PER_GROUP = QuotaKey("eks", "L-BD136A63", "nodes of one managed node group")
QUOTAS = (ON_DEMAND, SPOT, GP3, NODES_PER_GROUP)


@frozen
class UsageMetric:
    """The CloudWatch metric that counts the usage of a quota in the whole account and region."""

    namespace: str
    name: str
    dimensions: Mapping[str, str] = field(default_factory=dict)


@frozen
class Quota:
    """A quota as applied in the account. `metric` is None if Service Quotas names none."""

    code: str
    value: float
    metric: UsageMetric | None = None
    used: float | Unknown = Unknown("nothing counts it")
