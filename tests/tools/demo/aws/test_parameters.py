"""Ids, names and filters of a question are honoured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.demo.aws.questions import NAMED, OURS, instances, templates
from tools.demo.aws.demo_aws import DemoAws

AWS = DemoAws()
ALL = instances(AWS)
BLUE, GREEN, SPOT = ALL[:8], ALL[8:12], ALL[12:]


def found(name: str, *values: str) -> list[str]:
    """The ids of the instances that one filter keeps."""
    return ids(instances(AWS, Filters=[{"Name": name, "Values": list(values)}]))


def ids(of: list[dict[str, Any]]) -> list[str]:
    return [each["InstanceId"] for each in of]


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("tag:eks:nodegroup-name", ("blue",), BLUE),
        ("tag:eks:nodegroup-name", ("blue", "green"), [*BLUE, *GREEN]),
        ("tag:eks:nodegroup-name", ("g*",), GREEN),
        ("tag:eks:nodegroup-name", ("red",), []),
        ("tag:karpenter.sh/nodepool", ("general",), SPOT),
        ("tag:kubernetes.io/cluster/demo-shop", ("owned",), ALL),
        ("tag-key", ("karpenter.sh/*",), SPOT),
        ("instance-lifecycle", ("spot",), SPOT),
        ("instance-id", (ALL[3]["InstanceId"], "i-0"), ALL[3:4]),
        ("private-ip-address", (ALL[5]["PrivateIpAddress"],), ALL[5:6]),
        ("private-dns-name", (ALL[5]["PrivateDnsName"],), ALL[5:6]),
        ("image-id", (BLUE[0]["ImageId"],), BLUE),
        ("availability-zone", (BLUE[1]["Placement"]["AvailabilityZone"],), [BLUE[1], BLUE[4], BLUE[7], GREEN[1]]),
        ("subnet-id", (BLUE[1]["SubnetId"],), [BLUE[1], BLUE[4], BLUE[7], GREEN[1]]),
        ("instance-type", ("m6i.xlarge",), ALL),
        ("instance-state-name", ("running", "pending"), ALL),
        ("instance-state-name", ("stopped",), []),
        ("vpc-id", (ALL[0]["VpcId"],), ALL),
        ("metadata-options.http-tokens", ("required",), [*GREEN, *SPOT]),
        ("metadata-options.http-put-response-hop-limit", ("2",), BLUE),
        ("metadata-options.http-endpoint", ("disabled",), []),
    ],
)
def test_a_filter_keeps(name: str, values: tuple[str, ...], wanted: list[dict[str, Any]]) -> None:
    assert found(name, *values) == ids(wanted)


def test_every_filter_must_hold_and_ids_too() -> None:
    filters = [
        {"Name": "tag:eks:nodegroup-name", "Values": ["blue", "green"]},
        {"Name": "metadata-options.http-tokens", "Values": ["required"]},
    ]
    assert ids(instances(AWS, Filters=filters)) == ids(GREEN)
    asked = [BLUE[0]["InstanceId"], GREEN[0]["InstanceId"]]
    assert ids(instances(AWS, Filters=filters, InstanceIds=asked)) == asked[1:]


def versions_of(**params: Any) -> list[str]:
    """The ids of the templates whose versions are told."""
    told = AWS.ask("ec2", "DescribeLaunchTemplateVersions", params)["LaunchTemplateVersions"]
    return [each["LaunchTemplateId"] for each in told]


def test_a_launch_template_goes_by_id_and_name_and_its_versions_by_number_and_word() -> None:
    for each in templates(AWS):
        ident, name = each["LaunchTemplateId"], each["LaunchTemplateName"]
        for versions in ([], ["1"], ["$Latest"], ["$Default"], ["$Latest", "$Default"]):
            assert versions_of(LaunchTemplateId=ident, Versions=versions) == [ident]
            assert versions_of(LaunchTemplateName=name, Versions=versions) == [ident]
    assert len(versions_of(Versions=["$Default"])) == 3


def addon_versions(**params: Any) -> list[str]:
    """The names of the add-ons that are offered."""
    return [each["addonName"] for each in AWS.ask("eks", "DescribeAddonVersions", params)["addons"]]


def test_addons_are_offered_by_name_type_publisher_and_owner() -> None:
    assert addon_versions(addonName="coredns") == ["coredns"]
    assert addon_versions(types=["storage", "security"]) == ["aws-ebs-csi-driver", "eks-pod-identity-agent"]
    assert addon_versions(owners=["community"]) == ["metrics-server"]
    assert "metrics-server" not in addon_versions(publishers=["eks"])
    assert len(addon_versions()) == 6


def test_without_a_version_all_that_are_supported_are_told() -> None:
    (told,) = AWS.ask("eks", "DescribeAddonVersions", {"addonName": "coredns"})["addons"]
    fits = {b["addonVersion"]: [f["clusterVersion"] for f in b["compatibilities"]] for b in told["addonVersions"]}
    assert fits["v1.11.4-eksbuild.2"] == ["1.33", "1.32", "1.31"]
    assert fits["v1.14.3-eksbuild.11"] == ["1.36", "1.35"]


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        ({}, ["1.36", "1.35", "1.34", "1.33", "1.32", "1.31"]),
        ({"versionStatus": "STANDARD_SUPPORT"}, ["1.36", "1.35", "1.34"]),
        ({"versionStatus": "EXTENDED_SUPPORT"}, ["1.33", "1.32", "1.31"]),
        ({"status": "extended-support"}, ["1.33", "1.32", "1.31"]),
        ({"versionStatus": "UNSUPPORTED"}, ["1.30", "1.29", "1.28"]),
        ({"clusterVersions": ["1.30", "1.34"]}, ["1.34", "1.30"]),
        ({"defaultOnly": True}, ["1.35"]),
        ({"clusterType": "eks-local-outposts"}, []),
    ],
)
def test_cluster_versions_are_kept_by(params: dict[str, Any], wanted: list[str]) -> None:
    told = AWS.ask("eks", "DescribeClusterVersions", params)["clusterVersions"]
    assert [each["clusterVersion"] for each in told] == wanted


def test_with_all_of_them_the_unsupported_are_told() -> None:
    told = AWS.ask("eks", "DescribeClusterVersions", {"includeAll": True})["clusterVersions"]
    assert len(told) == 9


@pytest.mark.parametrize(
    ("kept", "number"),
    [
        ({}, 7),
        ({"categories": ["UPGRADE_READINESS"]}, 7),
        ({"categories": ["MISCONFIGURATION", "ROLLBACK_READINESS"]}, 0),
        ({"kubernetesVersions": ["1.35"]}, 1),
        ({"statuses": ["ERROR"]}, 3),
        ({"statuses": ["ERROR", "WARNING"], "kubernetesVersions": ["1.34"]}, 5),
        ({"statuses": ["UNKNOWN"]}, 0),
    ],
)
def test_insights_are_kept_by(kept: dict[str, Any], number: int) -> None:
    assert len(AWS.ask("eks", "ListInsights", {**OURS, "filter": kept})["insights"]) == number


def test_updates_are_those_of_what_is_named() -> None:
    asked = (NAMED, {**NAMED, "addonName": "vpc-cni"}, {**NAMED, "nodegroupName": "blue"})
    found_ids = [AWS.ask("eks", "ListUpdates", params)["updateIds"] for params in asked]
    assert [len(each) for each in found_ids] == [1, 2, 2]
    assert len({ident for each in found_ids for ident in each}) == 5
    assert AWS.ask("eks", "ListUpdates", {**NAMED, "nodegroupName": "green"}) == {"updateIds": []}


def test_images_are_kept_by_owner_and_filter() -> None:
    def images(**params: Any) -> int:
        return len(AWS.ask("ec2", "DescribeImages", params)["Images"])

    assert images(Owners=["amazon"]) == images(Owners=["602401143452"]) == 2
    assert images(Owners=["self"]) == 0
    assert images(Filters=[{"Name": "name", "Values": ["amazon-eks-node-al2023-*"]}]) == 1


def test_scaling_groups_go_by_name_and_tag_and_one_that_is_not_there_is_left_out() -> None:
    def groups(**params: Any) -> list[str]:
        told = AWS.ask("autoscaling", "DescribeAutoScalingGroups", params)["AutoScalingGroups"]
        return [each["AutoScalingGroupName"] for each in told]

    blue, green = groups()
    assert groups(AutoScalingGroupNames=[green, "no"]) == [green]
    assert groups(Filters=[{"Name": "tag:eks:nodegroup-name", "Values": ["blue"]}]) == [blue]
    assert groups(Filters=[{"Name": "tag:eks:cluster-name", "Values": ["demo-shop"]}]) == [blue, green]


def test_rules_go_by_the_beginning_of_their_name_and_attributes_by_theirs() -> None:
    rules = AWS.ask("events", "ListRules", {"NamePrefix": "shop-n", "EventBusName": "default"})["Rules"]
    assert [each["Name"] for each in rules] == ["shop-nightly-report"]
    url = AWS.ask("sqs", "GetQueueUrl", {"QueueName": "shop-orders"})["QueueUrl"]
    asked = {"QueueUrl": url, "AttributeNames": ["QueueArn", "Policy"]}
    arn = "arn:aws:sqs:ap-northeast-2:111122223333:shop-orders"
    assert AWS.ask("sqs", "GetQueueAttributes", asked) == {"Attributes": {"QueueArn": arn}}
    assert AWS.ask("sqs", "GetQueueAttributes", {"QueueUrl": url}) == {}
