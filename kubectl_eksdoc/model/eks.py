"""EKS clusters, and the Kubernetes versions that EKS supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .addons import Addon, AddonVersions, Issue, UpdateHistory
from .kinds import NOT_ASKED, Absent, Unknown
from .machines import NodeGroup, Quota, Subnet, Tags, TemplateRef, TemplateVersion


@frozen
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
    tags: Tags = ()

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


@frozen
class ClusterVersion:
    """A Kubernetes version as EKS supports it (DescribeClusterVersions). `status` as EKS writes it:
    ``STANDARD_SUPPORT``, ``EXTENDED_SUPPORT`` or ``UNSUPPORTED``."""

    version: str
    status: str
    default: bool
    released: datetime | None = None
    standard_ends: datetime | None = None
    extended_ends: datetime | None = None


@frozen
class Caller:
    """Whose credentials these are."""

    account: str
    arn: str


# As whom, where and about which cluster AWS is asked.


@frozen
class AwsAccess:
    """Of the context that was chosen, unless the command line says otherwise; "" for what nothing tells.

    `server` is the address of the API server that kubectl talks to, `ca` its authority as PEM, and `account` the one
    that the kubeconfig names: by these it is seen whether AWS describes the same cluster. `role` is assumed first, as
    the credential plugin of the context does; `settings` are its own environment, as far as AWS's tools read it.
    """

    cluster: str
    region: str
    profile: str = ""
    role: str = ""
    external_id: str = ""  # which the role may want
    account: str = ""
    server: str = ""
    server_name: str = ""  # which TLS expects instead of the URL's host
    ca: str = ""
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def setting(self, name: str) -> str:
        return next((value for key, value in self.settings if key == name), "")


# What EKS itself sees in the way of an upgrade (insights), and how fresh that is.
#
# Source of the shapes: botocore 1.44.5, eks/2017-11-01 (Insight, InsightsRefreshStatus).


PASSING, WARNING, ERROR = "PASSING", "WARNING", "ERROR"
READINESS, MISCONFIGURATION, ROLLBACK = "UPGRADE_READINESS", "MISCONFIGURATION", "ROLLBACK_READINESS"


@frozen
class Client:
    """Who asks for an API. `requests`: in the last 30 days, None where that is not told; `last`: the latest of them."""

    agent: str
    requests: int | None = None
    last: datetime | None = None


@frozen
class Deprecation:
    """An API that somebody asks for: its path, the one that replaces it, and the version that does not serve it."""

    usage: str
    instead: str = ""
    stops: str = ""
    clients: tuple[Client, ...] = ()


@frozen
class UnfitAddon:
    """An installed add-on that does not fit, and the versions of it that do, as EKS lists them."""

    addon: str
    fitting: tuple[str, ...] = ()


@frozen
class InsightDetail:
    """What DescribeInsight says besides. `resources`: ARNs, or paths as ``nodes/ip-10-0-1-2.ec2.internal``."""

    recommendation: str = ""
    deprecations: tuple[Deprecation, ...] = ()
    misfits: tuple[UnfitAddon, ...] = ()
    resources: tuple[str, ...] = ()


@frozen
class Insight:
    """`version`: about an upgrade to which one, "" where it is about none. `changed`: when its status last did.
    `detail` is None where it passes: that is not asked for."""

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
class Refresh:
    """A refresh that was asked for. `status`: ``IN_PROGRESS``, ``COMPLETED`` or ``FAILED``."""

    status: str
    said: str = ""
    ended: datetime | None = None


# Target groups of load balancers, and how their targets are.


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
    """`targets` as they are registered (DescribeTargetHealth), by their ids."""

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


# What AWS says of an upgrade: supported versions, add-ons, insights, updates, node groups, and what there is room for.
#
# Source of the shapes: botocore 1.44.5, eks/2017-11-01.


@frozen
class TemplateVersions:
    """Of a launch template: the newest version, the one that is the default, and the one that a node group uses."""

    latest: TemplateVersion
    default: TemplateVersion
    used: TemplateVersion | Absent | Unknown


Groups = Mapping[str, NodeGroup | Absent | Unknown]


@frozen
class UpgradeFacts:
    """Each answer, or why there is none. `addon_versions`: of the installed add-ons by their names; `insights`: about
    the versions on the way, `other_insights`: about misconfigurations and the way back; `group_updates`: by the names
    of the node groups; `templates`: by what the groups name; `releases`: what is recommended, by amiType and Kubernetes
    version; `subnets`: by their ids; `quotas`: by their codes."""

    versions: tuple[ClusterVersion, ...] | Unknown = NOT_ASKED
    addons: tuple[Addon | Unknown, ...] | Unknown = NOT_ASKED
    addon_versions: Mapping[str, AddonVersions | Absent | Unknown] = field(default_factory=dict)
    insights: tuple[Insight, ...] | Unknown = NOT_ASKED
    other_insights: tuple[Insight, ...] | Unknown = NOT_ASKED
    cluster_updates: UpdateHistory | Unknown = NOT_ASKED
    node_groups: Groups | Unknown = NOT_ASKED
    group_updates: Mapping[str, UpdateHistory | Unknown] | Unknown = NOT_ASKED
    templates: Mapping[TemplateRef, TemplateVersions | Absent | Unknown] = field(default_factory=dict)
    releases: Mapping[tuple[str, str], str | Absent | Unknown] = field(default_factory=dict)
    subnets: Mapping[str, Subnet | Absent | Unknown] | Unknown = NOT_ASKED
    quotas: Mapping[str, Quota | Unknown] | Unknown = NOT_ASKED
