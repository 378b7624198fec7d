"""Targets of load balancers, and updates that are started: as AWS reports them, and without a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber

from kubectl_eksdoc.aws.eks import AddonUpdates, target_group
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsRefused
from kubectl_eksdoc.model.addons import UpdateCall
from kubectl_eksdoc.model.eks import TargetGroup, TargetHealth
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws.answers import Scripted, sees
from tests.aws.test_addon_side import seen
from tests.aws.test_live import REGION, prod

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
ARN = "arn:aws:elasticloadbalancing:ap-northeast-2:111122223333:targetgroup/web/1234"
ILL = {
    "Target": {"Id": "10.0.1.7", "Port": 8080},
    "TargetHealth": {"State": "unhealthy", "Reason": "Target.FailedHealthChecks"},
}
WELL = {"Target": {"Id": "10.0.1.5", "Port": 8080}, "TargetHealth": {"State": "healthy"}}

TOLD = {"TargetHealthDescriptions": [ILL, WELL]}


def told(answer: Any) -> TargetGroup | Unknown:
    return target_group(sees(Scripted({"elbv2:DescribeTargetHealth": answer})), ARN)


def test_targets_are_told_by_their_ids() -> None:
    group = told(TOLD)
    assert isinstance(group, TargetGroup)
    assert group.targets[0] == TargetHealth("10.0.1.5", 8080, "healthy") and group.healthy == 1
    assert group.unhealthy == ("10.0.1.7:8080 unhealthy (Target.FailedHealthChecks)",)


@pytest.mark.parametrize(
    "answer",
    [
        AwsDenied("IAM does not allow it", "", "elasticloadbalancing:DescribeTargetHealth"),
        AwsMissing("not found", "", "TargetGroupNotFound"),
        {"TargetHealthDescriptions": [{}]},
    ],
)
def test_what_is_not_told_is_unknown(answer: Any) -> None:
    assert isinstance(told(answer), Unknown)


CALL = UpdateCall("vpc-cni", "v1.12.6-eksbuild.1", "NONE", '{"env":{}}', "token-1")


def test_an_update_is_begun_and_followed(prod: World) -> None:
    of = seen(prod)
    (under_way,) = prod.eks().updates
    prod.eks().finish(under_way.id)
    updates = AddonUpdates(of, "vpc-cni")
    begun = updates.start_update(CALL)
    assert begun.status == "InProgress" and begun.parameter("ConfigurationValues") == '{"env":{}}'
    (asked,) = [call for call in prod.calls if call.name == "eks:UpdateAddon"]
    assert ("clientRequestToken", "token-1") in asked.named
    prod.eks().finish(begun.id)
    found = updates.read_update(begun.id)
    assert not isinstance(found, (Unknown, Absent)) and found.status == "Successful"
    assert isinstance(updates.read_update("nobody-knows"), Absent)


def test_what_eks_refuses_is_said_in_words(prod: World) -> None:
    updates = AddonUpdates(seen(prod), "vpc-cni")
    with pytest.raises(AwsRefused, match="another one is in progress") as refused:
        updates.start_update(CALL)
    assert refused.value.code == "ResourceInUseException" and "Nothing was changed" in refused.value.hint
    prod.eks().finish(prod.eks().updates[0].id)
    with pytest.raises(AwsRefused, match="EKS refuses this update of vpc-cni to v9"):
        updates.start_update(UpdateCall("vpc-cni", "v9", "NONE", None, "t"))
    prod.deny("eks:UpdateAddon", "eks:DescribeUpdate")
    with pytest.raises(AwsDenied) as denied:
        updates.start_update(CALL)
    assert denied.value.missing == "eks:UpdateAddon" and "Nothing was changed" in denied.value.hint
    described = updates.read_update("any")
    assert isinstance(described, Unknown) and described.missing == "eks:DescribeUpdate"


@pytest.mark.parametrize(
    "answer", [{}, {"update": None}, AwsRefused("no answer: ServerException: internal", code="ServerException")]
)
def test_after_a_fault_of_eks_own_nobody_says_that_nothing_was_changed(answer: Any) -> None:
    with pytest.raises(AwsError) as raised:
        AddonUpdates(sees(Scripted({"eks:UpdateAddon": answer})), "vpc-cni").start_update(CALL)
    assert type(raised.value) is AwsError and "Nothing was changed" not in raised.value.hint


def test_it_is_of_the_shape_that_botocore_reads() -> None:
    client = boto3.client("elbv2", REGION, aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stub:
        stub.add_response("describe_target_health", TOLD, {"TargetGroupArn": ARN})
        assert client.describe_target_health(TargetGroupArn=ARN) == TOLD
