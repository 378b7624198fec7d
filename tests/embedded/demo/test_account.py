"""The recorded AWS account gives the same answers as the original one to every request of this tool."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kubectl_eksdoc.embedded.demo import reader
from kubectl_eksdoc.embedded.demo.reader import AwsErrorResponse, aws_response
from tests.tools.demo.aws.questions import NAMED, OURS, every, instances
from tools.demo.account import LISTINGS
from tools.demo.aws.demo_aws import ANSWERS, DemoAws
from tools.demo.scenes import MAKERS

LISTED = {each.name for each in LISTINGS}
SCENES = pytest.mark.parametrize("scene", reader.SCENES)
Asked = tuple[str, str, dict[str, Any]]


NEVER = {
    ("DescribeAddonVersions", ()),
    ("DescribeAddonVersions", ("addonName", "kubernetesVersion")),
    ("DescribeLaunchTemplateVersions", ("Versions",)),
}
"""The tool does not ask these, so no answer is recorded."""


def lookups(aws: DemoAws) -> Iterator[Asked]:
    for service, operation, params in every(aws):
        if f"{service} {operation}" not in LISTED and (operation, tuple(params)) not in NEVER:
            yield service, operation, params


@SCENES
def test_whatever_is_looked_up(scene: str) -> None:
    aws = DemoAws(MAKERS[scene].estate)
    asked = list(lookups(aws))
    assert len(asked) > 60
    assert [each for each in asked if aws_response(scene, *each) != aws.ask(*each)] == []


def kept_by(name: str, *values: str) -> dict[str, Any]:
    return {"Filters": [{"Name": name, "Values": list(values)}]}


@SCENES
def test_instances_are_kept_by_their_ids_those_of_auto_mode_too(scene: str) -> None:
    items = instances(DemoAws(MAKERS[scene].estate), IncludeManagedResources=True)
    ids = [each["InstanceId"] for each in items]
    images = DemoAws(MAKERS[scene].estate).ask("ec2", "DescribeImages", {})["Images"]
    one = kept_by("image-id", images[1]["ImageId"], "x-0")
    assert aws_response(scene, "ec2", "DescribeImages", one) == {"Images": images[1:2]}
    for wanted in (ids, ids[1:3]):
        told = aws_response(scene, "ec2", "DescribeInstances", kept_by("instance-id", *wanted, "i-0"))["Reservations"]
        assert [each["Instances"] for each in told] == [[each] for each in items if each["InstanceId"] in wanted]


def test_groups_insights_and_notices_are_kept_by_what_is_named() -> None:
    aws = DemoAws()
    _, second = aws.ask("autoscaling", "DescribeAutoScalingGroups", {})["AutoScalingGroups"]
    named = {"AutoScalingGroupNames": [second["AutoScalingGroupName"], "no"]}
    assert aws_response("", "autoscaling", "DescribeAutoScalingGroups", named) == {"AutoScalingGroups": [second]}
    insights = aws.ask("eks", "ListInsights", OURS)["insights"]
    for versions in (["1.34"], ["1.34", "1.35", "1.36"]):
        kept = {"categories": ["UPGRADE_READINESS"], "kubernetesVersions": versions}
        wanted = [each for each in insights if each["kubernetesVersion"] in versions]
        assert (
            aws_response("", "eks", "ListInsights", {**OURS, "filter": kept})
            == {"insights": wanted}
            != {"insights": []}
        )
    others = {"categories": ["MISCONFIGURATION", "ROLLBACK_READINESS"]}
    assert aws_response("", "eks", "ListInsights", {**OURS, "filter": others}) == {"insights": []}
    requests = aws.ask("ec2", "DescribeSpotInstanceRequests", {})
    assert aws_response("", "ec2", "DescribeSpotInstanceRequests", kept_by("status-code", "fulfilled")) == requests
    marked = kept_by("status-code", "marked-for-termination", "marked-for-stop")
    assert aws_response("", "ec2", "DescribeSpotInstanceRequests", marked) == {"SpotInstanceRequests": []}


@pytest.mark.parametrize(
    ("service", "operation", "params", "said"),
    [
        (
            "eks",
            "DescribeAddon",
            {**OURS, "addonName": "a{}b"},
            "ResourceNotFoundException: No addon: a{}b found in cluster: demo-shop",
        ),
        ("ssm", "GetParameter", {"Name": "/x"}, "ParameterNotFound: "),
        (
            "eks",
            "UpdateAddon",
            {},
            "InvalidAction: The action UpdateAddon is not valid for this web service.",
        ),
    ],
)
def test_what_is_not_there_is_refused_in_the_words_of_aws(
    service: str, operation: str, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(AwsErrorResponse) as here:
        aws_response("", service, operation, params)
    assert str(here.value) == said


def test_every_question_that_the_maker_answers_is_recorded() -> None:
    assert {f"{service} {operation}" for service, held in ANSWERS.items() for operation in held} == set(
        reader.account()["questions"]
    )


def test_nobody_shares_an_answer_with_the_next_caller_and_no_sdk_is_asked() -> None:
    first = aws_response("", "eks", "DescribeCluster", NAMED)
    first["cluster"].clear()
    assert aws_response("", "eks", "DescribeCluster", NAMED)["cluster"]["name"] == "demo-shop"
    code = (
        "import sys; from kubectl_eksdoc.embedded.demo.reader import aws_response;"
        "aws_response('', 'sts', 'GetCallerIdentity', {}); print({'boto3', 'botocore', 'tools'} & set(sys.modules))"
    )
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
