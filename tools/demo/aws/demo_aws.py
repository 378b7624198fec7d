"""The demo's AWS account as one function: service, operation, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tools.demo.aws import (
    addons,
    clusters,
    figures,
    images,
    insights,
    instances,
    launch_templates,
    node_groups,
    pod_identities,
    queues,
    quotas,
    role_uses,
    roles,
    scaling_groups,
    subnets,
    updates,
)
from tools.demo.aws.names import Params
from tools.demo.aws.pools import DEMO, Estate
from tools.demo.meta import Json, suffix
from tools.demo.world import ACCOUNT

Answer = Callable[[Params], Json]

_CALLER = "oncall"


def _get_caller_identity(params: Params) -> Json:
    """An on-call engineer, by a role."""
    user = f"AROA{suffix(17, 'role', _CALLER).upper()}:demo"
    return {"Account": ACCOUNT, "UserId": user, "Arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/{_CALLER}/demo"}


_OF_ESTATE: Mapping[str, Mapping[str, Callable[[Estate, Params], Json]]] = {
    "autoscaling": {"DescribeAutoScalingGroups": scaling_groups.describe_auto_scaling_groups},
    "cloudtrail": {"LookupEvents": role_uses.lookup_events},
    "ec2": {
        "DescribeInstances": instances.describe_instances,
        "DescribeLaunchTemplateVersions": launch_templates.describe_launch_template_versions,
        "GetInstanceMetadataDefaults": images.get_instance_metadata_defaults,
    },
    "eks": {
        "DescribeNodegroup": node_groups.describe_nodegroup,
        "DescribePodIdentityAssociation": pod_identities.describe_pod_identity_association,
        "DescribeUpdate": updates.describe_update,
        "ListNodegroups": node_groups.list_nodegroups,
        "ListUpdates": updates.list_updates,
        "ListPodIdentityAssociations": pod_identities.list_pod_identity_associations,
    },
    "iam": {
        "GenerateServiceLastAccessedDetails": role_uses.generate_service_last_accessed_details,
        "GetInstanceProfile": role_uses.get_instance_profile,
        "GetServiceLastAccessedDetails": role_uses.get_service_last_accessed_details,
    },
}
_ALWAYS: Mapping[str, Mapping[str, Answer]] = {
    "cloudwatch": {"GetMetricData": figures.get_metric_data},
    "ec2": {
        "DescribeImages": images.describe_images,
        "DescribeSpotInstanceRequests": instances.describe_spot_instance_requests,
        "DescribeSubnets": subnets.describe_subnets,
    },
    "eks": {
        "DescribeAddon": addons.describe_addon,
        "DescribeAddonConfiguration": addons.describe_addon_configuration,
        "DescribeAddonVersions": addons.describe_addon_versions,
        "DescribeCluster": clusters.describe_cluster,
        "DescribeClusterVersions": clusters.describe_cluster_versions,
        "DescribeInsight": insights.describe_insight,
        "ListAddons": addons.list_addons,
        "ListInsights": insights.list_insights,
    },
    "events": {"ListRules": queues.list_rules, "ListTargetsByRule": queues.list_targets_by_rule},
    "iam": {
        "GetRole": roles.get_role,
        "GetRolePolicy": roles.get_role_policy,
        "ListAttachedRolePolicies": roles.list_attached_role_policies,
        "ListRolePolicies": roles.list_role_policies,
    },
    "service-quotas": {"GetServiceQuota": quotas.get_service_quota},
    "sqs": {"GetQueueAttributes": queues.get_queue_attributes, "GetQueueUrl": queues.get_queue_url},
    "ssm": {"GetParameter": images.get_parameter},
    "sts": {"GetCallerIdentity": _get_caller_identity},
}


def answers(estate: Estate) -> Mapping[str, Mapping[str, Answer]]:
    """By service and operation, as botocore names them."""
    made: dict[str, dict[str, Answer]] = {service: dict(named) for service, named in _ALWAYS.items()}
    for service, named in _OF_ESTATE.items():
        made.setdefault(service, {}).update({name: partial(answer, estate) for name, answer in named.items()})
    return made


ANSWERS = answers(DEMO)


class DemoAws:
    """An account with the demo's cluster; it can be read, and not changed. `estate`: its machines."""

    def __init__(self, estate: Estate = DEMO) -> None:
        self._answers = ANSWERS if estate is DEMO else answers(estate)

    def ask(self, service: str, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer in botocore's response shape, all pages in one, without ResponseMetadata.

        The caller owns it: each call builds a new one.
        """
        return self._answers[service][operation](params)
