"""The finding codes of interruption handling; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

NOTICE_NOW = Code(
    "interruption-now",
    "A Spot node is being taken back now",
    "EC2 has marked its instance, or somebody in the cluster has heard of it: two minutes after the notice it is gone, "
    "and with it every pod that was not moved.",
    (kinds.NODES, kinds.PODS),
)
OUTAGE = Code(
    "interruption-outage",
    "What the next interruption takes",
    "Pods on Spot nodes of Karpenter, and what becomes of them in the two minutes between notice and end: without a "
    "queue nobody drains the node; with one, system-critical pods such as CoreDNS go last, which may be too late.",
    (kinds.NODES, kinds.PODS, kinds.BUDGETS),
)
KARPENTER = Code(
    "interruption-karpenter",
    "Who handles interruptions of Karpenter's nodes",
    "There are nodes of Karpenter and no Karpenter, several of them, or it could not be looked for.",
    (kinds.PODS, kinds.DEPLOYMENTS),
)
SETTING = Code(
    "interruption-setting",
    "Karpenter is told no interruption queue",
    "Without its name the controller that reads the queue is not started, and nothing warns of that. Which spelling "
    "counts depends on the version: the old Helm key does nothing from v0.33.0 on.",
)
QUEUE = Code(
    "interruption-queue",
    "The interruption queue",
    "Karpenter asks SQS for it by its name, in its own account and region. Up to v1.3 it ends where there is "
    "none; from v1.4.0 it runs on, and hears of nothing.",
)
POLICY = Code(
    "interruption-queue-policy",
    "Whether the queue takes what EventBridge sends",
    "Its policy must allow events.amazonaws.com sqs:SendMessage. What a condition of it means may not be known "
    "here, and then it is unknown.",
)
KEY = Code(
    "interruption-queue-key",
    "Whether EventBridge may use the queue's key",
    "A queue with a customer's KMS key takes nothing from EventBridge unless the key's policy allows it to; the policy "
    "of a key that AWS manages (alias/aws/sqs) cannot be changed.",
)
RULE = Code(
    "interruption-rule",
    "A kind of event that does not reach the queue",
    "For each kind a rule of the default event bus in the cluster's region must be enabled, match it, and have the "
    "queue as its target with the event as it is.",
)
FAILING = Code(
    "interruption-rule-fails",
    "A rule fails to reach its target",
    "CloudWatch counts FailedInvocations of the rule in the last day: the event came, and was not delivered.",
)
RIGHTS = Code(
    "interruption-rights",
    "What Karpenter's role may do with the queue",
    "It needs sqs:GetQueueUrl, sqs:ReceiveMessage and sqs:DeleteMessage of the queue, up to v0.32 "
    "sqs:GetQueueAttributes, and kms:Decrypt of a customer's key.",
)
LOG = Code(
    "interruption-provider-fails",
    "Karpenter's log says that it cannot use the queue",
    "From v1.4.0 on an error is logged each time it tries again; up to v1.3 it ends with it, and is restarted "
    "for ever.",
    (kinds.PODS,),
)
LIFE = Code(
    "interruption-sign-of-life",
    "Whether interruption handling has been seen to work",
    "Messages that Karpenter has counted, nodes that it has deleted for one, or fetches that the queue has seen. "
    "That the word interruption is in the log proves nothing: from v1.12 another controller writes it.",
    (kinds.PODS,),
)
HANDLER = Code(
    "interruption-node-termination-handler",
    "The AWS Node Termination Handler beside Karpenter",
    "Both drain the same node, and only one of them makes a replacement. Karpenter's documentation says to remove it.",
    (kinds.DAEMON_SETS, kinds.DEPLOYMENTS, kinds.PODS),
)
NOT_OURS = Code(
    "interruption-by-eks",
    "Spot nodes whose interruption EKS handles",
    "Managed node groups drain on a rebalance recommendation or a notice, as far as two minutes allow; EKS Auto Mode "
    "does it as a service. Neither has a queue that could be set.",
    (kinds.NODES,),
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
