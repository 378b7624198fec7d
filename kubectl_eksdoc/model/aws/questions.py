"""The questions the tool asks AWS, each with the IAM action that allows it. A new one is one line here.

Source of actions and of what is paged: the service authorization reference, and botocore 1.44.5's models.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """`service` and `operation` as botocore's models call them; `listed`: the list in the answer that comes in pages,
    "" where the answer is one. `free`: whoever has credentials may ask it. `needs`: the actions, where they are not the
    operation's own; `at_once`: how many identifiers one request takes, 0 where it is about one thing."""

    service: str
    operation: str
    listed: str = ""
    free: bool = False
    needs: tuple[str, ...] = ()
    at_once: int = 0

    @property
    def actions(self) -> tuple[str, ...]:
        """As IAM policies write them: ``eks:DescribeCluster``."""
        return () if self.free else self.needs or (f"{self.service}:{self.operation}",)

    @property
    def action(self) -> str:
        """The one that is named where it is missing."""
        return next(iter(self.actions), "")


CALLER = Question("sts", "GetCallerIdentity", free=True)

CLUSTER = Question("eks", "DescribeCluster")
CLUSTER_VERSIONS = Question("eks", "DescribeClusterVersions", "clusterVersions")
ADDONS = Question("eks", "ListAddons", "addons")
ADDON = Question("eks", "DescribeAddon")
ADDON_VERSIONS = Question("eks", "DescribeAddonVersions", "addons")
ADDON_CONFIGURATION = Question("eks", "DescribeAddonConfiguration")
UPDATES = Question("eks", "ListUpdates", "updateIds")
UPDATE = Question("eks", "DescribeUpdate")
NODE_GROUPS = Question("eks", "ListNodegroups", "nodegroups")
NODE_GROUP = Question("eks", "DescribeNodegroup")
POD_IDENTITIES = Question("eks", "ListPodIdentityAssociations", "associations")
INSIGHTS = Question("eks", "ListInsights", "insights")
INSIGHT = Question("eks", "DescribeInsight")
INSIGHTS_REFRESH = Question("eks", "DescribeInsightsRefresh")

INSTANCES = Question("ec2", "DescribeInstances", "Reservations", at_once=200)
IMAGES = Question("ec2", "DescribeImages", "Images", at_once=200)
TEMPLATE_VERSIONS = Question("ec2", "DescribeLaunchTemplateVersions", "LaunchTemplateVersions")
METADATA_DEFAULTS = Question("ec2", "GetInstanceMetadataDefaults")
SUBNETS = Question("ec2", "DescribeSubnets", "Subnets", at_once=200)
PARAMETER = Question("ssm", "GetParameter")
QUOTA = Question("service-quotas", "GetServiceQuota", needs=("servicequotas:GetServiceQuota",))
SCALING_GROUPS = Question("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups", at_once=100)
LAUNCH_CONFIGURATIONS = Question("autoscaling", "DescribeLaunchConfigurations", "LaunchConfigurations", at_once=50)
TARGET_HEALTH = Question(
    "elbv2",
    "DescribeTargetHealth",
    needs=("elasticloadbalancing:DescribeTargetHealth",),
)

POD_IDENTITY = Question("eks", "DescribePodIdentityAssociation")
SPOT_REQUESTS = Question("ec2", "DescribeSpotInstanceRequests", "SpotInstanceRequests", at_once=200)
QUEUE_URL = Question("sqs", "GetQueueUrl")
QUEUE_ATTRIBUTES = Question("sqs", "GetQueueAttributes")
RULES = Question("events", "ListRules", "Rules")
RULE_TARGETS = Question("events", "ListTargetsByRule", "Targets")
KEY = Question("kms", "DescribeKey")
KEY_POLICY = Question("kms", "GetKeyPolicy")
ROLE = Question("iam", "GetRole")
ATTACHED_POLICIES = Question("iam", "ListAttachedRolePolicies", "AttachedPolicies")
POLICY = Question("iam", "GetPolicy")
POLICY_VERSION = Question("iam", "GetPolicyVersion")
ROLE_POLICIES = Question("iam", "ListRolePolicies", "PolicyNames")
ROLE_POLICY = Question("iam", "GetRolePolicy")
METRICS = Question("cloudwatch", "GetMetricData", "MetricDataResults")

REFRESH_INSIGHTS = Question("eks", "StartInsightsRefresh")
"""It changes nothing in the cluster; nobody asks it but who was told to."""

UPDATE_ADDON = Question("eks", "UpdateAddon")
MODIFY_METADATA = Question("ec2", "ModifyInstanceMetadataOptions")
CREATE_TEMPLATE_VERSION = Question("ec2", "CreateLaunchTemplateVersion")
UPDATE_NODE_GROUP = Question("eks", "UpdateNodegroupVersion")
"""These change something; nobody asks them but who carries an update or a fix out."""

ALL: tuple[Question, ...] = (
    CALLER,
    CLUSTER,
    CLUSTER_VERSIONS,
    ADDONS,
    ADDON,
    ADDON_VERSIONS,
    ADDON_CONFIGURATION,
    UPDATES,
    UPDATE,
    NODE_GROUPS,
    NODE_GROUP,
    POD_IDENTITIES,
    INSTANCES,
    IMAGES,
    TEMPLATE_VERSIONS,
    METADATA_DEFAULTS,
    SCALING_GROUPS,
    LAUNCH_CONFIGURATIONS,
    TARGET_HEALTH,
    POD_IDENTITY,
    SPOT_REQUESTS,
    QUEUE_URL,
    QUEUE_ATTRIBUTES,
    RULES,
    RULE_TARGETS,
    KEY,
    KEY_POLICY,
    ROLE,
    ATTACHED_POLICIES,
    POLICY,
    POLICY_VERSION,
    ROLE_POLICIES,
    ROLE_POLICY,
    METRICS,
    INSIGHTS,
    INSIGHT,
    INSIGHTS_REFRESH,
    SUBNETS,
    PARAMETER,
    QUOTA,
    REFRESH_INSIGHTS,
    UPDATE_ADDON,
    MODIFY_METADATA,
    CREATE_TEMPLATE_VERSION,
    UPDATE_NODE_GROUP,
)
