"""New clusters and node groups of the tests' EKS have the defaults that EKS has today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

ROLE = "arn:aws:iam::111122223333:role/any"


def created(eks: Any, **more: Any) -> dict[str, Any]:
    eks.create_nodegroup(clusterName="prod", nodegroupName="new", subnets=["subnet-1"], nodeRole=ROLE, **more)
    return dict(eks.describe_nodegroup(clusterName="prod", nodegroupName="new")["nodegroup"])


def test_a_cluster_is_of_the_newest_version(eks: Any) -> None:
    eks.create_cluster(name="new", roleArn=ROLE, resourcesVpcConfig={})
    cluster = eks.describe_cluster(name="new")["cluster"]
    assert (cluster["version"], cluster["upgradePolicy"]) == ("1.36", {"supportType": "EXTENDED"})
    assert cluster["arn"] == "arn:aws:eks:ap-northeast-2:111122223333:cluster/new"


@pytest.mark.parametrize(("version", "ami"), [("1.29", "AL2_x86_64"), ("1.30", "AL2023_x86_64_STANDARD")])
def test_a_node_group_is_of_its_clusters_version(aws: World, eks: Any, version: str, ami: str) -> None:
    aws.eks().cluster("prod").version = version
    group = created(eks)
    assert (group["version"], group["amiType"], group["health"]) == (version, ami, {"issues": []})
    assert (group["updateConfig"], group["diskSize"]) == ({"maxUnavailable": 1}, 20)
    assert "remoteAccess" not in group


def test_what_is_asked_for_is_kept(eks: Any) -> None:
    asked = {
        "version": "1.23",
        "releaseVersion": "1.23.9-20220926",
        "amiType": "BOTTLEROCKET_x86_64",
        "updateConfig": {"maxUnavailablePercentage": 33},
        "remoteAccess": {"ec2SshKey": "own"},
        "capacityType": "SPOT",
    }
    group = created(eks, **asked)
    assert {key: group[key] for key in asked} == asked


def test_a_template_has_its_say(aws: World, eks: Any) -> None:
    aws.client("ec2").create_launch_template(LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "m5.large"})
    group = created(eks, launchTemplate={"name": "own"})
    assert (group["launchTemplate"]["name"], group["launchTemplate"]["version"]) == ("own", "$Default")
    assert group["launchTemplate"]["id"].startswith("lt-")
    assert not {"diskSize", "instanceTypes", "remoteAccess"} & group.keys()


def test_a_change_of_a_node_group_leaves_an_update(eks: Any, group: str) -> None:
    known = {"clusterName": "prod", "nodegroupName": group}
    update = eks.update_nodegroup_config(
        **known, scalingConfig={"desiredSize": 3, "maxSize": 4}, labels={"addOrUpdateLabels": {"a": "b"}}
    )["update"]
    assert (update["status"], update["type"]) == ("Successful", "ConfigUpdate")
    assert sorted(param["type"] for param in update["params"]) == ["DesiredSize", "LabelsToAdd", "MaxSize"]
    assert eks.list_updates(name="prod", nodegroupName=group)["updateIds"] == [update["id"]]
    told = eks.describe_update(name="prod", nodegroupName=group, updateId=update["id"])["update"]
    assert told == update
    changed = eks.describe_nodegroup(**known)["nodegroup"]
    assert (changed["scalingConfig"]["desiredSize"], changed["labels"]) == (3, {"a": "b"})
    assert created(eks)["scalingConfig"]["desiredSize"] == 2, "another group keeps the default"
