"""The whole observation: every fact that was read, whose cluster it is, and what was not read."""

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
from .kinds import NOT_ASKED, Absent, KindRead, ReadState, Resource, Unknown

if TYPE_CHECKING:
    from .api_objects import (
        ApiService,
        AppliedObjects,
        Definition,
        HelmRelease,
        KindUsage,
        ObjectName,
    )
    from .budgets import Budget
    from .interruption import ReportedChanges, SpotEvent
    from .machines import SaidOptions
    from .network import EndpointSlice, Service, TargetGroupBinding, Webhook
    from .nodes import LogOf, Node, Pod
    from .placing import Claim, CSINode, PersistentVolume, StorageClass, VolumeAttachment
    from .selectors import Labels
    from .workloads import Autoscaler, CronJob, Job, Workload


_TOLD = 3
"""Objects that are not valid and named in what is said of their kind."""


NO_TIME = datetime.fromtimestamp(0, timezone.utc)
"""When a dump was taken of which no object tells a time."""


def _nothing_said() -> SaidOptions:
    from .machines import SaidOptions

    return SaidOptions()


def no_changes() -> ReportedChanges:
    """That nothing was asked about the past."""
    from .interruption import ReportedChanges

    return ReportedChanges()


class Source(str, Enum):
    LIVE = "live"
    SNAPSHOT = "snapshot"
    DEMO = "demo"
    FILE = "file"


_PLAYED = re.compile(r"\+rehearsal\.x(\d{1,9}(?:\.\d{1,9})?)\Z")


def played(version: str, speed: float) -> str:
    """As the version of a simulated cluster tells, in its build metadata, how fast its time passes."""
    return version if speed == 1.0 else f"{version}+rehearsal.x{f'{speed:.9f}'.rstrip('0').rstrip('.')}"


@frozen
class Identity:
    """Which cluster this is; a field that could not be told is "" and is printed as unknown.

    `uid` is that of Namespace kube-system: it outlives every name, and no two clusters share it. `unverified`: which of
    cluster and region the command line alone says, sorted.
    """

    context: str = ""
    cluster: str = ""
    account: str = ""
    region: str = ""
    server_version: str = ""
    uid: str = ""
    unverified: tuple[str, ...] = ()

    def given(self, cluster: str, region: str) -> Identity:
        """With the names of the command line where nothing else tells them."""
        return self.called("" if self.cluster else cluster, "" if self.region else region)

    @property
    def speed(self) -> float:
        """So many of its seconds pass in one: other than 1 only of a rehearsal that is served, whose version tells."""
        played = _PLAYED.search(self.server_version)
        return float(played[1]) if played is not None else 1.0

    @property
    def name(self) -> str:
        """What findings call the cluster: by its own name, else by the context, else by that it has none here."""
        return self.cluster or self.context or "unnamed"

    def called(self, cluster: str, region: str) -> Identity:
        """With the names of the command line that are not "", whatever else tells; new ones are unverified."""
        names = {"cluster": cluster or self.cluster, "region": region or self.region}
        new = {field for field, name in names.items() if name != getattr(self, field)}
        return replace(self, **names, unverified=tuple(sorted({*self.unverified, *new})))

    def confirmed(self, cluster: str, account: str, region: str) -> Identity:
        """As AWS calls it, which described the cluster that is read."""
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
    """A lock of leader election or a node's heartbeat; `holder` is as its holder wrote it."""

    namespace: str
    name: str
    holder: str = ""
    renewed_at: datetime | None = None


@frozen
class NodePool:
    """A Karpenter NodePool; `limits` are (resource, quantity) as written. `node_class` is the name of its EC2NodeClass,
    "" where its nodes are of another kind of class, as EKS Auto Mode's are."""

    name: str
    limits: tuple[tuple[str, str], ...] = ()
    node_class: str = ""


@frozen
class NodeClass:
    """An EC2NodeClass: what Karpenter launches nodes of it with. `amis` are the terms by which it chooses them, as
    written (``alias=al2023@latest``, ``id=ami-0…``); the API server fills in `metadata` as its CRD says."""

    name: str
    metadata: SaidOptions = field(default_factory=_nothing_said)
    ami_family: str = ""
    amis: tuple[str, ...] = ()


@frozen
class SecurityGroupPolicy:
    """It gives the pods that it selects a branch interface of their own, with its security groups, as they start."""

    namespace: str
    name: str


@frozen
class EniConfig:
    """Subnet and security groups that pods of some nodes get with vpc-cni's custom networking."""

    name: str


@frozen
class LeftOut:
    """An object that is not valid. `node`: of a pod, the node it is bound to; None where that cannot be read."""

    resource: Resource
    said: str
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
    claims: tuple[Claim, ...] = ()
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
    definitions: tuple[Definition, ...] = ()
    notes: tuple[str, ...] = ()  # what the reader wants the user to know, e.g. a duplicate that was dropped
    stops: tuple[tuple[str, float], ...] = ()  # template and seconds: how long pods took to stop in earlier runs
    left_out: tuple[LeftOut, ...] = ()  # objects that are not valid: their kinds are not known completely

    def leaving_out(self, found: Iterable[LeftOut]) -> Cluster:
        """With more objects that are not valid: what is said of reading their kinds, and the notes, name them."""
        found = tuple(found)
        left_out: dict[Resource, list[str]] = {}
        for each in (*self.left_out, *found):
            left_out.setdefault(each.resource, []).append(each.said)
        reads = (
            replace(read, state=ReadState.INVALID, detail=_told(left_out[read.resource]))
            if read.resource in left_out and read.state in (ReadState.READ, ReadState.INVALID)
            else read
            for read in self.reads
        )
        notes = (f"left out, as it is not valid: {each.said}" for each in found)
        return replace(self, reads=tuple(reads), notes=(*self.notes, *notes), left_out=(*self.left_out, *found))

    def read_of(self, resource: Resource) -> KindRead:
        """How reading `resource` went; one that nobody asked for counts as not held."""
        for read in self.reads:
            if read.resource is resource:  # as a rule
                return read
        for read in self.reads:
            if read.resource == resource:
                return read
        return KindRead(resource, ReadState.NOT_HELD, detail="was not asked for")

    def unread(self, *resources: Resource) -> tuple[KindRead, ...]:
        """Those of `resources` whose objects are not known completely."""
        return tuple(r for r in map(self.read_of, resources) if not r.known)


def _told(left_out: Sequence[str]) -> str:
    """The notes name all."""
    more = f"; and {len(left_out) - _TOLD:,} more" if len(left_out) > _TOLD else ""
    return f"{len(left_out):,} of its objects left out, as not valid: {'; '.join(left_out[:_TOLD])}{more}"


# What a cluster answered besides its lists: single objects, logs, counters, signs and its past, as they were told.


@frozen
class ClusterAnswers:
    """`histories`: by the full name of a resource and a namespace; `metrics`: by pod (``namespace/name``) and port;
    `applied`: by field manager, and whether of other kinds.
    What nobody asked is not in them."""

    objects: Mapping[ObjectName, Doc | Absent | Unknown] = field(default_factory=dict)
    histories: Mapping[tuple[str, str], tuple[Doc, ...] | Unknown] = field(default_factory=dict)
    logs: Mapping[LogOf, str | Absent | Unknown] = field(default_factory=dict)
    metrics: Mapping[tuple[str, int], str | Absent | Unknown] = field(default_factory=dict)
    events: tuple[SpotEvent, ...] | Unknown = NOT_ASKED
    requested: tuple[str, ...] | Unknown = NOT_ASKED
    written: tuple[KindUsage, ...] = ()
    releases: tuple[HelmRelease, ...] | Unknown = NOT_ASKED
    past: ReportedChanges = field(default_factory=no_changes)
    applied: Mapping[tuple[str, bool], AppliedObjects | Unknown] = field(default_factory=dict)


# Many clusters that are judged together: which they are, and what each of them answered.


@frozen
class Member:
    """One of them. `name`: of its row; what is "" is as the flags and the kubeconfig have it. With a `snapshot` (a
    path) no cluster is asked."""

    name: str
    context: str = ""
    kubeconfig: str = ""
    cluster: str = ""
    region: str = ""
    profile: str = ""
    snapshot: str = ""


@frozen
class MemberFinding:
    """A finding of a member, as its document has it. `subject`: ``Deployment shop/cart``; `gate`: the step of an
    upgrade that waits for it, "" for none."""

    severity: Severity
    status: Status
    subject: str
    message: str
    gate: str = ""


@frozen
class JudgedMember:
    """It was judged. `exit_code`: 0, 1 or 5; `source`: live, snapshot or demo; `observed_at`: RFC 3339, UTC;
    `verdict`: a sentence, "" where its kind of document has none; `document`: all of it."""

    exit_code: int
    who: Identity
    source: str
    observed_at: str
    verdict: str
    findings: tuple[MemberFinding, ...]
    document: Doc


@frozen
class UnjudgedMember:
    """It could not be judged, and why, with what to try ("" where nobody says). `exit_code`: as the command alone would
    exit with; `who`: as far as that is known without asking."""

    exit_code: int
    reason: str
    hint: str = ""
    who: Identity = Identity()


Outcome: TypeAlias = JudgedMember | UnjudgedMember
