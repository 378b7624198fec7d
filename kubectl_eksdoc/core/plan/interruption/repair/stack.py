"""What is missing as a CloudFormation template: complete in itself, for a stack of its own name.

Deployed onto a stack that made some of the rest, it would delete that, as it holds nothing but what is missing: be it
Karpenter's own, or the one that was made of what this printed the last time. So it is created, and never updated:
CloudFormation refuses to create a stack that is there (AlreadyExistsException). A rule that is there is not touched: it
is somebody else's, so a new one is made beside it.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.commands import in_turn, shell
from kubectl_eksdoc.core.model.interruption import KarpenterInstall
from kubectl_eksdoc.core.plan.interruption.repair.missing import (
    RETENTION_S,
    TARGET_ID,
    Missing,
    pattern,
    rights_policy,
)

_CAPABILITIES = ("--capabilities", "CAPABILITY_NAMED_IAM")
_QUEUE, _POLICY, _RIGHTS = "InterruptionQueue", "InterruptionQueuePolicy", "InterruptionRights"


FILE = "interruption.yaml"


def creates(stack: str, region: str, profile: str = "") -> str:
    """The command that makes the stack of `FILE`, waits until it is there, and changes none."""
    where = {"--stack-name": stack, "--region": region, "--profile": profile}
    of = [word for flag, value in where.items() if value for word in (flag, value)]
    made = shell("aws", "cloudformation", "create-stack", *of, "--template-body", f"file://{FILE}", *_CAPABILITIES)
    return in_turn(made, shell("aws", "cloudformation", "wait", "stack-create-complete", *of))


def template(missing: Missing, install: KarpenterInstall) -> Doc:
    """Its resources name the queue that is there, or the one it makes."""
    resources: Doc = {}
    arn: Doc | str = {"Fn::GetAtt": [_QUEUE, "Arn"]} if missing.queue else missing.queue_arn
    if missing.queue:
        resources[_QUEUE] = {
            "Type": "AWS::SQS::Queue",
            "Properties": {
                "QueueName": missing.queue_name,
                "MessageRetentionPeriod": RETENTION_S,
                "SqsManagedSseEnabled": True,
            },
        }
    if missing.policy is not None:
        queue: Doc | str = {"Ref": _QUEUE} if missing.queue else missing.url
        properties = {"Queues": [queue], "PolicyDocument": missing.policy}
        resources[_POLICY] = {"Type": "AWS::SQS::QueuePolicy", "Properties": properties}
    for each in missing.rules:
        resources[each.kind.name] = {
            "Type": "AWS::Events::Rule",
            "Properties": {"EventPattern": pattern(each.kind), "Targets": [{"Id": TARGET_ID, "Arn": arn}]},
        }
    if missing.rights and missing.role:
        resources[_RIGHTS] = {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "PolicyName": f"{missing.queue_name}-interruption-queue",
                "PolicyDocument": rights_policy(missing.queue_arn, install, missing.key),
                "Roles": [missing.role],
            },
        }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"What Karpenter's interruption handling lacks, queue {missing.queue_name}; a stack of its own",
        "Resources": resources,
    }
