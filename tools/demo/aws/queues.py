"""SQS's and EventBridge's answers: a queue and rules of the shop's own, none for Karpenter.

The fourth incident stands in it: nothing hears of Spot interruptions, because the queue, named as the cluster, was
never made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tools.demo.aws.names import Params, arn, at, given
from tools.demo.aws.refused import Refused, missing
from tools.demo.meta import Json
from tools.demo.world import ACCOUNT, REGION

QUEUE = "shop-orders"
_BUS = "default"
_REPORT = "shop-nightly-report"


def get_queue_url(params: Params) -> Json:
    """Of the only queue."""
    name = given(params, "QueueName")
    if name != QUEUE:
        raise _no_queue()
    return {"QueueUrl": _url(name)}


def get_queue_attributes(params: Params) -> Json:
    if given(params, "QueueUrl") != _url(QUEUE):
        raise _no_queue()
    return {"Attributes": _attributes()}


def _no_queue() -> Refused:
    return Refused("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")


def _url(name: str) -> str:
    return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"


def _attributes() -> dict[str, str]:
    made = str(int(at(70_000).timestamp()))
    return {
        "ApproximateNumberOfMessages": "3",
        "CreatedTimestamp": made,
        "LastModifiedTimestamp": made,
        "MessageRetentionPeriod": "345600",
        "QueueArn": arn("sqs", QUEUE),
        "SqsManagedSseEnabled": "true",
        "VisibilityTimeout": "30",
    }


def list_rules(params: Params) -> Json:
    """Of the default bus; there is no other."""
    return {"Rules": [_a_rule(name, said) for name, said in _rules().items()]}


def list_targets_by_rule(params: Params) -> Json:
    """What a rule calls."""
    name = given(params, "Rule")
    if name not in _rules():
        raise missing(f"Rule {name} does not exist on EventBus {_BUS}.")
    return {"Targets": [{"Id": "1", "Arn": _targets()[name]}]}


def _rules() -> Mapping[str, Json]:
    pushed = {"source": ["aws.ecr"], "detail-type": ["ECR Image Action"], "detail": {"action-type": ["PUSH"]}}
    return {
        "shop-image-pushed": {"EventPattern": json.dumps(pushed), "Description": "Tells the team of a new image"},
        _REPORT: {"ScheduleExpression": "cron(0 18 * * ? *)", "Description": "Sales of the day"},
    }


def _targets() -> Mapping[str, str]:
    return {"shop-image-pushed": arn("sns", "shop-releases"), _REPORT: arn("lambda", f"function:{_REPORT}")}


def _a_rule(name: str, said: Json) -> Json:
    return {"Name": name, "Arn": arn("events", f"rule/{name}"), "State": "ENABLED", "EventBusName": _BUS, **said}
