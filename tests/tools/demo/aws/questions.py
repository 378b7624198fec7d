"""Every request that the demo's account answers, with parameters taken from other answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import NOW
from tools.demo.aws.demo_aws import DemoAws
from tools.demo.aws.quotas import QUOTAS
from tools.demo.aws.roles import ROLE
from tools.demo.world import CLUSTER

Question = tuple[str, str, dict[str, Any]]

OURS = {"clusterName": CLUSTER}
NAMED = {"name": CLUSTER}


def every(aws: DemoAws | None = None) -> list[Question]:
    """Each operation with only its required parameters, for each resource, and with filters."""
    aws = aws or DemoAws()
    return [*_of_eks(aws), *_of_addons(aws), *_of_ec2(aws), *_of_the_rest(aws)]


def _of_eks(aws: DemoAws) -> Iterator[Question]:
    yield "eks", "DescribeCluster", NAMED
    yield "eks", "DescribeClusterVersions", {}
    yield "eks", "ListNodegroups", OURS
    for name in aws.ask("eks", "ListNodegroups", OURS)["nodegroups"]:
        yield "eks", "DescribeNodegroup", {**OURS, "nodegroupName": name}
        yield from _of_updates(aws, {**NAMED, "nodegroupName": name})
    yield from _of_updates(aws, NAMED)
    yield "eks", "ListInsights", OURS
    for each in aws.ask("eks", "ListInsights", OURS)["insights"]:
        yield "eks", "DescribeInsight", {**OURS, "id": each["id"]}
    yield "eks", "ListPodIdentityAssociations", OURS


def _of_updates(aws: DemoAws, params: dict[str, Any]) -> Iterator[Question]:
    yield "eks", "ListUpdates", params
    for ident in aws.ask("eks", "ListUpdates", params)["updateIds"]:
        yield "eks", "DescribeUpdate", {**params, "updateId": ident}


def _of_addons(aws: DemoAws) -> Iterator[Question]:
    yield "eks", "ListAddons", OURS
    for name in aws.ask("eks", "ListAddons", OURS)["addons"]:
        yield "eks", "DescribeAddon", {**OURS, "addonName": name}
        yield from _of_updates(aws, {**NAMED, "addonName": name})
        yield "eks", "DescribeAddonVersions", {"addonName": name, "kubernetesVersion": "1.33"}
    yield "eks", "DescribeAddonVersions", {}
    for addon in aws.ask("eks", "DescribeAddonVersions", {})["addons"]:
        for build in addon["addonVersions"]:
            params = {"addonName": addon["addonName"], "addonVersion": build["addonVersion"]}
            yield "eks", "DescribeAddonConfiguration", params


def _of_ec2(aws: DemoAws) -> Iterator[Question]:
    yield "ec2", "DescribeInstances", {}
    yield "ec2", "DescribeImages", {}
    yield "ec2", "DescribeLaunchTemplateVersions", {"Versions": ["$Latest", "$Default"]}
    for each in templates(aws):
        params = {"LaunchTemplateId": each["LaunchTemplateId"], "Versions": ["$Latest"]}
        yield "ec2", "DescribeLaunchTemplateVersions", params
    yield "ec2", "GetInstanceMetadataDefaults", {}
    yield "ec2", "DescribeSubnets", {}


def _of_the_rest(aws: DemoAws) -> Iterator[Question]:
    yield "autoscaling", "DescribeAutoScalingGroups", {}
    yield "events", "ListRules", {}
    for rule in aws.ask("events", "ListRules", {})["Rules"]:
        yield "events", "ListTargetsByRule", {"Rule": rule["Name"]}
    yield "ec2", "DescribeSpotInstanceRequests", {}
    for operation in ("GetRole", "ListRolePolicies", "ListAttachedRolePolicies"):
        yield "iam", operation, {"RoleName": ROLE}
    for name in aws.ask("iam", "ListRolePolicies", {"RoleName": ROLE})["PolicyNames"]:
        yield "iam", "GetRolePolicy", {"RoleName": ROLE, "PolicyName": name}
    yield from _of_node_roles(aws)
    of_queue = {"Namespace": "AWS/SQS", "MetricName": "NumberOfEmptyReceives"}
    query = {"Id": "m0", "MetricStat": {"Metric": of_queue, "Period": 3600, "Stat": "Sum"}}
    yield "cloudwatch", "GetMetricData", {"MetricDataQueries": [query], "StartTime": NOW, "EndTime": NOW}
    for quota in QUOTAS:
        asked = {"ServiceCode": quota.service, "QuotaCode": quota.code}
        yield "service-quotas", "GetServiceQuota", asked
        used = aws.ask("service-quotas", "GetServiceQuota", asked)["Quota"].get("UsageMetric")
        if used:
            named = [{"Name": name, "Value": value} for name, value in used["MetricDimensions"].items()]
            counted = {"Namespace": used["MetricNamespace"], "MetricName": used["MetricName"], "Dimensions": named}
            query = {"Id": "m0", "MetricStat": {"Metric": counted, "Period": 300, "Stat": "Maximum"}}
            yield "cloudwatch", "GetMetricData", {"MetricDataQueries": [query], "StartTime": NOW, "EndTime": NOW}
    yield "sqs", "GetQueueUrl", {"QueueName": "shop-orders"}
    url = aws.ask("sqs", "GetQueueUrl", {"QueueName": "shop-orders"})["QueueUrl"]
    yield "sqs", "GetQueueAttributes", {"QueueUrl": url}
    top = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended"
    yield "ssm", "GetParameter", {"Name": top}
    yield "ssm", "GetParameter", {"Name": f"{top}/image_id"}
    yield "sts", "GetCallerIdentity", {}


def _of_node_roles(aws: DemoAws) -> Iterator[Question]:
    for instance in instances(aws):
        by_session = [{"AttributeKey": "Username", "AttributeValue": instance["InstanceId"]}]
        yield "cloudtrail", "LookupEvents", {"LookupAttributes": by_session, "StartTime": NOW, "EndTime": NOW}
    for arn in sorted({instance["IamInstanceProfile"]["Arn"] for instance in instances(aws)}):
        named = {"InstanceProfileName": arn.rpartition("/")[2]}
        yield "iam", "GetInstanceProfile", named
        (role,) = aws.ask("iam", "GetInstanceProfile", named)["InstanceProfile"]["Roles"]
        yield "iam", "GenerateServiceLastAccessedDetails", {"Arn": role["Arn"]}
        job = aws.ask("iam", "GenerateServiceLastAccessedDetails", {"Arn": role["Arn"]})["JobId"]
        yield "iam", "GetServiceLastAccessedDetails", {"JobId": job}


def instances(aws: DemoAws, **params: Any) -> list[dict[str, Any]]:
    """The instances that DescribeInstances finds."""
    reservations = aws.ask("ec2", "DescribeInstances", params)["Reservations"]
    return [each for reservation in reservations for each in reservation["Instances"]]


def templates(aws: DemoAws) -> list[dict[str, Any]]:
    """The newest version of every launch template."""
    return list(aws.ask("ec2", "DescribeLaunchTemplateVersions", {"Versions": ["$Latest"]})["LaunchTemplateVersions"])
