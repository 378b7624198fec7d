"""Lists in pages: the official paginators get all of them, however small the pages are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.examples import one_in

if TYPE_CHECKING:
    from tests.aws.world.server import World

Make = Callable[[Any], Any]
ROLE = "arn:aws:iam::111122223333:role/any"


def _addons(aws: World) -> None:
    for name in ("vpc-cni", "coredns", "kube-proxy"):
        if name == "kube-proxy":
            aws.eks().cluster("prod").version = "1.28"
        aws.client("eks").create_addon(clusterName="prod", addonName=name)


def _updates(aws: World) -> None:
    aws.eks().ends_when_asked = 1
    for version in ("1.25", "1.26", "1.27"):
        made = aws.client("eks").update_cluster_version(name="prod", version=version)["update"]["id"]
        aws.client("eks").describe_update(name="prod", updateId=made)


def _insights(aws: World) -> None:
    for number in range(3):
        aws.eks().found("prod", {"name": f"insight {number}", "insightStatus": {"status": "PASSING"}})


def _groups(aws: World) -> None:
    for name in ("a", "b", "c"):
        aws.client("eks").create_nodegroup(clusterName="prod", nodegroupName=name, subnets=["subnet-1"], nodeRole=ROLE)


def _identities(aws: World) -> None:
    for name in ("a", "b", "c"):
        aws.client("eks").create_pod_identity_association(
            clusterName="prod", namespace="default", serviceAccount=name, roleArn=ROLE
        )


def _instances(aws: World) -> None:
    for _ in range(3):
        aws.client("ec2").run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1)


def _versions(aws: World) -> None:
    ec2 = aws.client("ec2")
    ec2.create_launch_template(LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "m5.large"})
    for _ in range(2):
        ec2.create_launch_template_version(LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "m5.large"})


def _images(aws: World) -> None:
    for name in ("a", "b", "c"):
        aws.publish_image(name)


def _scaling(aws: World) -> None:
    aws.client("ec2").create_launch_template(LaunchTemplateName="own", LaunchTemplateData={"ImageId": "ami-12345678"})
    for name in ("a", "b", "c"):
        aws.client("autoscaling").create_auto_scaling_group(
            AutoScalingGroupName=name,
            MinSize=0,
            MaxSize=1,
            AvailabilityZones=["ap-northeast-2a"],
            LaunchTemplate={"LaunchTemplateName": "own"},
        )


def _rules(aws: World) -> None:
    for name in ("a", "b", "c"):
        aws.client("events").put_rule(Name=name, EventPattern='{"source": ["aws.ec2"]}')


def _targets(aws: World) -> None:
    _rules(aws)
    arn = "arn:aws:sqs:ap-northeast-2:111122223333:q"
    targets = [{"Id": name, "Arn": arn} for name in ("x", "y", "z")]
    aws.client("events").put_targets(Rule="a", Targets=targets)


def _nothing(_aws: World) -> None:
    """The catalogue has enough of these."""


LISTS: list[tuple[str, str, str, dict[str, Any], Make]] = [
    ("eks", "list_addons", "addons", {"clusterName": "prod"}, _addons),
    ("eks", "describe_addon_versions", "addons", {}, _nothing),
    ("eks", "describe_cluster_versions", "clusterVersions", {}, _nothing),
    ("eks", "list_updates", "updateIds", {"name": "prod"}, _updates),
    ("eks", "list_insights", "insights", {"clusterName": "prod", "filter": {"statuses": ["PASSING"]}}, _insights),
    ("eks", "list_nodegroups", "nodegroups", {"clusterName": "prod"}, _groups),
    ("eks", "list_pod_identity_associations", "associations", {"clusterName": "prod"}, _identities),
    ("ec2", "describe_instances", "Reservations", {}, _instances),
    ("ec2", "describe_launch_template_versions", "LaunchTemplateVersions", {"LaunchTemplateName": "own"}, _versions),
    ("ec2", "describe_images", "Images", {"Owners": ["amazon"]}, _images),
    ("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", {}, _scaling),
    ("events", "list_rules", "Rules", {}, _rules),
    ("events", "list_targets_by_rule", "Targets", {"Rule": "a"}, _targets),
]


@pytest.mark.parametrize(
    ("service", "operation", "key", "asked", "make"), one_in(3, LISTS), ids=[row[1] for row in LISTS]
)
def test_three_pages(
    aws: World, eks: Any, service: str, operation: str, key: str, asked: dict[str, Any], make: Make
) -> None:
    make(aws)
    client = aws.client(service)
    whole = getattr(client, operation)(**asked)
    assert len(whole[key]) >= 3
    assert not whole.get("nextToken") and not whole.get("NextToken")

    aws.pages(1)
    pages = list(client.get_paginator(operation).paginate(**asked))
    assert len(pages) == len(whole[key])
    assert [item for page in pages for item in page[key]] == whole[key]


def test_a_size_that_is_asked_for_is_kept(aws: World, eks: Any) -> None:
    _addons(aws)
    first = eks.list_addons(clusterName="prod", maxResults=2)
    assert first["addons"] == ["coredns", "kube-proxy"]
    rest = eks.list_addons(clusterName="prod", maxResults=2, nextToken=first["nextToken"])
    assert (rest["addons"], "nextToken" in rest) == (["vpc-cni"], False)
    aws.pages(1, "eks:ListAddons")
    assert eks.list_addons(clusterName="prod", maxResults=2)["addons"] == ["coredns"]
    assert len(eks.describe_addon_versions()["addons"]) == 3


def test_a_token_of_another_question_is_refused(aws: World, eks: Any) -> None:
    _addons(aws)
    token = eks.list_addons(clusterName="prod", maxResults=1)["nextToken"]
    eks.create_cluster(name="other", roleArn=ROLE, resourcesVpcConfig={})
    for asked in ({"clusterName": "other", "nextToken": token}, {"clusterName": "prod", "nextToken": "x"}):
        with pytest.raises(eks.exceptions.InvalidParameterException, match="Invalid nextToken"):
            eks.list_addons(**asked)


def test_a_size_out_of_bounds_is_refused(eks: Any) -> None:
    with pytest.raises(eks.exceptions.InvalidParameterException, match="1-100"):
        eks.list_addons(clusterName="prod", maxResults=101)


def test_what_is_named_comes_whole(aws: World, eks: Any) -> None:
    """EC2 refuses MaxResults beside ids, so nobody makes these pages small."""
    _instances(aws)
    aws.pages(1)
    ec2 = aws.client("ec2")
    pages = ec2.get_paginator("describe_instances").paginate()
    ids = [i["InstanceId"] for page in pages for r in page["Reservations"] for i in r["Instances"]]
    assert len(ec2.describe_instances(InstanceIds=ids)["Reservations"]) == 3
