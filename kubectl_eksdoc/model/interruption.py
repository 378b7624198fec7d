"""Karpenter as it is installed, and what it says of interruptions: the cluster's side of their handling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import UpdateHistory
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.kinds import NOT_ASKED, Absent, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf, RoleBy
from kubectl_eksdoc.model.quantities import Version

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
