"""What reaches a queue and what does not, and that it is counted; the notice of a Spot instance."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

ARN = "arn:aws:sqs:ap-northeast-2:111122223333:prod"
ALLOW = {
    "Effect": "Allow",
    "Principal": {"Service": "events.amazonaws.com"},
    "Action": "sqs:SendMessage",
    "Resource": ARN,
}
WARNING = "EC2 Spot Instance Interruption Warning"


def policy(*statements: dict[str, Any]) -> dict[str, str]:
    return {"Policy": json.dumps({"Version": "2012-10-17", "Statement": list(statements)})}


@pytest.fixture
def url(aws: World) -> str:
    made = aws.client("sqs").create_queue(QueueName="prod", Attributes=policy(ALLOW))
    events = aws.client("events")
    events.put_rule(Name="spot", EventPattern=json.dumps({"detail-type": [WARNING]}))
    events.put_targets(Rule="spot", Targets=[{"Id": "1", "Arn": ARN}])
    return str(made["QueueUrl"])


def arrived(aws: World, url: str) -> int:
    entry = {"Source": "aws.ec2", "DetailType": WARNING, "Detail": "{}"}
    assert aws.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0
    return len(aws.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", ()))


def counted(aws: World, metric: str) -> float:
    of = {"Namespace": "AWS/Events", "MetricName": metric, "Dimensions": [{"Name": "RuleName", "Value": "spot"}]}
    now = datetime.now(timezone.utc)
    query = {"Id": "m0", "MetricStat": {"Metric": of, "Period": 3600, "Stat": "Sum"}}
    told = aws.client("cloudwatch").get_metric_data(
        MetricDataQueries=[query], StartTime=now - timedelta(hours=2), EndTime=now + timedelta(hours=1)
    )
    return float(sum(told["MetricDataResults"][0]["Values"]))


def disabled(aws: World, url: str) -> None:
    aws.client("events").disable_rule(Name="spot")


def without_target(aws: World, url: str) -> None:
    aws.client("events").remove_targets(Rule="spot", Ids=["1"])


def without_rule(aws: World, url: str) -> None:
    without_target(aws, url)
    aws.client("events").delete_rule(Name="spot")


def without_policy(aws: World, url: str) -> None:
    aws.client("sqs").set_queue_attributes(QueueUrl=url, Attributes=policy())


def denied(aws: World, url: str) -> None:
    aws.client("sqs").set_queue_attributes(QueueUrl=url, Attributes=policy(ALLOW, {**ALLOW, "Effect": "Deny"}))


def of_another_rule(aws: World, url: str) -> None:
    only = {**ALLOW, "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:events:ap-northeast-2:111122223333:rule/x"}}}
    aws.client("sqs").set_queue_attributes(QueueUrl=url, Attributes=policy(only))


def key_of_others(aws: World, url: str) -> None:
    key = aws.client("kms").create_key()["KeyMetadata"]["KeyId"]
    aws.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"KmsMasterKeyId": key})


def test_all_is_there_and_it_arrives(aws: World, url: str) -> None:
    assert arrived(aws, url) == 1
    assert (counted(aws, "Invocations"), counted(aws, "FailedInvocations")) == (1, 0)


@pytest.mark.parametrize(
    ("trouble", "failed"),
    [
        (disabled, 0),
        (without_target, 0),
        (without_rule, 0),
        (without_policy, 1),
        (denied, 1),
        (of_another_rule, 1),
        (key_of_others, 1),
    ],
)
def test_something_is_missing_and_it_does_not(
    aws: World, url: str, trouble: Callable[[Any, str], None], failed: int
) -> None:
    trouble(aws, url)
    assert arrived(aws, url) == 0 and counted(aws, "FailedInvocations") == failed
