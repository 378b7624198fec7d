"""SQS's and EventBridge's answers: a queue and rules of the shop's own, none for Karpenter.

The fourth incident stands in it: nothing hears of Spot interruptions, because the queue, named as the cluster, was
never made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tools.demo.aws.names import Params, arn, at
from tools.demo.meta import Json
from tools.demo.world import ACCOUNT, REGION

QUEUE = "shop-orders"
_REPORT = "shop-nightly-report"


def get_queue_url(params: Params) -> Json:
    """Of the only queue."""
    return {"QueueUrl": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{QUEUE}"}


def get_queue_attributes(params: Params) -> Json:
    return {"Attributes": _attributes()}


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
    return {"Targets": [{"Id": "1", "Arn": _targets()[params["Rule"]]}]}


def _rules() -> Mapping[str, Json]:
    pushed = {"source": ["aws.ecr"], "detail-type": ["ECR Image Action"], "detail": {"action-type": ["PUSH"]}}
    return {
        "shop-image-pushed": {"EventPattern": json.dumps(pushed), "Description": "Tells the team of a new image"},
        _REPORT: {"ScheduleExpression": "cron(0 18 * * ? *)", "Description": "Sales of the day"},
    }


def _targets() -> Mapping[str, str]:
    return {"shop-image-pushed": arn("sns", "shop-releases"), _REPORT: arn("lambda", f"function:{_REPORT}")}


def _a_rule(name: str, said: Json) -> Json:
    return {"Name": name, "Arn": arn("events", f"rule/{name}"), "State": "ENABLED", "EventBusName": "default", **said}
