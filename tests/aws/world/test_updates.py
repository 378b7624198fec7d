"""Updates of cluster and node groups in the tests' EKS; they end when a test wants, not by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World


def test_a_cluster_goes_up_one_minor_when_its_update_ends(aws: World, eks: Any) -> None:
    update = eks.update_cluster_version(name="prod", version="1.25")["update"]
    assert (update["status"], update["type"]) == ("InProgress", "VersionUpdate")
    assert {"type": "Version", "value": "1.25"} in update["params"]
    cluster = eks.describe_cluster(name="prod")["cluster"]
    assert (cluster["version"], cluster["status"]) == ("1.24", "UPDATING")

    aws.eks().finish(update["id"])
    eks.get_waiter("cluster_active").wait(name="prod")
    assert eks.describe_cluster(name="prod")["cluster"]["version"] == "1.25"
    assert eks.describe_update(name="prod", updateId=update["id"])["update"]["status"] == "Successful"


def test_a_failed_update_of_a_cluster_leaves_its_version(aws: World, eks: Any) -> None:
    update = eks.update_cluster_version(name="prod", version="1.25")["update"]["id"]
    aws.eks().fail(update, "InsufficientFreeAddresses", "no free addresses", "subnet-1")
    cluster = eks.describe_cluster(name="prod")["cluster"]
    assert (cluster["version"], cluster["status"]) == ("1.24", "ACTIVE")
    (error,) = eks.describe_update(name="prod", updateId=update)["update"]["errors"]
    assert error["errorCode"] == "InsufficientFreeAddresses"


@pytest.mark.parametrize("version", ["1.24", "1.26", "1.23"])
def test_other_versions_than_the_next_are_refused(eks: Any, version: str) -> None:
    says = f"Unsupported Kubernetes minor version update from 1.24 to {version}"
    with pytest.raises(eks.exceptions.InvalidParameterException, match=says):
        eks.update_cluster_version(name="prod", version=version)


def test_a_version_eks_has_never_had_is_refused(eks: Any) -> None:
    with pytest.raises(eks.exceptions.InvalidParameterException, match="unsupported Kubernetes version 1.99"):
        eks.update_cluster_version(name="prod", version="1.99")


def test_one_update_of_a_cluster_at_a_time(eks: Any) -> None:
    first = eks.update_cluster_version(name="prod", version="1.25")["update"]["id"]
    says = f"Cannot VersionUpdate because cluster prod currently has update {first} in progress"
    with pytest.raises(eks.exceptions.ResourceInUseException, match=says):
        eks.update_cluster_version(name="prod", version="1.25")


def test_a_change_of_configuration_answers_with_an_update(aws: World, eks: Any) -> None:
    update = eks.update_cluster_config(name="prod", upgradePolicy={"supportType": "STANDARD"})["update"]
    assert (update["status"], update["type"]) == ("InProgress", "UpgradePolicyUpdate")
    assert eks.describe_cluster(name="prod")["cluster"]["upgradePolicy"] == {"supportType": "EXTENDED"}
    aws.eks().finish(update["id"])
    assert eks.describe_cluster(name="prod")["cluster"]["upgradePolicy"] == {"supportType": "STANDARD"}

    update = eks.update_cluster_config(name="prod", resourcesVpcConfig={"endpointPublicAccess": False})["update"]
    aws.eks().finish(update["id"])
    vpc = eks.describe_cluster(name="prod")["cluster"]["resourcesVpcConfig"]
    assert (vpc["endpointPublicAccess"], vpc["subnetIds"]) == (False, ["subnet-1"])


def test_one_kind_of_change_at_a_time(eks: Any) -> None:
    with pytest.raises(eks.exceptions.InvalidParameterException, match="Only one type of update"):
        eks.update_cluster_config(
            name="prod", upgradePolicy={"supportType": "STANDARD"}, resourcesVpcConfig={"endpointPublicAccess": True}
        )


def test_a_node_group_follows_its_cluster(aws: World, eks: Any, group: str) -> None:
    aws.eks().finish(eks.update_cluster_version(name="prod", version="1.25")["update"]["id"])
    update = eks.update_nodegroup_version(clusterName="prod", nodegroupName=group)["update"]
    assert (update["type"], update["params"][0]) == ("VersionUpdate", {"type": "Version", "value": "1.25"})
    assert eks.describe_nodegroup(clusterName="prod", nodegroupName=group)["nodegroup"]["status"] == "UPDATING"
    aws.eks().finish(update["id"])
    eks.get_waiter("nodegroup_active").wait(clusterName="prod", nodegroupName=group)
    known = eks.describe_nodegroup(clusterName="prod", nodegroupName=group)["nodegroup"]
    assert (known["version"], known["releaseVersion"][:5]) == ("1.25", "1.25.")


def test_a_node_group_may_fail_to_evict(aws: World, eks: Any, group: str) -> None:
    update = eks.update_nodegroup_version(clusterName="prod", nodegroupName=group, force=False)["update"]["id"]
    aws.eks().fail(update, "PodEvictionFailure", "Reached max retries while trying to evict pods", "ip-10-0-0-1")
    known = eks.describe_nodegroup(clusterName="prod", nodegroupName=group)["nodegroup"]
    assert (known["status"], known["health"]["issues"][0]["code"]) == ("ACTIVE", "PodEvictionFailure")
    told = eks.describe_update(name="prod", nodegroupName=group, updateId=update)["update"]
    assert (told["status"], told["errors"][0]["resourceIds"]) == ("Failed", ["ip-10-0-0-1"])


def test_a_node_group_is_never_newer_than_its_cluster(eks: Any, group: str) -> None:
    with pytest.raises(eks.exceptions.InvalidParameterException, match="newer"):
        eks.update_nodegroup_version(clusterName="prod", nodegroupName=group, version="1.25")


def test_a_template_only_for_groups_made_with_one(aws: World, eks: Any, group: str) -> None:
    ec2 = aws.client("ec2")
    ec2.create_launch_template(LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "m5.large"})
    data = {"InstanceType": "m5.xlarge"}
    ec2.create_launch_template_version(LaunchTemplateName="own", SourceVersion="1", LaunchTemplateData=data)
    own = {"name": "own", "version": "2"}
    with pytest.raises(eks.exceptions.InvalidParameterException, match="created without one"):
        eks.update_nodegroup_version(clusterName="prod", nodegroupName=group, launchTemplate=own)

    eks.create_nodegroup(
        clusterName="prod",
        nodegroupName="own",
        subnets=["subnet-1"],
        nodeRole="arn:aws:iam::111122223333:role/any",
        launchTemplate={"name": "own", "version": "1"},
        version="1.24",
    )
    with pytest.raises(eks.exceptions.InvalidParameterException, match="cannot change the launch template"):
        other = {"name": "other", "version": "1"}
        eks.update_nodegroup_version(clusterName="prod", nodegroupName="own", launchTemplate=other)
    update = eks.update_nodegroup_version(clusterName="prod", nodegroupName="own", launchTemplate=own)["update"]
    assert {"type": "LaunchTemplateVersion", "value": "2"} in update["params"]
    aws.eks().finish(update["id"])
    known = eks.describe_nodegroup(clusterName="prod", nodegroupName="own")["nodegroup"]
    assert (known["launchTemplate"]["version"], known["launchTemplate"]["name"]) == ("2", "own")


def test_an_ami_that_is_not_pinned_moves(aws: World, eks: Any) -> None:
    """And one that the template names stays, so that no release may be given."""
    ec2 = aws.client("ec2")
    for name, data in (("own", {"InstanceType": "m5.large"}), ("image", {"ImageId": "ami-12345678"})):
        ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
        eks.create_nodegroup(
            clusterName="prod",
            nodegroupName=name,
            subnets=["subnet-1"],
            nodeRole="arn:aws:iam::111122223333:role/any",
            launchTemplate={"name": name, "version": "1"},
            version="1.24",
            releaseVersion="1.24.7-20221101",
        )

    def release(name: str, **more: str) -> str:
        again = {"name": name, "version": "1"}
        update = eks.update_nodegroup_version(clusterName="prod", nodegroupName=name, launchTemplate=again, **more)
        aws.eks().finish(update["update"]["id"])
        return str(eks.describe_nodegroup(clusterName="prod", nodegroupName=name)["nodegroup"]["releaseVersion"])

    assert release("own", version="1.24", releaseVersion="1.24.7-20221101") == "1.24.7-20221101"
    assert release("own") == "1.24.0-20261101"
    assert release("image") == "1.24.7-20221101"
    with pytest.raises(eks.exceptions.InvalidParameterException, match="AMI of your own"):
        release("image", version="1.24", releaseVersion="1.24.7-20221101")


def test_updates_are_listed_newest_first_and_by_what_they_are_of(aws: World, eks: Any, group: str) -> None:
    def ended(update: dict[str, Any]) -> str:
        aws.eks().finish(update["update"]["id"])
        return str(update["update"]["id"])

    eks.create_addon(clusterName="prod", addonName="vpc-cni", addonVersion="v1.12.0-eksbuild.1")
    ups = [ended(eks.update_cluster_version(name="prod", version=v)) for v in ("1.25", "1.26")]
    of_group = ended(eks.update_nodegroup_version(clusterName="prod", nodegroupName=group))
    of_addon = ended(eks.update_addon(clusterName="prod", addonName="vpc-cni", configurationValues="{}"))
    assert eks.list_updates(name="prod")["updateIds"] == ups[::-1]
    assert eks.list_updates(name="prod", nodegroupName=group)["updateIds"] == [of_group]
    assert eks.list_updates(name="prod", addonName="vpc-cni")["updateIds"] == [of_addon]
    with pytest.raises(eks.exceptions.ResourceNotFoundException, match="No update found"):
        eks.describe_update(name="prod", updateId=of_addon)
    with pytest.raises(eks.exceptions.InvalidParameterException, match="Only one of"):
        eks.list_updates(name="prod", addonName="vpc-cni", nodegroupName=group)


def test_updates_of_what_is_not_there(eks: Any) -> None:
    for more in ({"name": "other"}, {"name": "prod", "nodegroupName": "x"}, {"name": "prod", "addonName": "x"}):
        with pytest.raises(eks.exceptions.ResourceNotFoundException):
            eks.list_updates(**more)


def test_an_update_may_end_when_it_has_been_asked_for_often_enough(aws: World, eks: Any) -> None:
    aws.eks().ends_when_asked = 3
    update = eks.update_cluster_version(name="prod", version="1.25")["update"]["id"]
    seen = [eks.describe_update(name="prod", updateId=update)["update"]["status"] for _ in range(4)]
    assert seen == ["InProgress", "InProgress", "Successful", "Successful"]


def test_an_update_ends_once(aws: World, eks: Any) -> None:
    update = eks.update_cluster_version(name="prod", version="1.25")["update"]["id"]
    aws.eks().finish(update)
    with pytest.raises(ValueError, match="is Successful already"):
        aws.eks().fail(update, "Unknown", "too late")
