"""Karpenter as it is installed, and what it says of interruptions: the cluster's side of their handling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .addons import UpdateHistory
from .api_objects import Doc
from .findings import Subject
from .kinds import NOT_ASKED, Absent, Unknown
from .nodes import Container, LogOf, RoleBy
from .quantities import Version

EVENTS = Subject("Interruption", "events")
"""What fails of the one chain by which Karpenter receives interruption events comes from it, and so does what nodes
lose without them: one stack makes what is missing."""


@frozen
class Setting:
    """The name of a queue, and where it is written. "" is what switches interruption handling off."""

    queue: str
    where: str


@frozen
class KarpenterInstall:
    """A Deployment of Karpenter. `version` is None where neither its labels nor its image tell; `tag`: the version as
    its image writes it. The queue is set in `argument` (--interruption-queue), `variable` (INTERRUPTION_QUEUE), or in
    older versions in `config_map` (karpenter-global-settings). `container`: the one that is Karpenter; `release`: of
    Helm; `metrics_port`: 0 where it names none. `irsa`: the ARN of the role that its service account names."""

    namespace: str
    name: str
    version: Version | None = None
    tag: str = ""
    argument: Setting | Absent | Unknown = Absent("it has no such argument")
    variable: Setting | Absent | Unknown = Absent("it has no such variable")
    config_map: Setting | Absent | Unknown = Absent("there is none")
    container: str = ""
    cluster_name: str = ""
    service_account: str = ""
    irsa: str | Absent | Unknown = Absent("its service account names no role")
    role_by: RoleBy = RoleBy.NOBODY
    release: str = ""
    pods: tuple[str, ...] = ()
    replicas: int = 0
    metrics_port: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class SpotEvent:
    """An Event of Kubernetes that Karpenter, or the node termination handler, has written of a node; `node` is "" where
    it is about a NodeClaim of which the node is not known."""

    reason: str
    node: str
    at: datetime | None = None
    claim: str = ""


@frozen
class AwsPlace:
    """Of the cluster in AWS, "" for what is not known."""

    account: str = ""
    region: str = ""
    partition: str = "aws"
    cluster: str = ""
    auto_mode: bool = False

    def arn(self, service: str, rest: str) -> str:
        """In this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{rest}"

    @property
    def known(self) -> bool:
        return bool(self.account and self.region)


# What has changed in a cluster and around it, as those tell it who keep a past: revisions, Events, updates of EKS.


@frozen
class Revision:
    """A pod template that a workload was given: a ReplicaSet, or a ControllerRevision. `number`: "" where none is
    told."""

    of: Subject
    at: datetime
    number: str = ""


@frozen
class ReportedEvent:
    """An Event of Kubernetes, of the last hour as a rule. `at`: the last time; `count`: how often."""

    at: datetime
    reason: str
    about: Subject
    message: str = ""
    warning: bool = False
    count: int = 1


@frozen
class PodReport:
    """What a cluster says of one pod (``namespace/name``) now. `logs`: the last lines of each container, and of the one
    before it where that ended."""

    pod: str
    containers: tuple[Container, ...] | Absent | Unknown
    events: tuple[ReportedEvent, ...] | Absent | Unknown
    logs: Mapping[LogOf, str | Absent | Unknown] = field(default_factory=dict)


@frozen
class ReportedChanges:
    """Each answer, or why there is none. `revisions`: by the kind of what they are of (Deployment, DaemonSet);
    `addons`: updates by the name of the add-on."""

    revisions: Mapping[str, tuple[Revision, ...] | Unknown] = field(default_factory=dict)
    events: tuple[ReportedEvent, ...] | Unknown = NOT_ASKED
    addons: Mapping[str, UpdateHistory | Absent | Unknown] | Unknown = NOT_ASKED


# Queues, rules that fill them, the keys they are encrypted with, and the policies that allow it all.


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
