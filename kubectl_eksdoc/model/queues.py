"""Queues, rules that fill them, the keys they are encrypted with, and the policies that allow it all.

Source of the shapes: botocore 1.44.5, sqs/2012-11-05, events/2015-10-07, kms/2014-11-01, iam/2010-05-08,
monitoring/2010-08-01, ec2/2016-11-15 (DescribeSpotInstanceRequests).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import NOT_ASKED, Absent, Unknown


@frozen
class Queue:
    """Of SQS. `policy` is None where it has none; `key`: the id, ARN or alias of its KMS key, "" where SQS encrypts it
    itself or nobody does. `waiting`: messages that nobody has fetched, about so many."""

    name: str
    url: str
    arn: str
    policy: Doc | Unknown | None = None
    key: str = ""
    retention_s: int | None = None
    waiting: int | None = None


@frozen
class KmsKey:
    """Of KMS. `manager` is ``CUSTOMER`` or ``AWS``: nobody can change the policy of the latter."""

    arn: str
    manager: str
    enabled: bool = True
    policy: Doc | Unknown = field(default_factory=dict)


@frozen
class EventRule:
    """Of EventBridge's default bus; `pattern` is None for one that goes by the clock."""

    name: str
    arn: str
    pattern: Doc | Unknown | None
    state: str = "ENABLED"

    @property
    def enabled(self) -> bool:
        return self.state.startswith("ENABLED")


@frozen
class RuleTarget:
    """What a rule calls. `shaped`: it is given something else than the event (Input, InputPath, InputTransformer)."""

    id: str
    arn: str
    shaped: bool = False


@frozen
class RolePolicies:
    """What a role is allowed by policies of its own, each with its name. `unread`: those that could not be read;
    `boundary`: its permissions boundary, None where it has none."""

    arn: str
    documents: tuple[tuple[str, Doc], ...] = ()
    unread: tuple[Unknown, ...] = ()
    boundary: Doc | Unknown | None = None


@frozen
class Notice:
    """A Spot instance that EC2 is about to take back (status code ``marked-for-termination`` and its like)."""

    instance: str
    code: str
    since: datetime | None = None


@frozen
class FiguresOf:
    """What CloudWatch is asked about: a queue ("" for none) and rules, in the day before `until`."""

    queue: str
    rules: tuple[str, ...]
    until: datetime


@frozen
class Figures:
    """Sums of CloudWatch over the day before, by rule: events that it matched, and targets it failed to call. Of the
    queue in the last hour: fetches that came back empty, and messages that were deleted. None: no figures at all."""

    matched: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    empty: int | None = None
    deleted: int | None = None


@frozen
class InterruptionKeys:
    """What is asked for, called as its answer. `identity`: namespace and name of the service account whose role by EKS
    Pod Identity is asked for; `policies`: the ARN of the role whose policies are; `notices`: the instances of which it
    is asked whether EC2 is about to take them back."""

    queue: str = ""
    rules: bool = False
    targets: tuple[str, ...] = ()
    key: str = ""
    identity: tuple[str, str] | None = None
    policies: str = ""
    figures: FiguresOf | None = None
    notices: tuple[str, ...] = ()


@frozen
class InterruptionAnswers:
    """Each answer. `targets` by the name of the rule; `identity`: the ARN of the role by EKS Pod Identity; `notices` by
    instance, of those that have one."""

    queue: Queue | Absent | Unknown = NOT_ASKED
    rules: tuple[EventRule, ...] | Unknown = NOT_ASKED
    targets: Mapping[str, tuple[RuleTarget, ...] | Unknown] = field(default_factory=dict)
    key: KmsKey | Absent | Unknown = NOT_ASKED
    identity: str | Absent | Unknown = NOT_ASKED
    policies: RolePolicies | Absent | Unknown = NOT_ASKED
    figures: Figures | Unknown = NOT_ASKED
    notices: Mapping[str, Notice] | Unknown = NOT_ASKED
