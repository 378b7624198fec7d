"""Metadata options of the tests' EC2: where a new instance's come from, as fixes are judged by what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from tests.aws.world.server import World

OPTIONAL = {"HttpTokens": "optional", "HttpPutResponseHopLimit": 1}
REQUIRED = {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}


@pytest.fixture
def ec2(aws: World) -> Any:
    return aws.client("ec2")


def options(ec2: Any, instance: str) -> dict[str, Any]:
    (reservation,) = ec2.describe_instances(InstanceIds=[instance])["Reservations"]
    return dict(reservation["Instances"][0]["MetadataOptions"])


def run(ec2: Any, image: str = "ami-12345678", **more: Any) -> str:
    asked = {"MinCount": 1, "MaxCount": 1, **more}
    return str(ec2.run_instances(**({"ImageId": image} if image else {}), **asked)["Instances"][0]["InstanceId"])


def tokens_and_hops(ec2: Any, instance: str) -> dict[str, Any]:
    known = options(ec2, instance)
    return {name: known[name] for name in OPTIONAL}


def test_call_template_account_image_and_ec2_in_this_order(aws: World, ec2: Any) -> None:
    old, new = aws.publish_image("amazon-eks-node-1.24-v20221101"), aws.publish_image("al2023", "v2.0")
    assert [tokens_and_hops(ec2, run(ec2, image)) for image in (old, new)] == [OPTIONAL, REQUIRED]
    ec2.modify_instance_metadata_defaults(HttpTokens="optional", HttpPutResponseHopLimit=5)
    assert tokens_and_hops(ec2, run(ec2, new)) == {"HttpTokens": "optional", "HttpPutResponseHopLimit": 5}
    data = {"InstanceType": "m5.large", "ImageId": new, "MetadataOptions": {"HttpTokens": "required"}}
    ec2.create_launch_template(LaunchTemplateName="own", LaunchTemplateData=data)
    own = {"LaunchTemplateName": "own"}
    assert tokens_and_hops(ec2, run(ec2, "", LaunchTemplate=own)) == {**REQUIRED, "HttpPutResponseHopLimit": 5}
    called = run(ec2, "", LaunchTemplate=own, MetadataOptions={"HttpPutResponseHopLimit": 2})
    assert tokens_and_hops(ec2, called) == REQUIRED
    ec2.modify_instance_metadata_defaults(HttpTokens="no-preference", HttpPutResponseHopLimit=-1)
    assert tokens_and_hops(ec2, run(ec2, new)) == REQUIRED
    assert tokens_and_hops(ec2, called) == REQUIRED, "running instances keep theirs"


def test_a_change_names_only_what_changes_and_a_dry_run_none(ec2: Any) -> None:
    instance = run(ec2, MetadataOptions={"HttpTokens": "required", "InstanceMetadataTags": "enabled"})
    before = options(ec2, instance)
    with pytest.raises(ClientError, match="DryRunOperation"):
        ec2.modify_instance_metadata_options(InstanceId=instance, HttpTokens="optional", DryRun=True)
    told = ec2.modify_instance_metadata_options(InstanceId=instance, HttpPutResponseHopLimit=2)
    assert told["InstanceMetadataOptions"]["State"] == "pending"
    assert options(ec2, instance) == {**before, "HttpPutResponseHopLimit": 2}
