"""Metadata options of the tests' EC2: where a new instance's come from, and how they are changed, asked for, told."""

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


def template(ec2: Any, name: str = "own", **options: Any) -> str:
    data = {"InstanceType": "m5.large", "ImageId": "ami-12345678", "MetadataOptions": options}
    return str(
        ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)["LaunchTemplate"][
            "LaunchTemplateId"
        ]
    )


def test_what_nobody_says_is_ec2s_default(ec2: Any) -> None:
    assert options(ec2, run(ec2)) == {
        "State": "applied",
        "HttpTokens": "optional",
        "HttpPutResponseHopLimit": 1,
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "disabled",
        "InstanceMetadataTags": "disabled",
    }


def test_an_image_may_want_version_2(aws: World, ec2: Any) -> None:
    image = aws.publish_image("amazon-eks-node-al2023-x86_64-standard-1.30-v20261101", "v2.0")
    assert ec2.describe_images(Owners=["amazon"])["Images"][0]["ImdsSupport"] == "v2.0"
    assert tokens_and_hops(ec2, run(ec2, image)) == REQUIRED
    own = ec2.register_image(Name="own", ImdsSupport="v2.0")["ImageId"]
    assert tokens_and_hops(ec2, run(ec2, own)) == REQUIRED
    old = aws.publish_image("amazon-eks-node-1.24-v20221101")
    assert tokens_and_hops(ec2, run(ec2, old)) == OPTIONAL


def test_the_accounts_default_goes_before_the_image(aws: World, ec2: Any) -> None:
    image = aws.publish_image("al2023", "v2.0")
    assert ec2.get_instance_metadata_defaults()["AccountLevel"] == {"ManagedBy": "account"}
    assert ec2.modify_instance_metadata_defaults(HttpTokens="optional")["Return"] is True
    assert ec2.get_instance_metadata_defaults()["AccountLevel"] == {"HttpTokens": "optional", "ManagedBy": "account"}
    known = run(ec2, image)
    assert tokens_and_hops(ec2, known) == {"HttpTokens": "optional", "HttpPutResponseHopLimit": 2}

    ec2.modify_instance_metadata_defaults(HttpTokens="no-preference", HttpPutResponseHopLimit=3)
    assert tokens_and_hops(ec2, run(ec2, image)) == {"HttpTokens": "required", "HttpPutResponseHopLimit": 3}
    assert tokens_and_hops(ec2, known)["HttpPutResponseHopLimit"] == 2, "running instances keep theirs"

    ec2.modify_instance_metadata_defaults(HttpPutResponseHopLimit=-1)
    assert tokens_and_hops(ec2, run(ec2, image)) == REQUIRED


def test_defaults_are_of_one_account_and_region(aws: World, ec2: Any) -> None:
    ec2.modify_instance_metadata_defaults(HttpTokens="required")
    for other in (aws.client("ec2", region="us-east-1"), aws.client("ec2", account="444455556666")):
        assert other.get_instance_metadata_defaults()["AccountLevel"] == {"ManagedBy": "account"}
        assert tokens_and_hops(other, run(other)) == OPTIONAL


def test_a_template_goes_before_the_account_and_the_call_before_both(ec2: Any) -> None:
    ec2.modify_instance_metadata_defaults(HttpTokens="optional", HttpPutResponseHopLimit=5)
    own = {"LaunchTemplateId": template(ec2, HttpTokens="required")}
    assert tokens_and_hops(ec2, run(ec2, "", LaunchTemplate=own)) == {
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 5,
    }
    called = run(ec2, "", LaunchTemplate=own, MetadataOptions={"HttpPutResponseHopLimit": 2})
    assert tokens_and_hops(ec2, called) == REQUIRED


def test_an_auto_scaling_group_launches_its_version_of_the_template(aws: World, ec2: Any) -> None:
    number = template(ec2, HttpTokens="optional")
    ec2.create_launch_template_version(
        LaunchTemplateId=number, SourceVersion="1", LaunchTemplateData={"MetadataOptions": REQUIRED}
    )
    aws.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="eks-blue",
        MinSize=2,
        MaxSize=2,
        AvailabilityZones=["ap-northeast-2a"],
        LaunchTemplate={"LaunchTemplateId": number, "Version": "2"},
    )
    launched = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]]
    assert [{k: i["MetadataOptions"][k] for k in REQUIRED} for i in launched] == [REQUIRED, REQUIRED]
    tags = {tag["Key"]: tag["Value"] for tag in launched[0]["Tags"]}
    assert tags["aws:ec2launchtemplate:version"] == "2"


def test_a_change_names_only_what_changes(ec2: Any) -> None:
    instance = run(ec2, MetadataOptions={"HttpTokens": "required", "InstanceMetadataTags": "enabled"})
    told = ec2.modify_instance_metadata_options(InstanceId=instance, HttpPutResponseHopLimit=2)
    assert told["InstanceMetadataOptions"]["State"] == "pending"
    assert options(ec2, instance) == {
        "State": "applied",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 2,
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "disabled",
        "InstanceMetadataTags": "enabled",
    }


def test_a_change_may_stay_pending(aws: World, ec2: Any) -> None:
    instance = run(ec2)
    aws.hold_metadata()
    ec2.modify_instance_metadata_options(InstanceId=instance, HttpTokens="required")
    assert options(ec2, instance)["State"] == "pending"
    aws.hold_metadata(False)
    assert options(ec2, instance)["State"] == "applied"


def test_a_dry_run_changes_nothing(ec2: Any) -> None:
    instance = run(ec2)
    for call, asked in (
        (ec2.modify_instance_metadata_options, {"InstanceId": instance, "HttpTokens": "required"}),
        (ec2.modify_instance_metadata_defaults, {"HttpTokens": "required"}),
    ):
        with pytest.raises(ClientError) as refused:
            call(**asked, DryRun=True)
        assert refused.value.response["Error"]["Code"] == "DryRunOperation"
    assert tokens_and_hops(ec2, instance) == tokens_and_hops(ec2, run(ec2)) == OPTIONAL


def test_an_instance_that_is_not_there(ec2: Any) -> None:
    with pytest.raises(ClientError) as refused:
        ec2.modify_instance_metadata_options(InstanceId="i-0123456789abcdef0", HttpTokens="required")
    assert refused.value.response["Error"]["Code"] == "InvalidInstanceID.NotFound"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("http-tokens", "required"),
        ("http-put-response-hop-limit", "2"),
        ("http-endpoint", "disabled"),
        ("instance-metadata-tags", "enabled"),
    ],
)
def test_instances_are_found_by_their_options(ec2: Any, name: str, value: str) -> None:
    run(ec2)
    own = {**REQUIRED, "HttpEndpoint": "disabled", "InstanceMetadataTags": "enabled"}
    wanted = run(ec2, MetadataOptions=own)
    found = ec2.describe_instances(Filters=[{"Name": f"metadata-options.{name}", "Values": [value]}])
    assert [i["InstanceId"] for r in found["Reservations"] for i in r["Instances"]] == [wanted]


def test_a_version_built_on_another_has_its_parameters(ec2: Any) -> None:
    number = template(ec2, HttpTokens="required")
    for source in ({"SourceVersion": "1"}, {}):
        ec2.create_launch_template_version(
            LaunchTemplateId=number, **source, LaunchTemplateData={"MetadataOptions": {"HttpPutResponseHopLimit": 2}}
        )
    told = ec2.describe_launch_template_versions(LaunchTemplateId=number, Versions=["1", "2", "3"])
    first, built, alone = (v["LaunchTemplateData"] for v in told["LaunchTemplateVersions"])
    assert (first["InstanceType"], first["MetadataOptions"]) == ("m5.large", {"HttpTokens": "required"})
    assert (built["InstanceType"], built["MetadataOptions"]) == ("m5.large", {"HttpPutResponseHopLimit": 2})
    assert "InstanceType" not in alone


def test_all_versions_of_a_template_are_told(ec2: Any) -> None:
    number = template(ec2)
    for _ in range(19):
        ec2.create_launch_template_version(LaunchTemplateId=number, LaunchTemplateData={"InstanceType": "m5.large"})
    told = ec2.describe_launch_template_versions(LaunchTemplateId=number)
    assert sorted(v["VersionNumber"] for v in told["LaunchTemplateVersions"]) == list(range(1, 21))


def test_the_order_is_the_same_for_all_fields() -> None:
    from tests.aws.world.instance_metadata import EC2_DEFAULT, IMAGE_V2, effective

    assert effective({}, {}, {}, False) == EC2_DEFAULT
    assert effective({}, {}, {}, True) == {**EC2_DEFAULT, **IMAGE_V2}
    assert effective({"HttpTokens": None}, {"HttpTokens": "optional"}, {"ManagedBy": "account"}, True) == {
        **EC2_DEFAULT,
        "HttpPutResponseHopLimit": 2,
    }
