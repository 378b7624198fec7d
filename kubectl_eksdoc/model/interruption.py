"""Karpenter's installation and its interruption handling: Events, queue, EventBridge rules, and policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .addons import UpdateHistory
from .api_objects import Doc
from .findings import Subject
from .kinds import NOT_REQUESTED, Absent, Unknown
from .nodes import Container, LogKey, RoleSource
from .quantities import Version

EVENT_DELIVERY = Subject("Interruption", "events")
"""The root cause of every failure in the one chain by which Karpenter receives interruption events, and of its
consequences for nodes: one stack creates everything that is missing."""


@frozen
class QueueSetting:
    """The name of a queue, and where it is set. "" disables interruption handling."""

    queue: str
    where: str


@frozen
class KarpenterInstall:
    """A Deployment of Karpenter. `version` is None if neither its labels nor its image show it; `tag`: the version in
    its image tag. The queue is set in `argument` (--interruption-queue), `variable` (INTERRUPTION_QUEUE), or in older
    versions in `config_map` (karpenter-global-settings). `container`: the name of Karpenter's container; `release`: the
    Helm release; `metrics_port`: 0 if it names none. `irsa`: the ARN of the role that its service account names."""

    namespace: str
    name: str
    version: Version | None = None
    tag: str = ""
    argument: QueueSetting | Absent | Unknown = Absent("it has no such argument")
    variable: QueueSetting | Absent | Unknown = Absent("it has no such variable")
    config_map: QueueSetting | Absent | Unknown = Absent("there is none")
    container: str = ""
    cluster_name: str = ""
    service_account: str = ""
    irsa: str | Absent | Unknown = Absent("its service account names no role")
    role_by: RoleSource = RoleSource.NONE
    release: str = ""
    pods: tuple[str, ...] = ()
    replicas: int = 0
    metrics_port: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class InterruptionEvent:
    """A Kubernetes Event about a node by Karpenter or the node termination handler; `node` is "" if it is about a
    NodeClaim whose node is not known."""

    reason: str
    node: str
    at: datetime | None = None
    claim: str = ""


@frozen
class AwsLocation:
    """The cluster's location in AWS, "" for unknown values."""

    account: str = ""
    region: str = ""
    partition: str = "aws"
    cluster: str = ""
    auto_mode: bool = False

    def arn(self, service: str, resource: str) -> str:
        """An ARN in this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    @property
    def is_known(self) -> bool:
        return bool(self.account and self.region)


# Past changes in and around a cluster, from sources with a history: revisions, Events, EKS updates.


@frozen
class Revision:
    """A pod template of a workload: a ReplicaSet, or a ControllerRevision. `number`: "" if there is none."""

    of: Subject
    at: datetime
    number: str = ""


@frozen
class KubernetesEvent:
    """A Kubernetes Event, usually of the last hour. `at`: the last occurrence; `count`: the number of occurrences."""

    at: datetime
    reason: str
    about: Subject
    message: str = ""
    warning: bool = False
    count: int = 1


@frozen
class PodReport:
    """The current facts about one pod (``namespace/name``). `logs`: the last lines of each container, and of its
    previous instance if that terminated."""

    pod: str
    containers: tuple[Container, ...] | Absent | Unknown
    events: tuple[KubernetesEvent, ...] | Absent | Unknown
    logs: Mapping[LogKey, str | Absent | Unknown] = field(default_factory=dict)


@frozen
class ReportedChanges:
    """Each answer, or the reason why there is none. `revisions`: by the kind of their workloads (Deployment,
    DaemonSet); `addons`: updates by the name of the add-on."""

    revisions: Mapping[str, tuple[Revision, ...] | Unknown] = field(default_factory=dict)
    events: tuple[KubernetesEvent, ...] | Unknown = NOT_REQUESTED
    addons: Mapping[str, UpdateHistory | Absent | Unknown] | Unknown = NOT_REQUESTED


# Queues, the EventBridge rules that fill them, their encryption keys, and the policies that allow access.


@frozen
class Queue:
    """An SQS queue. `policy` is None if it has none; `key`: the ID, ARN or alias of its KMS key, "" with SQS-managed or
    no encryption. `waiting`: approximate number of messages that have not been received."""

    name: str
    url: str
    arn: str
    policy: Doc | Unknown | None = None
    key: str = ""
    retention_s: int | None = None
    waiting: int | None = None


@frozen
class KmsKey:
    """A KMS key. `manager` is ``CUSTOMER`` or ``AWS``: the policy of an AWS managed key cannot be changed."""

    arn: str
    manager: str
    enabled: bool = True
    policy: Doc | Unknown = field(default_factory=dict)


@frozen
class EventRule:
    """A rule of EventBridge's default bus; `pattern` is None for a scheduled rule."""

    name: str
    arn: str
    pattern: Doc | Unknown | None
    state: str = "ENABLED"

    @property
    def enabled(self) -> bool:
        return self.state.startswith("ENABLED")


@frozen
class RuleTarget:
    """A target of a rule. `shaped`: it does not receive the original event (Input, InputPath, InputTransformer)."""

    id: str
    arn: str
    shaped: bool = False


@frozen
class RolePolicies:
    """The policies of a role, each with its name. `unread`: those that could not be read; `boundary`: its permissions
    boundary, None if it has none."""

    arn: str
    documents: tuple[tuple[str, Doc], ...] = ()
    unread: tuple[Unknown, ...] = ()
    boundary: Doc | Unknown | None = None


@frozen
class SpotInterruptionNotice:
    """A Spot Instance that EC2 is about to interrupt (status code ``marked-for-termination`` and similar)."""

    instance: str
    code: str
    since: datetime | None = None


@frozen
class MetricsQuery:
    """The metrics to read from CloudWatch: of a queue ("" for none) and of rules, in the day before `until`."""

    queue: str
    rules: tuple[str, ...]
    until: datetime


@frozen
class DeliveryMetrics:
    """Sums of CloudWatch metrics of the last day, by rule: matched events, and failed invocations. Of the queue in the
    last hour: empty receives, and deleted messages. None: no data."""

    matched: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    empty: int | None = None
    deleted: int | None = None


@frozen
class InterruptionQuery:
    """What to read, by the names of the answers. `identity`: namespace and name of the service account whose Pod
    Identity role is read; `policies`: the ARN of the role whose policies are read; `notices`: the instances whose Spot
    interruption notices are read."""

    queue: str = ""
    rules: bool = False
    targets: tuple[str, ...] = ()
    key: str = ""
    identity: tuple[str, str] | None = None
    policies: str = ""
    figures: MetricsQuery | None = None
    notices: tuple[str, ...] = ()


@frozen
class InterruptionAnswers:
    """Each answer. `targets` by the name of the rule; `identity`: the ARN of the Pod Identity role; `notices` by
    instance, for instances that have one."""

    queue: Queue | Absent | Unknown = NOT_REQUESTED
    rules: tuple[EventRule, ...] | Unknown = NOT_REQUESTED
    targets: Mapping[str, tuple[RuleTarget, ...] | Unknown] = field(default_factory=dict)
    key: KmsKey | Absent | Unknown = NOT_REQUESTED
    identity: str | Absent | Unknown = NOT_REQUESTED
    policies: RolePolicies | Absent | Unknown = NOT_REQUESTED
    figures: DeliveryMetrics | Unknown = NOT_REQUESTED
    notices: Mapping[str, SpotInterruptionNotice] | Unknown = NOT_REQUESTED
