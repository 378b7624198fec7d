"""Each call that the tool makes is answered, in the shape of botocore's model and of the right types."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

PROD = {"clusterName": "prod"}
NAMED = {"name": "prod"}


@pytest.fixture
def furnished(aws: World) -> dict[str, str]:
    """One of everything; the ids that AWS has given."""
    known: dict[str, str] = {}
    eks, role = aws.client("eks"), "arn:aws:iam::111122223333:role/any"
    eks.create_cluster(name="prod", version="1.24", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    eks.create_nodegroup(**PROD, nodegroupName="blue", subnets=["subnet-1"], nodeRole=role, version="1.24")
    ec2, sqs, events = (aws.client(service) for service in ("ec2", "sqs", "events"))
    known["image"] = aws.publish_image("amazon-eks-node-1.24-v20221101")
    eks.create_addon(**PROD, addonName="vpc-cni", addonVersion="v1.12.0-eksbuild.1")
    made = eks.create_pod_identity_association(
        **PROD, namespace="default", serviceAccount="app", roleArn="arn:aws:iam::111122223333:role/app"
    )
    known["identity"] = made["association"]["associationId"]
    known["insight"] = aws.eks().found("prod", {"name": "any", "insightStatus": {"status": "PASSING"}})
    known["update"] = eks.update_addon(**PROD, addonName="vpc-cni", configurationValues="{}")["update"]["id"]
    template = {"InstanceType": "m5.large", "ImageId": known["image"]}
    made = ec2.create_launch_template(LaunchTemplateName="own", LaunchTemplateData=template)
    known["template"] = made["LaunchTemplate"]["LaunchTemplateId"]
    made = ec2.run_instances(MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateId": known["template"]})
    known["instance"] = made["Instances"][0]["InstanceId"]
    aws.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="blue",
        MinSize=1,
        MaxSize=1,
        AvailabilityZones=["ap-northeast-2a"],
        LaunchTemplate={"LaunchTemplateId": known["template"]},
    )
    known["queue"] = sqs.create_queue(QueueName="interruptions")["QueueUrl"]
    events.put_rule(Name="spot", EventPattern=json.dumps({"source": ["aws.ec2"]}))
    arn = "arn:aws:sqs:ap-northeast-2:111122223333:interruptions"
    events.put_targets(Rule="spot", Targets=[{"Id": "queue", "Arn": arn}])
    aws.client("ssm").put_parameter(Name="/own/parameter", Value="ami-12345678", Type="String")
    return known


READ: list[tuple[str, str, dict[str, Any], str]] = [
    ("eks", "describe_cluster", NAMED, "cluster"),
    ("eks", "list_addons", PROD, "addons"),
    ("eks", "describe_addon", {**PROD, "addonName": "vpc-cni"}, "addon"),
    ("eks", "describe_addon_versions", {"addonName": "vpc-cni"}, "addons"),
    (
        "eks",
        "describe_addon_configuration",
        {"addonName": "vpc-cni", "addonVersion": "v1.15.1-eksbuild.1"},
        "configurationSchema",
    ),
    ("eks", "list_updates", {**NAMED, "addonName": "vpc-cni"}, "updateIds"),
    ("eks", "describe_update", {**NAMED, "addonName": "vpc-cni", "updateId": "{update}"}, "update"),
    ("eks", "list_insights", PROD, "insights"),
    ("eks", "describe_insight", {**PROD, "id": "{insight}"}, "insight"),
    ("eks", "start_insights_refresh", PROD, "status"),
    ("eks", "describe_insights_refresh", PROD, "status"),
    ("ec2", "describe_subnets", {}, "Subnets"),
    ("service-quotas", "get_service_quota", {"ServiceCode": "ec2", "QuotaCode": "L-1216C47A"}, "Quota"),
    ("eks", "list_nodegroups", PROD, "nodegroups"),
    ("eks", "describe_nodegroup", {**PROD, "nodegroupName": "blue"}, "nodegroup"),
    ("eks", "describe_cluster_versions", {}, "clusterVersions"),
    ("eks", "list_pod_identity_associations", PROD, "associations"),
    ("eks", "describe_pod_identity_association", {**PROD, "associationId": "{identity}"}, "association"),
    ("eks", "update_nodegroup_version", {**PROD, "nodegroupName": "blue"}, "update"),
    ("ec2", "describe_instances", {"InstanceIds": ["{instance}"], "IncludeManagedResources": True}, "Reservations"),
    (
        "ec2",
        "describe_launch_template_versions",
        {"LaunchTemplateId": "{template}", "Versions": ["$Latest"]},
        "LaunchTemplateVersions",
    ),
    ("ec2", "describe_images", {"ImageIds": ["{image}"]}, "Images"),
    ("ec2", "get_instance_metadata_defaults", {}, "AccountLevel"),
    (
        "ec2",
        "modify_instance_metadata_options",
        {"InstanceId": "{instance}", "HttpPutResponseHopLimit": 2},
        "InstanceMetadataOptions",
    ),
    ("autoscaling", "describe_auto_scaling_groups", {"AutoScalingGroupNames": ["blue"]}, "AutoScalingGroups"),
    ("sqs", "get_queue_url", {"QueueName": "interruptions"}, "QueueUrl"),
    ("sqs", "get_queue_attributes", {"QueueUrl": "{queue}", "AttributeNames": ["All"]}, "Attributes"),
    ("events", "list_rules", {}, "Rules"),
    ("events", "list_targets_by_rule", {"Rule": "spot"}, "Targets"),
    ("sts", "get_caller_identity", {}, "Account"),
    ("ssm", "get_parameter", {"Name": "/own/parameter"}, "Parameter"),
]


def filled(asked: Any, known: dict[str, str]) -> Any:
    if isinstance(asked, dict):
        return {key: filled(value, known) for key, value in asked.items()}
    if isinstance(asked, list):
        return [filled(value, known) for value in asked]
    return known.get(asked.strip("{}"), asked) if isinstance(asked, str) and asked.startswith("{") else asked


def assert_fits(value: Any, shape: Any, path: str) -> None:
    """`value` has only the model's members, and of its types."""
    kinds = {"string": str, "boolean": bool, "integer": int, "long": int, "double": float, "timestamp": datetime}
    kinds["list"] = list
    assert isinstance(value, kinds.get(shape.type_name, dict)), f"{path} is no {shape.type_name}: {value!r}"
    if shape.type_name == "structure":
        for name, member in value.items():
            assert name in shape.members, f"{path}.{name} is not in the model"
            assert_fits(member, shape.members[name], f"{path}.{name}")
    elif shape.type_name == "list":
        for number, member in enumerate(value):
            assert_fits(member, shape.member, f"{path}[{number}]")
    elif shape.type_name == "map":
        for name, member in value.items():
            assert_fits(member, shape.value, f"{path}[{name}]")
    elif shape.type_name == "string" and getattr(shape, "enum", None):
        assert value in shape.enum, f"{path} is no value of {shape.name}: {value}"


def test_every_call_is_answered_in_the_shape_of_the_model(aws: World, furnished: dict[str, str]) -> None:
    for service, operation, asked, key in READ:
        client = aws.client(service)
        answer = getattr(client, operation)(**filled(asked, furnished))
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200, operation
        assert answer[key], f"{operation} has no {key}"
        model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation])
        del answer["ResponseMetadata"]
        assert_fits(answer, model.output_shape, operation)
