"""The observation of a cluster: every fact that was read, the identity of the cluster, and what was not read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from kubectl_eksdoc.frozen import frozen

from .api_objects import Doc
from .findings import Severity, Status
from .kinds import NOT_REQUESTED, Absent, KindRead, ReadState, Resource, Unknown

if TYPE_CHECKING:
    from .api_objects import (
        ApiService,
        AppliedObjects,
        CustomResourceDefinition,
        HelmRelease,
        KindUsage,
        ObjectName,
    )
    from .budgets import Budget
    from .interruption import InterruptionEvent, ReportedChanges
    from .machines import DeclaredMetadataOptions
    from .network import EndpointSlice, Service, TargetGroupBinding, Webhook
    from .nodes import LogKey, Node, Pod
    from .placement import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
    from .selectors import Labels
    from .workloads import Autoscaler, CronJob, Job, Workload


_MAX_LISTED = 3
"""Number of objects that are not valid and named in the message about their kind."""


UNKNOWN_TIME = datetime.fromtimestamp(0, timezone.utc)
"""Observation time of a dump in which no object has a time."""


def _no_options() -> DeclaredMetadataOptions:
    from .machines import DeclaredMetadataOptions

    return DeclaredMetadataOptions()


def no_changes() -> ReportedChanges:
    """No changes of the past were requested."""
    from .interruption import ReportedChanges

    return ReportedChanges()


class Source(str, Enum):
    LIVE = "live"
    SNAPSHOT = "snapshot"
    DEMO = "demo"
    FILE = "file"


_SIMULATED_SPEED = re.compile(r"\+rehearsal\.x(\d{1,9}(?:\.\d{1,9})?)\Z")


def simulated_version(version: str, speed: float) -> str:
    """The version of a simulated cluster, with the speed of its clock in the build metadata."""
    return version if speed == 1.0 else f"{version}+rehearsal.x{f'{speed:.9f}'.rstrip('0').rstrip('.')}"


@frozen
class Identity:
    """Identifies a cluster; an unknown field is "" and is printed as unknown.

    `uid` is the UID of Namespace kube-system: it never changes, and no two clusters share it. `unverified`: which of
    cluster and region only the command line names, sorted.
    """

    context: str = ""
    cluster: str = ""
    account: str = ""
    region: str = ""
    server_version: str = ""
    uid: str = ""
    unverified: tuple[str, ...] = ()

    def with_defaults(self, cluster: str, region: str) -> Identity:
        """With the names of the command line where there is no other source."""
        return self.with_names("" if self.cluster else cluster, "" if self.region else region)

    @property
    def speed(self) -> float:
        """Seconds of the cluster's clock for one real second: other than 1 only for a served rehearsal, whose version
        gives it."""
        match = _SIMULATED_SPEED.search(self.server_version)
        return float(match[1]) if match is not None else 1.0

    @property
    def name(self) -> str:
        """The name of the cluster in findings: its own name, else the context, else "unnamed"."""
        return self.cluster or self.context or "unnamed"

    def with_names(self, cluster: str, region: str) -> Identity:
        """With the names of the command line that are not "", which take precedence; changed names are unverified."""
        names = {"cluster": cluster or self.cluster, "region": region or self.region}
        changed_fields = {field for field, name in names.items() if name != getattr(self, field)}
        return replace(self, **names, unverified=tuple(sorted({*self.unverified, *changed_fields})))

    def verified_as(self, cluster: str, account: str, region: str) -> Identity:
        """With the names of AWS, after AWS has described the cluster that is read."""
        return replace(self, cluster=cluster, account=account, region=region, unverified=())


@frozen
class Namespace:
    name: str
    labels: Labels = field(default_factory=dict)
    terminating: bool = False


@frozen
class PriorityClass:
    name: str
    value: int = 0
    preempts: bool = True


@frozen
class Lease:
    """A lock of leader election or a node's heartbeat; `holder` as its holder wrote it."""

    namespace: str
    name: str
    holder: str = ""
    renewed_at: datetime | None = None


@frozen
class NodePool:
    """A Karpenter NodePool; `limits` are (resource, quantity) as written. `node_class` is the name of its EC2NodeClass,
    "" if its nodes use another kind of node class, as in EKS Auto Mode."""

    name: str
    limits: tuple[tuple[str, str], ...] = ()
    node_class: str = ""


@frozen
class NodeClass:
    """An EC2NodeClass: how Karpenter launches nodes. `amis` are its AMI selector terms as written
    (``alias=al2023@latest``, ``id=ami-0…``); the API server fills in `metadata` with the defaults of its CRD."""

    name: str
    metadata: DeclaredMetadataOptions = field(default_factory=_no_options)
    ami_family: str = ""
    amis: tuple[str, ...] = ()


@frozen
class SecurityGroupPolicy:
    """Gives the pods that it selects a branch interface with its security groups when they start."""

    namespace: str
    name: str


@frozen
class EniConfig:
    """Subnet and security groups for pods on some nodes, with the custom networking of vpc-cni."""

    name: str


@frozen
class InvalidEntry:
    """An object that is not valid. `node`: of a pod, the node it is bound to; None if that cannot be read."""

    resource: Resource
    message: str
    node: str | None = None


@frozen
class Cluster:
    """Everything observed at `observed_at`. Tuples are sorted by namespace and name."""

    identity: Identity
    source: Source
    observed_at: datetime
    reads: tuple[KindRead, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    budgets: tuple[Budget, ...] = ()
    workloads: tuple[Workload, ...] = ()
    jobs: tuple[Job, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    volume_attachments: tuple[VolumeAttachment, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    leases: tuple[Lease, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    services: tuple[Service, ...] = ()
    endpoint_slices: tuple[EndpointSlice, ...] = ()
    target_group_bindings: tuple[TargetGroupBinding, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    security_group_policies: tuple[SecurityGroupPolicy, ...] = ()
    eni_configs: tuple[EniConfig, ...] = ()
    cron_jobs: tuple[CronJob, ...] = ()
    api_services: tuple[ApiService, ...] = ()
    definitions: tuple[CustomResourceDefinition, ...] = ()
    notes: tuple[str, ...] = ()  # messages of the reader for the user, e.g. about a dropped duplicate
    stops: tuple[tuple[str, float], ...] = ()  # pod template, and seconds its pods took to stop in earlier runs
    invalid_entries: tuple[InvalidEntry, ...] = ()  # objects that are not valid: their kinds are not known completely

    def with_invalid(self, entries: Iterable[InvalidEntry]) -> Cluster:
        """Add objects that are not valid: the read state of their kinds and the notes name them."""
        entries = tuple(entries)
        messages: dict[Resource, list[str]] = {}
        for each in (*self.invalid_entries, *entries):
            messages.setdefault(each.resource, []).append(each.message)
        reads = (
            replace(read, state=ReadState.INVALID, detail=_invalid_summary(messages[read.resource]))
            if read.resource in messages and read.state in (ReadState.READ, ReadState.INVALID)
            else read
            for read in self.reads
        )
        notes = (f"left out, as it is not valid: {each.message}" for each in entries)
        return replace(
            self, reads=tuple(reads), notes=(*self.notes, *notes), invalid_entries=(*self.invalid_entries, *entries)
        )

    def read_of(self, resource: Resource) -> KindRead:
        """The result of reading `resource`; a resource that was not requested counts as not held."""
        for read in self.reads:
            if read.resource is resource:  # the usual case
                return read
        for read in self.reads:
            if read.resource == resource:
                return read
        return KindRead(resource, ReadState.NOT_HELD, detail="was not asked for")

    def not_read(self, *resources: Resource) -> tuple[KindRead, ...]:
        """The reads of those `resources` whose objects are not known completely."""
        return tuple(r for r in map(self.read_of, resources) if not r.known)


def _invalid_summary(messages: Sequence[str]) -> str:
    """A summary for the read state; the notes name all of them."""
    further = f"; and {len(messages) - _MAX_LISTED:,} more" if len(messages) > _MAX_LISTED else ""
    return f"{len(messages):,} of its objects left out, as not valid: {'; '.join(messages[:_MAX_LISTED])}{further}"


# Answers of a cluster besides its lists: single objects, logs, metrics, Events and past changes, unchanged.


@frozen
class ClusterAnswers:
    """The answers of a cluster besides its lists; what was not requested is not included.

    `histories`: by the full name of a resource and a namespace; `metrics`: by pod (``namespace/name``) and port;
    `applied`: by field manager, and whether other kinds are included."""

    objects: Mapping[ObjectName, Doc | Absent | Unknown] = field(default_factory=dict)
    histories: Mapping[tuple[str, str], tuple[Doc, ...] | Unknown] = field(default_factory=dict)
    logs: Mapping[LogKey, str | Absent | Unknown] = field(default_factory=dict)
    metrics: Mapping[tuple[str, int], str | Absent | Unknown] = field(default_factory=dict)
    events: tuple[InterruptionEvent, ...] | Unknown = NOT_REQUESTED
    requested: tuple[str, ...] | Unknown = NOT_REQUESTED
    written: tuple[KindUsage, ...] = ()
    releases: tuple[HelmRelease, ...] | Unknown = NOT_REQUESTED
    past: ReportedChanges = field(default_factory=no_changes)
    applied: Mapping[tuple[str, bool], AppliedObjects | Unknown] = field(default_factory=dict)


# A fleet of clusters that are checked together: its members, and the answer of each.


@frozen
class FleetMember:
    """A cluster of the fleet. `name`: of its row; an empty field is taken from the flags and the kubeconfig. With a
    `snapshot` (a path) no cluster is contacted."""

    name: str
    context: str = ""
    kubeconfig: str = ""
    cluster: str = ""
    region: str = ""
    profile: str = ""
    snapshot: str = ""


@frozen
class MemberFinding:
    """A finding of a member, from its JSON document. `subject`: ``Deployment shop/cart``; `gate`: the upgrade step that
    it blocks, "" for none."""

    severity: Severity
    status: Status
    subject: str
    message: str
    gate: str = ""


@frozen
class JudgedMember:
    """A member that was checked. `exit_code`: 0, 1 or 5; `source`: live, snapshot or demo; `observed_at`: RFC 3339,
    UTC; `verdict`: a sentence, "" if its kind of document has none; `document`: the complete document."""

    exit_code: int
    who: Identity
    source: str
    observed_at: str
    verdict: str
    findings: tuple[MemberFinding, ...]
    document: Doc


@frozen
class UnjudgedMember:
    """A member that could not be checked, with the reason and a hint ("" if there is none). `exit_code`: that of the
    command alone; `who`: the cluster, as far as it is known without contacting it."""

    exit_code: int
    reason: str
    hint: str = ""
    who: Identity = Identity()


MemberOutcome: TypeAlias = JudgedMember | UnjudgedMember
