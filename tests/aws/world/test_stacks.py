"""The interruption queue made by CloudFormation: queue, policy, rules and targets are real, and events arrive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

TEMPLATE = """
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: prod-interruptions
      MessageRetentionPeriod: 300
      SqsManagedSseEnabled: true
  Policy:
    Type: AWS::SQS::QueuePolicy
    Properties:
      Queues: [{queues}]
      PolicyDocument:
        Id: EC2InterruptionPolicy
        Statement:
          - Effect: Allow
            Principal:
              Service: [events.amazonaws.com, sqs.amazonaws.com]
            Action: sqs:SendMessage
            Resource: !GetAtt Queue.Arn
{more}
  Rule:
    Type: AWS::Events::Rule
    Properties:
      Name: spot
      EventPattern:
        source: [aws.ec2]
        detail-type: [EC2 Spot Instance Interruption Warning]
      Targets:
        - Id: KarpenterInterruptionQueueTarget
          Arn: !GetAtt Queue.Arn
"""
DENY = """          - Sid: DenyHTTP
            Effect: Deny
            Action: sqs:*
            Resource: !GetAtt Queue.Arn
            Principal: "*"
            Condition: {Bool: {aws:SecureTransport: false}}"""
BY_URL = "'https://sqs.ap-northeast-2.amazonaws.com/111122223333/prod-interruptions'"
ARN = "arn:aws:sqs:ap-northeast-2:111122223333:prod-interruptions"


def body(queues: str = "!Ref Queue", more: str = "") -> str:
    return TEMPLATE.replace("{queues}", queues).replace("{more}", more)


def policy(aws: World) -> dict[str, Any] | None:
    sqs = aws.client("sqs")
    url = sqs.get_queue_url(QueueName="prod-interruptions")["QueueUrl"]
    known = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return json.loads(known["Policy"]) if "Policy" in known else None


@pytest.mark.parametrize("queues", ["!Ref Queue", BY_URL])
def test_a_queue_policy_is_set(aws: World, queues: str) -> None:
    stacks = aws.client("cloudformation")
    if queues == BY_URL:
        aws.client("sqs").create_queue(QueueName="prod-interruptions")
        stacks.create_stack(StackName="s", TemplateBody=body(queues).replace("prod-interruptions\n", "other\n"))
    else:
        stacks.create_stack(StackName="s", TemplateBody=body(queues))
    assert stacks.describe_stacks(StackName="s")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
    kept = policy(aws)
    assert kept is not None
    (statement,) = kept["Statement"]
    assert (statement["Action"], statement["Principal"]["Service"][0]) == ("sqs:SendMessage", "events.amazonaws.com")
    told = stacks.describe_stack_resources(StackName="s")["StackResources"]
    assert sorted(one["LogicalResourceId"] for one in told) == ["Policy", "Queue", "Rule"]


def test_a_changed_policy_replaces_the_old_one(aws: World) -> None:
    stacks = aws.client("cloudformation")
    stacks.create_stack(StackName="s", TemplateBody=body())
    stacks.update_stack(StackName="s", TemplateBody=body(more=DENY))
    kept = policy(aws)
    assert kept is not None
    assert [statement["Effect"] for statement in kept["Statement"]] == ["Allow", "Deny"]


def test_a_stack_that_loses_its_policy_takes_it_from_the_queue(aws: World) -> None:
    stacks = aws.client("cloudformation")
    stacks.create_stack(StackName="s", TemplateBody=body())
    without = body()
    start, end = without.index("  Policy:"), without.index("  Rule:")
    stacks.update_stack(StackName="s", TemplateBody=without[:start] + without[end:])
    assert policy(aws) is None


def test_an_event_reaches_the_queue(aws: World) -> None:
    aws.client("cloudformation").create_stack(StackName="s", TemplateBody=body())
    events, sqs = aws.client("events"), aws.client("sqs")
    assert [rule["State"] for rule in events.list_rules()["Rules"]] == ["ENABLED"]
    assert events.list_targets_by_rule(Rule="spot")["Targets"][0]["Arn"] == ARN
    detail = {"instance-id": "i-0123456789abcdef0", "instance-action": "terminate"}
    events.put_events(
        Entries=[
            {
                "Source": "aws.ec2",
                "DetailType": "EC2 Spot Instance Interruption Warning",
                "Detail": json.dumps(detail),
            }
        ]
    )
    url = sqs.get_queue_url(QueueName="prod-interruptions")["QueueUrl"]
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(message["Body"])["detail"] == detail
