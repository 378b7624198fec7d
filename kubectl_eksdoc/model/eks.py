"""EKS clusters, and the Kubernetes versions that EKS supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .addons import Addon, AddonVersions, HealthIssue, UpdateHistory
from .kinds import NOT_REQUESTED, Absent, Unknown
from .machines import NodeGroup, Quota, Subnet, Tags, TemplateRef, TemplateVersion


@frozen
class EksCluster:
    """An EKS cluster (DescribeCluster). `ca` is PEM in base64, `support` STANDARD or EXTENDED: the policy at the end of
    standard support; `auto_mode`: EKS manages the nodes. `issues`: its health issues; `subnets`: those of the control
    plane's network interfaces."""

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
    issues: tuple[HealthIssue, ...] = ()
    subnets: tuple[str, ...] = ()
    tags: Tags = ()

    @property
    def account(self) -> str:
        """The account in its ARN, "" if it is not an ARN."""
        return arn_part(self.arn, _ACCOUNT)

    @property
    def region(self) -> str:
        return arn_part(self.arn, _REGION)


_REGION, _ACCOUNT = 3, 4


def aws_partition(region: str) -> str:
    """The AWS partition, by the beginning of the region's name (botocore, partitions.json)."""
    return next((partition for begin, partition in _PARTITIONS if region.startswith(begin)), "aws")


_PARTITIONS = (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov"), ("us-iso-", "aws-iso"), ("us-isob-", "aws-iso-b"))


def arn_part(arn: str, index: int) -> str:
    """The part of ``arn:partition:service:region:account:resource`` at an index from 0, "" if there is none."""
    parts = arn.split(":", 5)
    return parts[index] if parts[0] == "arn" and len(parts) == 6 else ""


@frozen
class ClusterVersion:
    """A Kubernetes version in EKS (DescribeClusterVersions). `status` as EKS writes it: ``STANDARD_SUPPORT``,
    ``EXTENDED_SUPPORT`` or ``UNSUPPORTED``."""

    version: str
    status: str
    default: bool
    released: datetime | None = None
    standard_ends: datetime | None = None
    extended_ends: datetime | None = None


@frozen
class CallerIdentity:
    """The identity of the credentials."""

    account: str
    arn: str


# Access to AWS: identity, region, and cluster.


@frozen
class AwsAccess:
    """From the selected context, unless the command line overrides it; "" for unknown values.

    `server` is the address of the API server that kubectl uses, `ca` its certificate authority as PEM, and `account`
    the one that the kubeconfig names: these show whether AWS describes the same cluster. `role` is assumed first, like
    the context's credential plugin does; `settings` are environment variables of the plugin that AWS's tools read.
    """

    cluster: str
    region: str
    profile: str = ""
    role: str = ""
    external_id: str = ""  # which the role may require
    account: str = ""
    server: str = ""
    server_name: str = ""  # which TLS expects instead of the URL's host
    ca: str = ""
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def setting(self, name: str) -> str:
        return next((value for key, value in self.settings if key == name), "")


# EKS insights: upgrade problems that EKS itself detects, and their age.
#
# Source of the shapes: botocore 1.44.5, eks/2017-11-01 (Insight, InsightsRefreshStatus).


PASSING, WARNING, ERROR = "PASSING", "WARNING", "ERROR"
READINESS, MISCONFIGURATION, ROLLBACK = "UPGRADE_READINESS", "MISCONFIGURATION", "ROLLBACK_READINESS"


@frozen
class ApiClient:
    """A client of a deprecated API. `requests`: in the last 30 days, None if not known; `last`: the latest of them."""

    agent: str
    requests: int | None = None
    last: datetime | None = None


@frozen
class ApiDeprecation:
    """A deprecated API that clients use: its path, its replacement, and the version that no longer serves it."""

    usage: str
    instead: str = ""
    stops: str = ""
    clients: tuple[ApiClient, ...] = ()


@frozen
class IncompatibleAddon:
    """An installed add-on that is not compatible, and its compatible versions, as EKS lists them."""

    addon: str
    compatible_versions: tuple[str, ...] = ()


@frozen
class InsightDetail:
    """Further fields of DescribeInsight. `resources`: ARNs, or paths as ``nodes/ip-10-0-1-2.ec2.internal``."""

    recommendation: str = ""
    deprecations: tuple[ApiDeprecation, ...] = ()
    incompatible_addons: tuple[IncompatibleAddon, ...] = ()
    resources: tuple[str, ...] = ()


@frozen
class Insight:
    """`version`: the target version of the upgrade it is about, "" if none. `changed`: when its status last changed.
    `detail` is None if it passes: it is not requested then."""

    id: str
    name: str
    category: str = ""
    version: str = ""
    status: str = ""
    reason: str = ""
    refreshed: datetime | None = None
    changed: datetime | None = None
    detail: InsightDetail | Unknown | None = None


@frozen
class InsightsRefresh:
    """A refresh of the insights. `status`: ``IN_PROGRESS``, ``COMPLETED`` or ``FAILED``."""

    status: str
    message: str = ""
    ended: datetime | None = None


# Target groups of load balancers, and the health of their targets.


HEALTHY = "healthy"


@frozen
class TargetHealth:
    """`state` and `reason` as AWS writes them: ``unhealthy``, ``TargetHealth.FailedHealthChecks``."""

    id: str
    port: int
    state: str
    reason: str = ""


@frozen
class TargetGroup:
    """`targets` as registered (DescribeTargetHealth), by their IDs."""

    arn: str
    targets: tuple[TargetHealth, ...]

    @property
    def healthy(self) -> int:
        return sum(each.state == HEALTHY for each in self.targets)

    @property
    def unhealthy(self) -> tuple[str, ...]:
        """``10.0.1.7:8080 unhealthy (Target.FailedHealthChecks)``."""
        return tuple(
            f"{each.id}:{each.port} {each.state}{f' ({each.reason})' if each.reason else ''}"
            for each in self.targets
            if each.state != HEALTHY
        )


# AWS's facts about an upgrade: supported versions, add-ons, insights, updates, node groups, capacity and quotas.
#
# Source of the shapes: botocore 1.44.5, eks/2017-11-01.


@frozen
class TemplateVersions:
    """Versions of a launch template: the newest, the default, and the one that a node group uses."""

    latest: TemplateVersion
    default: TemplateVersion
    used: TemplateVersion | Absent | Unknown


NodeGroups = Mapping[str, NodeGroup | Absent | Unknown]


@frozen
class UpgradeFacts:
    """Each answer, or the reason why there is none. `addon_versions`: of the installed add-ons by name; `insights`:
    about the versions of the upgrade path, `other_insights`: about misconfigurations and rollback; `group_updates`: by
    node group; `templates`: by the groups' references; `releases`: recommended AMI releases, by amiType and Kubernetes
    version; `subnets`: by ID; `quotas`: by code."""

    versions: tuple[ClusterVersion, ...] | Unknown = NOT_REQUESTED
    addons: tuple[Addon | Unknown, ...] | Unknown = NOT_REQUESTED
    addon_versions: Mapping[str, AddonVersions | Absent | Unknown] = field(default_factory=dict)
    insights: tuple[Insight, ...] | Unknown = NOT_REQUESTED
    other_insights: tuple[Insight, ...] | Unknown = NOT_REQUESTED
    cluster_updates: UpdateHistory | Unknown = NOT_REQUESTED
    node_groups: NodeGroups | Unknown = NOT_REQUESTED
    group_updates: Mapping[str, UpdateHistory | Unknown] | Unknown = NOT_REQUESTED
    templates: Mapping[TemplateRef, TemplateVersions | Absent | Unknown] = field(default_factory=dict)
    releases: Mapping[tuple[str, str], str | Absent | Unknown] = field(default_factory=dict)
    subnets: Mapping[str, Subnet | Absent | Unknown] | Unknown = NOT_REQUESTED
    quotas: Mapping[str, Quota | Unknown] | Unknown = NOT_REQUESTED
