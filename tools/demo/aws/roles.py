"""IAM's answers about the role of the demo's Karpenter: it may launch instances, and has no permissions for a queue."""

from __future__ import annotations

import json

from tools.demo.aws.names import Params, at, role
from tools.demo.meta import Json, suffix
from tools.demo.world import CLUSTER, REGION

ROLE = f"{CLUSTER}-karpenter"
_INLINE = "karpenter-controller"


def _policy() -> Json:
    launch = ["ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags"]
    end = ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
    read = ["ec2:Describe*", "ssm:GetParameter", "pricing:GetProducts", "eks:DescribeCluster"]
    only_here: Json = {"StringEquals": {"aws:RequestedRegion": REGION}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "AllowLaunches", "Effect": "Allow", "Action": launch, "Resource": "*", "Condition": only_here},
            {"Sid": "AllowEnds", "Effect": "Allow", "Action": end, "Resource": "*", "Condition": only_here},
            {"Sid": "AllowReads", "Effect": "Allow", "Action": read, "Resource": "*"},
            {
                "Sid": "AllowPassingRole",
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": role(f"{CLUSTER}-node"),
            },
        ],
    }


def get_role(params: Params) -> Json:
    """It has no permissions boundary."""
    said = {"Path": "/", "RoleName": ROLE, "RoleId": f"AROA{suffix(17, 'role', ROLE).upper()}", "Arn": role(ROLE)}
    return {"Role": {**said, "CreateDate": at(70_000), "MaxSessionDuration": 3600}}


def list_role_policies(params: Params) -> Json:
    """One inline policy."""
    return {"PolicyNames": [_INLINE], "IsTruncated": False}


def list_attached_role_policies(params: Params) -> Json:
    return {"AttachedPolicies": [], "IsTruncated": False}


def get_role_policy(params: Params) -> Json:
    return {"RoleName": ROLE, "PolicyName": _INLINE, "PolicyDocument": json.dumps(_policy())}
