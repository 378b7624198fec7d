"""What is not in the demo's account is refused with AWS's own code and words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.demo.aws.questions import NAMED, OURS, templates
from tests.tools.demo.aws.shapes import complaints_of_question, operation
from tools.demo.aws.demo_aws import ANSWERS, DemoAws
from tools.demo.aws.refused import Refused

AWS = DemoAws()

GONE, NO_ADDON = "ResourceNotFoundException", "No addon: adot found in cluster: demo-shop"
# SQS still sends the code of its old protocol, and botocore prefers it to the modelled one.
LEGACY = {"AWS.SimpleQueueService.NonExistentQueue": "QueueDoesNotExist"}
NO_QUEUE = ("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
ID = "11111111-2222-3333-4444-555555555555"
CNI = {"addonName": "vpc-cni"}
URL = "https://sqs.ap-northeast-2.amazonaws.com/111122223333/demo-shop"

REFUSED: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("eks", "DescribeCluster", {"name": "x"}, GONE, "No cluster found for name: x."),
    ("eks", "DescribeAddon", {**OURS, "addonName": "adot"}, GONE, NO_ADDON),
    ("eks", "DescribeNodegroup", {**OURS, "nodegroupName": "red"}, GONE, "No node group found for name: red."),
    (
        "service-quotas",
        "GetServiceQuota",
        {"ServiceCode": "ec2", "QuotaCode": "L-00000000"},
        "NoSuchResourceException",
        "The request failed because the specified service quota does not exist.",
    ),
    ("iam", "GetRole", {"RoleName": "x"}, "NoSuchEntity", "The role with name x cannot be found."),
    ("eks", "DescribeUpdate", {**NAMED, "updateId": ID}, GONE, f"No update found for ID: {ID}"),
    ("eks", "DescribeInsight", {**OURS, "id": ID}, GONE, f"No insight found for id: {ID}"),
    (
        "eks",
        "DescribePodIdentityAssociation",
        {**OURS, "associationId": "a-1"},
        GONE,
        "Association not found for associationId: a-1",
    ),
    (
        "eks",
        "DescribeAddonConfiguration",
        {**CNI, "addonVersion": "v9.9.9"},
        "InvalidParameterException",
        "Addon version specified is not supported",
    ),
    (
        "eks",
        "DescribeAddonConfiguration",
        {"addonName": "no", "addonVersion": "v1"},
        "InvalidParameterException",
        "Addon no specified is not supported in 1.33 kubernetes version",
    ),
    (
        "eks",
        "DescribeAddonVersions",
        {**CNI, "kubernetesVersion": "1.29"},
        "InvalidParameterException",
        "unsupported Kubernetes version",
    ),
    (
        "ec2",
        "DescribeLaunchTemplateVersions",
        {"LaunchTemplateId": "lt-1"},
        "InvalidLaunchTemplateId.NotFound",
        "The specified launch template, with template ID lt-1, does not exist.",
    ),
    ("sqs", "GetQueueUrl", {"QueueName": "demo-shop"}, *NO_QUEUE),
    ("sqs", "GetQueueAttributes", {"QueueUrl": URL}, *NO_QUEUE),
    ("events", "ListTargetsByRule", {"Rule": "x"}, GONE, "Rule x does not exist on EventBus default."),
    ("ssm", "GetParameter", {"Name": "/x"}, "ParameterNotFound", ""),
]


@pytest.mark.parametrize(
    ("service", "name", "params", "code", "message"), REFUSED, ids=[f"{r[1]}-{r[3]}-{r[4][:40]}" for r in REFUSED]
)
def test_what_is_not_there_is_refused(service: str, name: str, params: dict[str, Any], code: str, message: str) -> None:
    assert complaints_of_question(service, name, params) == "", "botocore itself would not send it"
    with pytest.raises(Refused) as refused:
        AWS.ask(service, name, params)
    assert (refused.value.code, refused.value.message) == (code, message)
    modelled = {shape.error_code for shape in operation(service, name).error_shapes}
    assert LEGACY.get(code, code) in modelled or not modelled, "EC2 models no errors, the others do"


EKS_OF_A_CLUSTER = [
    (name, "name" if "name" in operation("eks", name).input_shape.members else "clusterName")
    for name in ANSWERS["eks"]
    if {"name", "clusterName"} & set(operation("eks", name).input_shape.members)
]


@pytest.mark.parametrize(("name", "parameter"), EKS_OF_A_CLUSTER)
def test_there_is_no_other_cluster(name: str, parameter: str) -> None:
    assert parameter in operation("eks", name).input_shape.required_members
    with pytest.raises(Refused, match=r"ResourceNotFoundException: No cluster found for name: x\."):
        AWS.ask("eks", name, {parameter: "x"})


@pytest.mark.parametrize(
    ("service", "name"),
    [(service, name) for service, held in ANSWERS.items() for name in held],
)
def test_what_an_operation_needs_is_asked_for(service: str, name: str) -> None:
    """botocore never sends these; a question of ours that forgets a parameter is found here, not by a KeyError."""
    for parameter in getattr(operation(service, name).input_shape, "required_members", ()):
        params = {key: value for key, value in {**OURS, **NAMED}.items() if key != parameter}
        with pytest.raises(Refused) as refused:
            AWS.ask(service, name, params)
        assert refused.value.code == "MissingParameter"


@pytest.mark.parametrize(
    ("service", "name"),
    [("eks", "DescribeEverything"), ("ec2", "TerminateInstances"), ("eks", "UpdateAddon"), ("s3", "ListBuckets")],
)
def test_an_operation_that_nobody_answers_is_refused(service: str, name: str) -> None:
    with pytest.raises(Refused) as refused:
        AWS.ask(service, name, {})
    assert refused.value.code == "InvalidAction"
    assert name in refused.value.message


def test_an_update_belongs_to_what_it_updated() -> None:
    (ident, *_) = AWS.ask("eks", "ListUpdates", {**NAMED, **CNI})["updateIds"]
    for params in (NAMED, {**NAMED, "addonName": "coredns"}, {**NAMED, "nodegroupName": "blue"}):
        with pytest.raises(Refused, match="No update found for ID"):
            AWS.ask("eks", "DescribeUpdate", {**params, "updateId": ident})


# Names that a question gives are honoured.


def versions_of(**params: Any) -> list[str]:
    """The ids of the templates whose versions are told."""
    told = AWS.ask("ec2", "DescribeLaunchTemplateVersions", params)["LaunchTemplateVersions"]
    return [each["LaunchTemplateId"] for each in told]


def test_a_launch_template_goes_by_id_and_name() -> None:
    for each in templates(AWS):
        ident, name = each["LaunchTemplateId"], each["LaunchTemplateName"]
        assert versions_of(LaunchTemplateId=ident) == versions_of(LaunchTemplateName=name) == [ident]
    assert len(versions_of()) == 3


def test_without_a_version_all_that_are_supported_are_told() -> None:
    (told,) = AWS.ask("eks", "DescribeAddonVersions", {"addonName": "coredns"})["addons"]
    fits = {b["addonVersion"]: [f["clusterVersion"] for f in b["compatibilities"]] for b in told["addonVersions"]}
    assert fits["v1.11.4-eksbuild.2"] == ["1.33", "1.32", "1.31"]
    assert fits["v1.14.3-eksbuild.11"] == ["1.36", "1.35"]


def test_updates_are_those_of_what_is_named() -> None:
    asked = (NAMED, {**NAMED, "addonName": "vpc-cni"}, {**NAMED, "nodegroupName": "blue"})
    found_ids = [AWS.ask("eks", "ListUpdates", params)["updateIds"] for params in asked]
    assert [len(each) for each in found_ids] == [1, 2, 2]
    assert len({ident for each in found_ids for ident in each}) == 5
    assert AWS.ask("eks", "ListUpdates", {**NAMED, "nodegroupName": "green"}) == {"updateIds": []}
