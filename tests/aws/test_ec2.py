"""Answers of EC2 and EKS about instances and launch templates become facts; a refusal leaves the other facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.amazon.metadata_service import resolve_launch_options
from kubectl_eksdoc.aws import ec2
from kubectl_eksdoc.aws.asking import VerifiedCluster, verify_cluster
from kubectl_eksdoc.errors import AwsDenied
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Image,
    Instance,
    MetadataOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from tests.aws.answers import Scripted, sees
from tests.aws.test_live import live, prod

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
DENIED = AwsDenied("IAM does not allow it", missing="ec2:DescribeInstances")


@pytest.fixture
def of(prod: World) -> VerifiedCluster:
    aws = live(prod)
    found = verify_cluster(aws, aws.access)
    prod.forget_calls()
    return found


def a_template(client: Any, **options: Any) -> TemplateRef:
    data = {"InstanceType": "m5.large", "ImageId": "ami-12345678", "MetadataOptions": options}
    made = client.create_launch_template(LaunchTemplateName="own", LaunchTemplateData=data)
    return TemplateRef(made["LaunchTemplate"]["LaunchTemplateId"], version="1")


def run(client: Any, **more: Any) -> str:
    asked = {"MinCount": 1, "MaxCount": 1, **more}
    return str(client.run_instances(**asked)["Instances"][0]["InstanceId"])


def test_instances_with_their_options_and_those_that_are_gone(prod: World, of: VerifiedCluster) -> None:
    client = prod.client("ec2")
    ident = run(client, ImageId="ami-12345678", MetadataOptions={"HttpTokens": "required"})
    found = ec2.instances(of, [ident, "i-0123456789abcdef0"])
    seen = found[ident]
    assert isinstance(seen, Instance) and seen.options == MetadataOptions("required", 1)
    assert (seen.image, seen.state, seen.template) == ("ami-12345678", "running", None)
    assert isinstance(found["i-0123456789abcdef0"], Absent)


def test_what_a_launch_makes_of_a_template_is_what_is_foretold(prod: World, of: VerifiedCluster) -> None:
    """Prediction and launch are compared on the completed EC2 of the tests, which does not know the rules: template,
    account, image."""
    client = prod.client("ec2")
    client.modify_instance_metadata_defaults(HttpPutResponseHopLimit=3, HttpTokens="no-preference")
    image = prod.publish_image("amazon-eks-node-al2023-x86_64-standard-1.30-v20261101", "v2.0")
    for template in ({}, {"HttpTokens": "optional"}, {"HttpPutResponseHopLimit": 1, "HttpEndpoint": "disabled"}):
        data = {"InstanceType": "m5.large", "ImageId": image, "MetadataOptions": template}
        name = f"own-{len(template)}"
        client.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
        instance = ec2.instances(of, [run(client, LaunchTemplate={"LaunchTemplateName": name})])
        version = ec2.template_version(of, TemplateRef("", name))
        assert not isinstance(version, (Absent, Unknown)) and version.image == image
        told = ec2.images(of, [image])[image]
        assert isinstance(told, Image) and told.v2
        (seen,) = instance.values()
        foretold = resolve_launch_options(version.options, ec2.account_metadata_defaults(of), told).options
        assert isinstance(seen, Instance) and seen.options == foretold


def test_templates_by_number_newest_and_default(prod: World, of: VerifiedCluster) -> None:
    client = prod.client("ec2")
    ref = a_template(client, HttpTokens="required", HttpPutResponseHopLimit=2)
    client.create_launch_template_version(
        LaunchTemplateId=ref.id, SourceVersion="1", LaunchTemplateData={"MetadataOptions": {"HttpTokens": "optional"}}
    )
    refs = [TemplateRef(ref.id, version=version) for version in ("1", "$Latest", "$Default", "1", "7")]
    prod.forget_calls()
    found = ec2.template_versions(of, refs)
    assert len(prod.calls) == 4, "one call for each that differs"
    told = [getattr(found[each], "number", found[each]) for each in refs]
    assert told[:4] == [1, 2, 1, 1] and isinstance(told[4], Absent)
    first = found[refs[0]]
    assert getattr(first, "options", None) == DeclaredMetadataOptions("required", 2)


def test_a_launch_configuration(prod: World, of: VerifiedCluster) -> None:
    client = prod.client("autoscaling")
    client.create_launch_configuration(
        LaunchConfigurationName="old",
        ImageId="ami-12345678",
        InstanceType="m5.large",
        MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
    )
    client.create_auto_scaling_group(
        AutoScalingGroupName="own",
        MinSize=0,
        MaxSize=1,
        AvailabilityZones=["ap-northeast-2a"],
        LaunchConfigurationName="old",
    )
    group = ec2.scaling_groups(of, ["own"])["own"]
    assert isinstance(group, ScalingGroup) and (group.template, group.configuration) == (None, "old")
    found = ec2.launch_configurations(of, ["old", "gone"])
    assert found["old"] == TemplateVersion("", "old", 0, DeclaredMetadataOptions("required", 1), "ami-12345678")
    assert isinstance(found["gone"], Absent)


def mixed(*overrides: str) -> ScalingGroup:
    """A group by the versions of the templates of its instance types, "" for none."""
    types = [
        {"InstanceType": "m5.large", **({"LaunchTemplateSpecification": spec(each)} if each else {})}
        for each in overrides
    ]
    policy = {"LaunchTemplate": {"LaunchTemplateSpecification": spec("1"), "Overrides": types}}
    group = {"AutoScalingGroupName": "own", "MixedInstancesPolicy": policy}
    answer = {"autoscaling:DescribeAutoScalingGroups": {"AutoScalingGroups": [group]}}
    found = ec2.scaling_groups(sees(Scripted(answer)), ["own"])["own"]
    assert isinstance(found, ScalingGroup)
    return found


def spec(version: str) -> dict[str, str]:
    return {"LaunchTemplateId": "lt-1", "LaunchTemplateName": "own", "Version": version}


@pytest.mark.parametrize(
    ("overrides", "versions"),
    [((), ["1"]), (("2", ""), ["1", "2"]), (("2", "2"), ["2"]), (("2", "3"), ["2", "3"])],
)
def test_templates_of_a_group_of_several_instance_types(overrides: tuple[str, ...], versions: list[str]) -> None:
    group = mixed(*overrides)
    assert group.mixed and group.template is not None
    assert [each.version for each in (group.template, *group.others)] == versions


def test_an_instance_that_lacks_an_option_leaves_the_others() -> None:
    whole = {"HttpTokens": "required", "HttpPutResponseHopLimit": 64, "HttpEndpoint": "enabled"}
    named = {"autoscaling:groupName": "own", "ec2launchtemplate:id": "lt-1", "ec2launchtemplate:version": "2"}
    tags = [{"Key": f"aws:{key}", "Value": value} for key, value in named.items()]
    told: list[dict[str, Any]] = [{"InstanceId": "i-0", "MetadataOptions": whole, "Tags": tags}]
    for at, name in enumerate(whole, start=1):
        told.append({"InstanceId": f"i-{at}", "MetadataOptions": {key: whole[key] for key in whole if key != name}})
    answer = {"ec2:DescribeInstances": {"Reservations": [{"Instances": told}]}}
    found = ec2.instances(sees(Scripted(answer)), [each["InstanceId"] for each in told])
    first = found["i-0"]
    assert isinstance(first, Instance)
    assert (first.scaling_group, first.template) == ("own", TemplateRef("lt-1", version="2"))
    options = [each.options for each in found.values() if isinstance(each, Instance)]
    assert options == [MetadataOptions("required", 64), None, None, None]


@pytest.mark.parametrize(
    "told",
    [
        {"InstanceId": "i-0", "ImageId": 7},
        {"InstanceId": "i-0", "Tags": [{"Key": "aws:autoscaling:groupName", "Value": ["asg"]}]},
        {"InstanceId": "i-0", "MetadataOptions": {"HttpTokens": [], "HttpPutResponseHopLimit": 1, "HttpEndpoint": "x"}},
        {"ImageId": "ami-0"},
    ],
)
def test_what_is_no_answer_is_unknown_and_not_absent(told: dict[str, Any]) -> None:
    answer = {"ec2:DescribeInstances": {"Reservations": [{"Instances": [told]}]}}
    found = ec2.instances(sees(Scripted(answer)), ["i-0"])["i-0"]
    assert isinstance(found, Unknown) and "is not what it should be" in found.why


def test_a_thousand_instances_are_asked_for_in_few_calls() -> None:
    asked: list[int] = []

    def answer(given: Any) -> Any:
        ids = given["Filters"][0]["Values"]
        asked.append(len(ids))
        if "i-0" in ids:
            return DENIED
        return {"Reservations": [{"Instances": [{"InstanceId": each}]} for each in ids]}

    found = ec2.instances(sees(Scripted({"ec2:DescribeInstances": answer})), [f"i-{n}" for n in range(1000)] * 2)
    assert sorted(asked) == [200] * 5 and len(found) == 1000
    kinds = [type(each) for each in found.values()]
    assert kinds.count(Unknown) == 200 and kinds.count(Instance) == 800, "a part that is refused leaves the others"
    assert found["i-0"] == Unknown("IAM does not allow it", "ec2:DescribeInstances")
