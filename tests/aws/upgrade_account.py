"""An account that answers all requests of an upgrade, with any number of node groups; tests change answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from kubectl_eksdoc.aws.asking import VerifiedCluster, describe_cluster
from kubectl_eksdoc.model.eks import CallerIdentity, EksCluster
from kubectl_eksdoc.model.kinds import CheckNeed, UpgradeQuery
from kubectl_eksdoc.model.machines import QUOTAS
from tests.aws.answers import ACCOUNT, Json, Scripted, a_cluster

NOW = datetime(2026, 11, 20, 8, 51, tzinfo=timezone.utc)
SUBNETS = ["subnet-a", "subnet-b"]

WHOSE = {
    CheckNeed.VERSIONS: {"eks:DescribeClusterVersions"},
    CheckNeed.ADDONS: {"eks:ListAddons", "eks:DescribeAddon", "eks:DescribeAddonVersions"},
    CheckNeed.INSIGHTS: {"eks:ListInsights", "eks:DescribeInsight"},
    CheckNeed.CLUSTER_UPDATES: {"eks:ListUpdates", "eks:DescribeUpdate"},
    CheckNeed.NODE_GROUPS: {"eks:ListNodegroups", "eks:DescribeNodegroup"},
    CheckNeed.GROUP_UPDATES: {"eks:ListNodegroups", "eks:ListUpdates", "eks:DescribeUpdate"},
    CheckNeed.TEMPLATES: {"eks:ListNodegroups", "eks:DescribeNodegroup", "ec2:DescribeLaunchTemplateVersions"},
    CheckNeed.RELEASES: {"eks:ListNodegroups", "eks:DescribeNodegroup", "ssm:GetParameter"},
    CheckNeed.SUBNETS: {"ec2:DescribeSubnets"},
    CheckNeed.QUOTAS: {"service-quotas:GetServiceQuota", "cloudwatch:GetMetricData"},
}
"""Of each need, the questions that it asks by itself, and no other."""

SHORT: Json = {
    "id": "1",
    "name": "Kubelet version skew",
    "category": "UPGRADE_READINESS",
    "kubernetesVersion": "1.34",
    "lastRefreshTime": NOW - timedelta(hours=5),
    "lastTransitionTime": NOW - timedelta(days=3),
    "insightStatus": {"status": "WARNING", "reason": "they differ"},
}


def an_insight(**more: Any) -> Json:
    return {**SHORT, **more}


def a_group(name: str, **more: Any) -> Json:
    return {
        "nodegroupName": name,
        "version": "1.33",
        "releaseVersion": "1.33.1-20250610",
        "status": "ACTIVE",
        "capacityType": "ON_DEMAND",
        "amiType": "AL2023_x86_64_STANDARD",
        "instanceTypes": ["m6i.xlarge"],
        "subnets": SUBNETS,
        "scalingConfig": {"minSize": 1, "maxSize": 9, "desiredSize": 4},
        "updateConfig": {"maxUnavailable": 1, "updateStrategy": "DEFAULT"},
        "launchTemplate": {"id": f"lt-{name}", "name": name, "version": "5"},
        "health": {"issues": []},
        **more,
    }


def a_template_version(asked: Json, number: int, default: bool) -> Json:
    data = {"ImageId": "ami-own"}
    ident = asked.get("LaunchTemplateId", "lt-x")
    return {"LaunchTemplateId": ident, "VersionNumber": number, "DefaultVersion": default, "LaunchTemplateData": data}


def _templates(asked: Json) -> Json:
    numbers = [7, 6] if asked["Versions"] == ["$Latest", "$Default"] else [int(asked["Versions"][0])]
    return {"LaunchTemplateVersions": [a_template_version(asked, each, each == 6) for each in numbers]}


def _subnets(asked: Json) -> Json:
    (kept,) = asked["Filters"]
    free = {"AvailableIpAddressCount": 500, "CidrBlock": "10.0.0.0/20"}
    return {"Subnets": [{"SubnetId": each, "AvailabilityZone": each[-1], **free} for each in kept["Values"]]}


def _quota(asked: Json) -> Json:
    used = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": {"Resource": "vCPU"}}
    counted = {"UsageMetric": used} if asked["ServiceCode"] == "ec2" else {}
    return {"Quota": {"QuotaCode": asked["QuotaCode"], "Value": 256.0, **counted}}


def _figures(asked: Json) -> Json:
    return {"MetricDataResults": [{"Id": each["Id"], "Values": [40.0, 72.0]} for each in asked["MetricDataQueries"]]}


def _update(asked: Json) -> Json:
    said = {"id": asked["updateId"], "type": "VersionUpdate", "status": "Successful"}
    return {"update": {**said, "createdAt": NOW - timedelta(days=int(asked["updateId"]))}}


def account(groups: int = 1, **changed: Any) -> Scripted:
    """An account; `changed`: other answers, by operation."""
    answers: dict[str, Any] = {
        "eks:DescribeClusterVersions": {"clusterVersions": [{"clusterVersion": "1.34"}]},
        "eks:ListAddons": {"addons": ["coredns"]},
        "eks:DescribeAddon": {"addon": {"addonName": "coredns"}},
        "eks:DescribeAddonVersions": {"addons": [{"addonName": "coredns"}]},
        "eks:ListInsights": lambda asked: {
            "insights": [SHORT] if asked["filter"]["categories"] == ["UPGRADE_READINESS"] else []
        },
        "eks:DescribeInsight": {"insight": {**SHORT, "recommendation": "upgrade them"}},
        "eks:ListUpdates": {"updateIds": [str(each) for each in range(1, 13)]},
        "eks:DescribeUpdate": _update,
        "eks:ListNodegroups": {"nodegroups": [f"g{each:02}" for each in range(groups)]},
        "eks:DescribeNodegroup": lambda asked: {"nodegroup": a_group(asked["nodegroupName"])},
        "ec2:DescribeLaunchTemplateVersions": _templates,
        "ssm:GetParameter": {"Parameter": {"Value": "1.33.5-20251106"}},
        "ec2:DescribeSubnets": _subnets,
        "service-quotas:GetServiceQuota": _quota,
        "cloudwatch:GetMetricData": _figures,
    }
    by_operation = {name.partition(":")[2]: name for name in answers}
    return Scripted(answers | {by_operation[name]: answer for name, answer in changed.items()})


def cluster(**more: Any) -> EksCluster:
    said = a_cluster(resourcesVpcConfig={"vpcId": "vpc-1", "subnetIds": SUBNETS}, **more)
    return describe_cluster(Scripted({"eks:DescribeCluster": said}), "demo-shop")


def sees(aws: Any) -> VerifiedCluster:
    return VerifiedCluster(aws, cluster(), CallerIdentity(ACCOUNT, "arn:ann"), "by its endpoint")


def wanted(*needs: CheckNeed, steps: tuple[str, ...] = ("1.34",)) -> UpgradeQuery:
    return UpgradeQuery(frozenset(needs), "1.33", "1.34", steps, NOW)


ALL_QUOTAS = {each.code for each in QUOTAS}


def count(aws: Scripted) -> Mapping[str, int]:
    """The number of requests, by operation such as ``eks:DescribeCluster``."""
    names = [name for name, _ in aws.asked]
    return {name: names.count(name) for name in sorted(set(names))}
