"""What AWS says of an upgrade: supported versions, add-ons, insights, updates, node groups, and what there is room for.

Source of the shapes: botocore 1.44.5, eks/2017-11-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.model.asked import NOT_ASKED, Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Addon, AddonVersions, UpdateHistory
from kubectl_eksdoc.model.aws.capacity import Quota, Subnet
from kubectl_eksdoc.model.aws.clusters import ClusterVersion
from kubectl_eksdoc.model.aws.insights import Insight
from kubectl_eksdoc.model.aws.machines import NodeGroup, TemplateRef, TemplateVersion


@dataclass(frozen=True, slots=True)
class TemplateVersions:
    """Of a launch template: the newest version, the one that is the default, and the one that a node group uses."""

    latest: TemplateVersion
    default: TemplateVersion
    used: TemplateVersion | Absent | Unknown


Groups = Mapping[str, NodeGroup | Absent | Unknown]


@dataclass(frozen=True, slots=True)
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
