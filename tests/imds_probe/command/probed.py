"""Run ``imds-probe`` on a served cluster whose nodes are instances of the AWS stand-in."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.simulator.control_plane import ControlPlane

if TYPE_CHECKING:
    from tests.aws.world.server import World

ROLE = "arn:aws:iam::111122223333:role/any"
EKS_OWN = {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
OLD_OWN = {"HttpTokens": "optional", "HttpPutResponseHopLimit": 2}


def nodes_are_instances(api: Api, aws: World) -> None:
    """Group green is of AL2 and has EKS's own template; blue has a template of its owner, which was changed after its
    nodes were launched, and one instance was changed by hand. All have the same role."""
    ec2, eks, iam = aws.client("ec2"), aws.client("eks"), aws.client("iam")
    iam.create_role(RoleName="any", AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName="nodes")
    iam.add_role_to_instance_profile(InstanceProfileName="nodes", RoleName="any")
    aws.accessed(ROLE, {"ec2": datetime.now(timezone.utc), "s3": None})
    made = ec2.create_launch_template(
        LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "m5.large", "MetadataOptions": EKS_OWN}
    )
    template = {"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "2"}
    ec2.create_launch_template_version(
        LaunchTemplateName="own",
        LaunchTemplateData={"InstanceType": "m5.large", "MetadataOptions": {"HttpTokens": "required"}},
    )
    common = {"clusterName": "prod", "subnets": ["subnet-1"], "nodeRole": ROLE}
    eks.create_nodegroup(**common, nodegroupName="green", amiType="AL2_x86_64")
    eks.create_nodegroup(**common, nodegroupName="blue", amiType="AL2023_x86_64_STANDARD", launchTemplate=template)

    def named(plane: ControlPlane) -> list[str]:
        return sorted(item.key[1] for item in plane.store.list("nodes"))

    image = aws.publish_image("an older AMI")
    for name in api.run_locked(named):
        asked: dict[str, Any] = OLD_OWN if name.startswith("new") else EKS_OWN
        profile = {"IamInstanceProfile": {"Name": "nodes"}, "MetadataOptions": asked}
        ran = ec2.run_instances(MinCount=1, MaxCount=1, ImageId=image, **profile)
        _provided(api, name, ran["Instances"][0]["InstanceId"])
    aws.forget_calls()


def all_reach_the_service(aws: World) -> None:
    """Raise the hop limit of the running instances by hand: the launch templates stay unchanged."""
    ec2 = aws.client("ec2")
    for each in ec2.describe_instances()["Reservations"]:
        ec2.modify_instance_metadata_options(InstanceId=each["Instances"][0]["InstanceId"], HttpPutResponseHopLimit=2)
    aws.forget_calls()


def _provided(api: Api, node: str, ident: str) -> None:
    def patched(plane: ControlPlane) -> None:
        item = plane.registry.get("nodes", ("", node))
        plane.registry.update(item, with_value(item.doc, ("spec", "providerID"), f"aws:///ap-northeast-2a/{ident}"))

    api.run_locked(patched)
