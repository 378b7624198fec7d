"""AWS API operations that the tool calls, each with the IAM action that allows it. A new operation is one line here.

Source of actions and of paging: the service authorization reference, and botocore 1.44.5's models.
"""

from __future__ import annotations

from kubectl_eksdoc.frozen import frozen


@frozen
class AwsOperation:
    """`service` and `operation` by botocore's names; `paged_list`: the list in the answer that is paged, "" if the
    answer has one page. `needs_no_permission`: any credentials may call it. `needs`: the actions, if they differ from
    the operation; `batch_size`: how many identifiers one request takes, 0 if it is about one object. `lost`: what is
    not known, or not done, without its answer, in every command."""

    service: str
    operation: str
    paged_list: str = ""
    needs_no_permission: bool = False
    needs: tuple[str, ...] = ()
    batch_size: int = 0
    lost: str = ""

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions as in IAM policies: ``eks:DescribeCluster``."""
        return () if self.needs_no_permission else self.needs or (f"{self.service}:{self.operation}",)

    @property
    def action(self) -> str:
        """The action to name if it is missing."""
        return next(iter(self.actions), "")


_ROLE_UNKNOWN = "what the role of Karpenter may do is unknown"
_KEY_UNKNOWN = "where the queue has a KMS key: whether EventBridge may use it is unknown"
_IDENTITY_UNKNOWN = "the role of a Karpenter whose service account names none is unknown"
_INSIGHTS_UNKNOWN = "what EKS itself says about the upgrade is unknown"
_ROLE_USE_UNKNOWN = "what the role of nodes was used for is unknown"
_LAST_ACCESSED = f"`--evidence iam`: {_ROLE_USE_UNKNOWN}"
_NEXT_NODE_UNKNOWN = "what the next node of a managed node group will have is unknown"

CALLER = AwsOperation("sts", "GetCallerIdentity", needs_no_permission=True)

CLUSTER = AwsOperation("eks", "DescribeCluster", lost="nothing that AWS says is believed: all of it is unknown")
CLUSTER_VERSIONS = AwsOperation(
    "eks",
    "DescribeClusterVersions",
    "clusterVersions",
    lost="until when EKS supports a version is taken from a table of ours, and may be old",
)
ADDONS = AwsOperation("eks", "ListAddons", "addons", lost="which add-ons of EKS there are is unknown")
ADDON = AwsOperation("eks", "DescribeAddon", lost="which version an add-on has, and how it is configured, is unknown")
ADDON_VERSIONS = AwsOperation("eks", "DescribeAddonVersions", "addons", lost="which versions EKS offers is unknown")
ADDON_CONFIGURATION = AwsOperation(
    "eks", "DescribeAddonConfiguration", lost="which values a version of an add-on takes is unknown"
)
UPDATES = AwsOperation(
    "eks",
    "ListUpdates",
    "updateIds",
    lost="which updates there were is unknown, and one whose answer was lost is not found again",
)
UPDATE = AwsOperation(
    "eks", "DescribeUpdate", lost="what an update was asked to do, how far it is, and why it failed, is unknown"
)
NODE_GROUPS = AwsOperation("eks", "ListNodegroups", "nodegroups", lost="which managed node groups there are is unknown")
NODE_GROUP = AwsOperation("eks", "DescribeNodegroup", lost=_NEXT_NODE_UNKNOWN)
POD_IDENTITIES = AwsOperation(
    "eks",
    "ListPodIdentityAssociations",
    "associations",
    lost=f"pods that would get a role at their next start are taken to have none; {_IDENTITY_UNKNOWN}",
)
INSIGHTS = AwsOperation("eks", "ListInsights", "insights", lost=_INSIGHTS_UNKNOWN)
INSIGHT = AwsOperation("eks", "DescribeInsight", lost=_INSIGHTS_UNKNOWN)
INSIGHTS_REFRESH = AwsOperation(
    "eks", "DescribeInsightsRefresh", lost="whether EKS is refreshing its insights is unknown"
)

INSTANCES = AwsOperation(
    "ec2", "DescribeInstances", "Reservations", batch_size=200, lost="what pods find on the nodes that run is unknown"
)
IMAGES = AwsOperation(
    "ec2", "DescribeImages", "Images", batch_size=200, lost="what a launch template leaves to the AMI is unknown"
)
TEMPLATE_VERSIONS = AwsOperation(
    "ec2",
    "DescribeLaunchTemplateVersions",
    "LaunchTemplateVersions",
    lost="the next node of a group with a launch template of its owner's is unknown",
)
METADATA_DEFAULTS = AwsOperation(
    "ec2", "GetInstanceMetadataDefaults", lost="what a launch template leaves to the account is unknown"
)
SUBNETS = AwsOperation(
    "ec2", "DescribeSubnets", "Subnets", batch_size=200, lost="how many addresses the subnets have left is unknown"
)
PARAMETER = AwsOperation("ssm", "GetParameter", lost="which AMI releases are the latest is unknown")
QUOTA = AwsOperation(
    "service-quotas",
    "GetServiceQuota",
    needs=("servicequotas:GetServiceQuota",),
    lost="how many more instances the account may have is unknown",
)
SCALING_GROUPS = AwsOperation(
    "autoscaling",
    "DescribeAutoScalingGroups",
    "AutoScalingGroups",
    batch_size=100,
    lost="the next node of eksctl's and of self-managed groups is unknown",
)
LAUNCH_CONFIGURATIONS = AwsOperation(
    "autoscaling",
    "DescribeLaunchConfigurations",
    "LaunchConfigurations",
    batch_size=50,
    lost="the next node of a group with a launch configuration is unknown",
)
TARGET_HEALTH = AwsOperation(
    "elbv2",
    "DescribeTargetHealth",
    needs=("elasticloadbalancing:DescribeTargetHealth",),
    lost="the health of the affected targets is unknown",
)

POD_IDENTITY = AwsOperation("eks", "DescribePodIdentityAssociation", lost=_IDENTITY_UNKNOWN)
SPOT_REQUESTS = AwsOperation(
    "ec2",
    "DescribeSpotInstanceRequests",
    "SpotInstanceRequests",
    batch_size=200,
    lost="a notice is known by Events of the cluster only",
)
QUEUE_URL = AwsOperation("sqs", "GetQueueUrl", lost="whether there is a queue is unknown")
QUEUE_ATTRIBUTES = AwsOperation("sqs", "GetQueueAttributes", lost="the queue, its policy and its key are unknown")
RULES = AwsOperation("events", "ListRules", "Rules", lost="the rules of EventBridge are unknown")
RULE_TARGETS = AwsOperation(
    "events", "ListTargetsByRule", "Targets", lost="where the rules of EventBridge send is unknown"
)
KEY = AwsOperation("kms", "DescribeKey", lost=_KEY_UNKNOWN)
KEY_POLICY = AwsOperation("kms", "GetKeyPolicy", lost=_KEY_UNKNOWN)
ROLE = AwsOperation("iam", "GetRole", lost=f"{_ROLE_UNKNOWN}: it may have a permissions boundary")
ATTACHED_POLICIES = AwsOperation("iam", "ListAttachedRolePolicies", "AttachedPolicies", lost=_ROLE_UNKNOWN)
POLICY = AwsOperation("iam", "GetPolicy", lost=_ROLE_UNKNOWN)
POLICY_VERSION = AwsOperation("iam", "GetPolicyVersion", lost=_ROLE_UNKNOWN)
ROLE_POLICIES = AwsOperation("iam", "ListRolePolicies", "PolicyNames", lost=_ROLE_UNKNOWN)
ROLE_POLICY = AwsOperation("iam", "GetRolePolicy", lost=_ROLE_UNKNOWN)
METRICS = AwsOperation(
    "cloudwatch",
    "GetMetricData",
    "MetricDataResults",
    lost=("failed deliveries, use of quotas, fetches from the queue, and requests without a token, are unknown"),
)
EVENTS = AwsOperation("cloudtrail", "LookupEvents", lost=f"`--evidence cloudtrail`: {_ROLE_USE_UNKNOWN}")
"""One page at a time: the API answers two requests a second."""
INSTANCE_PROFILE = AwsOperation("iam", "GetInstanceProfile", lost=_LAST_ACCESSED)
ACCESS_REPORT = AwsOperation("iam", "GenerateServiceLastAccessedDetails", lost=_LAST_ACCESSED)
"""IAM generates a report, and changes nothing."""
LAST_ACCESSED = AwsOperation("iam", "GetServiceLastAccessedDetails", lost=_LAST_ACCESSED)

REFRESH_INSIGHTS = AwsOperation(
    "eks", "StartInsightsRefresh", lost="EKS does not refresh its insights: they keep their age"
)
"""It changes nothing in the cluster; it is called only if the user requests it."""

UPDATE_ADDON = AwsOperation("eks", "UpdateAddon", lost="`--apply` changes no add-on")
MODIFY_METADATA = AwsOperation(
    "ec2", "ModifyInstanceMetadataOptions", lost="`--fix instance-options` cannot be carried out"
)
CREATE_TEMPLATE_VERSION = AwsOperation(
    "ec2", "CreateLaunchTemplateVersion", lost="`--fix template-version` cannot be carried out"
)
UPDATE_NODE_GROUP = AwsOperation(
    "eks", "UpdateNodegroupVersion", lost="`--fix template-version` makes a version that nothing uses, and ends there"
)
"""These operations change resources; they are called only to carry out an update or a fix."""

ALL: tuple[AwsOperation, ...] = tuple(each for each in list(vars().values()) if isinstance(each, AwsOperation))
