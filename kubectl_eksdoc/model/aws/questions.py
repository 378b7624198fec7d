"""The questions the tool asks AWS, each with the IAM action that allows it. A new one is one line here.

Source of actions and of what is paged: the service authorization reference, and botocore 1.44.5's models.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AwsOperation:
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


CALLER = AwsOperation("sts", "GetCallerIdentity", free=True)

CLUSTER = AwsOperation("eks", "DescribeCluster")
CLUSTER_VERSIONS = AwsOperation("eks", "DescribeClusterVersions", "clusterVersions")
ADDONS = AwsOperation("eks", "ListAddons", "addons")
ADDON = AwsOperation("eks", "DescribeAddon")
ADDON_VERSIONS = AwsOperation("eks", "DescribeAddonVersions", "addons")
ADDON_CONFIGURATION = AwsOperation("eks", "DescribeAddonConfiguration")
UPDATES = AwsOperation("eks", "ListUpdates", "updateIds")
UPDATE = AwsOperation("eks", "DescribeUpdate")
NODE_GROUPS = AwsOperation("eks", "ListNodegroups", "nodegroups")
NODE_GROUP = AwsOperation("eks", "DescribeNodegroup")
POD_IDENTITIES = AwsOperation("eks", "ListPodIdentityAssociations", "associations")
INSIGHTS = AwsOperation("eks", "ListInsights", "insights")
INSIGHT = AwsOperation("eks", "DescribeInsight")
INSIGHTS_REFRESH = AwsOperation("eks", "DescribeInsightsRefresh")

INSTANCES = AwsOperation("ec2", "DescribeInstances", "Reservations", at_once=200)
IMAGES = AwsOperation("ec2", "DescribeImages", "Images", at_once=200)
TEMPLATE_VERSIONS = AwsOperation("ec2", "DescribeLaunchTemplateVersions", "LaunchTemplateVersions")
METADATA_DEFAULTS = AwsOperation("ec2", "GetInstanceMetadataDefaults")
SUBNETS = AwsOperation("ec2", "DescribeSubnets", "Subnets", at_once=200)
PARAMETER = AwsOperation("ssm", "GetParameter")
QUOTA = AwsOperation("service-quotas", "GetServiceQuota", needs=("servicequotas:GetServiceQuota",))
SCALING_GROUPS = AwsOperation("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups", at_once=100)
LAUNCH_CONFIGURATIONS = AwsOperation("autoscaling", "DescribeLaunchConfigurations", "LaunchConfigurations", at_once=50)
TARGET_HEALTH = AwsOperation(
    "elbv2",
    "DescribeTargetHealth",
    needs=("elasticloadbalancing:DescribeTargetHealth",),
)

POD_IDENTITY = AwsOperation("eks", "DescribePodIdentityAssociation")
SPOT_REQUESTS = AwsOperation("ec2", "DescribeSpotInstanceRequests", "SpotInstanceRequests", at_once=200)
QUEUE_URL = AwsOperation("sqs", "GetQueueUrl")
QUEUE_ATTRIBUTES = AwsOperation("sqs", "GetQueueAttributes")
RULES = AwsOperation("events", "ListRules", "Rules")
RULE_TARGETS = AwsOperation("events", "ListTargetsByRule", "Targets")
KEY = AwsOperation("kms", "DescribeKey")
KEY_POLICY = AwsOperation("kms", "GetKeyPolicy")
ROLE = AwsOperation("iam", "GetRole")
ATTACHED_POLICIES = AwsOperation("iam", "ListAttachedRolePolicies", "AttachedPolicies")
POLICY = AwsOperation("iam", "GetPolicy")
POLICY_VERSION = AwsOperation("iam", "GetPolicyVersion")
ROLE_POLICIES = AwsOperation("iam", "ListRolePolicies", "PolicyNames")
ROLE_POLICY = AwsOperation("iam", "GetRolePolicy")
METRICS = AwsOperation("cloudwatch", "GetMetricData", "MetricDataResults")
EVENTS = AwsOperation("cloudtrail", "LookupEvents")
"""A page at a time: it answers two requests a second."""
INSTANCE_PROFILE = AwsOperation("iam", "GetInstanceProfile")
ACCESS_REPORT = AwsOperation("iam", "GenerateServiceLastAccessedDetails")
"""IAM makes a report, and changes nothing."""
LAST_ACCESSED = AwsOperation("iam", "GetServiceLastAccessedDetails")

REFRESH_INSIGHTS = AwsOperation("eks", "StartInsightsRefresh")
"""It changes nothing in the cluster; nobody asks it but who was told to."""

UPDATE_ADDON = AwsOperation("eks", "UpdateAddon")
MODIFY_METADATA = AwsOperation("ec2", "ModifyInstanceMetadataOptions")
CREATE_TEMPLATE_VERSION = AwsOperation("ec2", "CreateLaunchTemplateVersion")
UPDATE_NODE_GROUP = AwsOperation("eks", "UpdateNodegroupVersion")
"""These change something; nobody asks them but who carries an update or a fix out."""

ALL: tuple[AwsOperation, ...] = (
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
    EVENTS,
    INSTANCE_PROFILE,
    ACCESS_REPORT,
    LAST_ACCESSED,
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
