"""The demo's AWS account behind one question: which service, which operation, with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubectl_eksdoc.embedded.demo.aws import (
    addons,
    clusters,
    images,
    insights,
    instances,
    launch_templates,
    node_groups,
    queues,
    scaling_groups,
    updates,
)
from kubectl_eksdoc.embedded.demo.aws.names import Params
from kubectl_eksdoc.embedded.demo.aws.refused import Refused
from kubectl_eksdoc.embedded.demo.meta import Json, suffix
from kubectl_eksdoc.embedded.demo.world import ACCOUNT

Answer = Callable[[Params], Json]

_CALLER = "oncall"


def _get_caller_identity(params: Params) -> Json:
    """Somebody on call, by a role."""
    user = f"AROA{suffix(17, 'role', _CALLER).upper()}:demo"
    return {"Account": ACCOUNT, "UserId": user, "Arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/{_CALLER}/demo"}


ANSWERS: Mapping[str, Mapping[str, Answer]] = {
    "autoscaling": {"DescribeAutoScalingGroups": scaling_groups.describe_auto_scaling_groups},
    "ec2": {
        "DescribeImages": images.describe_images,
        "DescribeInstances": instances.describe_instances,
        "DescribeLaunchTemplateVersions": launch_templates.describe_launch_template_versions,
        "GetInstanceMetadataDefaults": images.get_instance_metadata_defaults,
    },
    "eks": {
        "DescribeAddon": addons.describe_addon,
        "DescribeAddonConfiguration": addons.describe_addon_configuration,
        "DescribeAddonVersions": addons.describe_addon_versions,
        "DescribeCluster": clusters.describe_cluster,
        "DescribeClusterVersions": clusters.describe_cluster_versions,
        "DescribeInsight": insights.describe_insight,
        "DescribeNodegroup": node_groups.describe_nodegroup,
        "DescribePodIdentityAssociation": addons.describe_pod_identity_association,
        "DescribeUpdate": updates.describe_update,
        "ListAddons": addons.list_addons,
        "ListInsights": insights.list_insights,
        "ListNodegroups": node_groups.list_nodegroups,
        "ListPodIdentityAssociations": addons.list_pod_identity_associations,
        "ListUpdates": updates.list_updates,
    },
    "events": {"ListRules": queues.list_rules, "ListTargetsByRule": queues.list_targets_by_rule},
    "sqs": {"GetQueueAttributes": queues.get_queue_attributes, "GetQueueUrl": queues.get_queue_url},
    "ssm": {"GetParameter": images.get_parameter},
    "sts": {"GetCallerIdentity": _get_caller_identity},
}
"""By service and operation, as botocore names them."""


class DemoAws:
    """An account with the demo's cluster in it; it can be read, and not changed."""

    def ask(self, service: str, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer in botocore's response shape, all pages in one, without ResponseMetadata.

        The caller owns it: each call builds anew. Raises `Refused` as the service would.
        """
        answer = ANSWERS.get(service, {}).get(operation)
        if answer is None:
            raise Refused("InvalidAction", f"The action {operation} is not valid for this web service.")
        return answer(params)
