"""SQS's and EventBridge's answers: a queue and rules of the shop, none for Karpenter.

It has the fourth incident: no component receives Spot interruptions, because the queue, named like the cluster, was
never created.
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
    """The URL of the only queue."""
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
    """The rules of the default bus; there is no other."""
    return {"Rules": [_a_rule(name, said) for name, said in _rules().items()]}


def list_targets_by_rule(params: Params) -> Json:
    """The targets of a rule."""
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
