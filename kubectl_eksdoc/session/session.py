"""Cluster session: one observation of a cluster and its AWS side, in which every question is asked only once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from kubectl_eksdoc.errors import AwsDenied, AwsLogin, SnapshotError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import AWS_DISABLED, Absent, AwsUnavailable, Unknown, missing_rights

from .aws import cluster_from_snapshot, identifying_flags, verify_live_cluster
from .sources import DemoSnapshot, Progress, SnapshotScene, SourceChoice, open_reader, open_scene

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kube.single_objects import SingleObjects
    from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.eks import EksCluster
    from kubectl_eksdoc.model.kinds import Resource
    from kubectl_eksdoc.objects.dump_readers import DumpChangeReader, DumpObjectReader, DumpSignReader
    from kubectl_eksdoc.objects.snapshot_answers import DumpApiUsage
    from kubectl_eksdoc.ports import (
        ApiUsageReader,
        AppliedReader,
        ChangeReader,
        ExtraReader,
        HistoryReader,
        InterruptionReader,
        ObjectReader,
        PodReader,
    )

A = TypeVar("A")
P = ParamSpec("P")


class AwsRequirement(Enum):
    """What a command does where the AWS side of the cluster cannot be verified."""

    REQUIRED = "required"  # the command fails
    OPTIONAL = "optional"  # AWS data is unknown: access is denied, or the cluster or region is not known
    WITHOUT_LOGIN = "without login"  # AWS data is unknown without credentials, too
    LEFT_OUT = "left out"  # the command sends no request to AWS


@frozen
class ClusterNeeds:
    """What `command` needs of a cluster, declared before reading, because a dump is read in one pass.

    `kinds`: lists; `objects`: single ones by their names; `histories`: kinds of which earlier pod templates are
    requested. `interruptions`: Events and metrics about interruptions; `api_usage`: which clients use which API
    version; `changes`: what shows recent changes."""

    command: str
    kinds: Sequence[Resource]
    objects: Collection[ObjectName] = ()
    histories: Collection[Resource] = ()
    interruptions: bool = False
    api_usage: bool = False
    changes: bool = False
    aws: AwsRequirement = AwsRequirement.OPTIONAL


@frozen
class SessionRequest:
    """Arguments of a session. `aws_request`: which cluster of AWS; `verify`: verifies the AWS side of a live one."""

    source: SourceChoice
    connection: Connection
    aws_request: AwsRequest
    needs: ClusterNeeds
    progress: Progress | None = None
    verify: Callable[[Connection, AwsRequest], VerifiedCluster] = verify_live_cluster


class ClusterSession:
    """One observation, for one thread. Mutable: it caches answers, so no decision may rest on it after the cluster may
    have changed; `reobserve` gives a new one. All members may raise ClusterError, SnapshotError and AwsError: nothing
    can be asked."""

    live = False
    login: AwsLogin | None = None
    """Set where there are no credentials for AWS, or AWS accepts none of them."""

    def __init__(self, request: SessionRequest) -> None:
        self.request = request

    @property
    def needs(self) -> ClusterNeeds:
        return self.request.needs

    def reobserve(self, needs: ClusterNeeds | None = None) -> ClusterSession:
        """A new observation of the same cluster, with the same needs or others: no cached answer is reused."""
        return open_session(replace(self.request, needs=needs or self.needs, progress=None))

    @cached_property
    def aws(self) -> VerifiedCluster | Unknown:
        """The AWS side of the cluster, or why it is unknown.

        Raises:
            AwsError, UsageError: as `aws.asking.verify_cluster`, unless the needs let it be unknown.
        """
        use = self.needs.aws
        cluster: VerifiedCluster | Unknown = AWS_DISABLED
        try:
            if use is not AwsRequirement.LEFT_OUT:
                cluster = self._open_aws() if use is AwsRequirement.REQUIRED else unknown_if_denied(self._open_aws)
        except AwsLogin as error:
            if use is not AwsRequirement.WITHOUT_LOGIN:
                raise
            self.login = error
            hint = f" ({error.hint.rstrip('.')})" if error.hint else ""
            cluster = Unknown(f"AWS was not asked: {error.message}{hint}")
        return AwsUnavailable(cluster.why, cluster.missing) if isinstance(cluster, Unknown) else cluster

    @property
    def verified_aws(self) -> VerifiedCluster:
        """The AWS side of the cluster.

        Raises:
            SnapshotError, AwsDenied: AWS is unknown.
        """
        cluster = self.aws
        if not isinstance(cluster, Unknown):
            return cluster
        if self.live:
            raise AwsDenied(f"{cluster.why}, so nothing can be changed", "", cluster.missing)
        raise SnapshotError(
            f"{cluster.why}, and an add-on's update cannot be judged without them",
            "Ask the live cluster, or a snapshot that was made with kubectl eksdoc snapshot.",
        )

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster with the names that AWS has for it; without AWS, with the names of the command line where no
        other source has one. Its `reads` say which lists could not be read."""
        aws = (
            self.verified_aws if self.needs.aws is AwsRequirement.REQUIRED else self.aws
        )  # first: it verifies which cluster it is
        return with_aws_identity(self._read_cluster(), aws, self.request.aws_request)

    def ask(
        self, question: Callable[Concatenate[VerifiedCluster, P], A], *args: P.args, **kwargs: P.kwargs
    ) -> A | Unknown:
        """The answer to a `question` of `aws`, or why the AWS side is unknown."""
        cluster = self.aws
        return cluster if isinstance(cluster, Unknown) else question(cluster, *args, **kwargs)

    def require(self, question: Callable[Concatenate[VerifiedCluster, P], A], *args: P.args, **kwargs: P.kwargs) -> A:
        """The answer to a `question` of `aws`. Raises: as `verified_aws`."""
        return question(self.verified_aws, *args, **kwargs)

    @property
    def eks(self) -> EksCluster | Unknown:
        return self.aws if isinstance(self.aws, Unknown) else self.aws.cluster

    @property
    def recognised(self) -> str:
        """How AWS was verified to describe the cluster that was read, a clause; "" where AWS is unknown."""
        return "" if isinstance(self.aws, Unknown) else self.aws.matched_by

    @property
    def aws_calls(self) -> str:
        """A sentence about the requests sent to AWS so far; "" without any."""
        return "" if isinstance(self.aws, Unknown) else str(getattr(self.aws.aws, "said", ""))

    @property
    def denied_actions(self) -> tuple[str, ...]:
        """The IAM actions that AWS has refused so far, sorted."""
        if isinstance(self.aws, Unknown):
            return missing_rights(self.aws)
        return tuple(getattr(self.aws.aws, "denied", ()))

    @property
    def profile(self) -> str:
        """The awscli profile of the requests to AWS; "" for the default profile, or without requests."""
        access = None if isinstance(self.aws, Unknown) or not self.live else getattr(self.aws.aws, "access", None)
        return str(getattr(access, "profile", ""))

    @property
    def aws_flags(self) -> tuple[str, ...]:
        """The flags that another command needs to find the cluster in AWS, where AWS was not asked and no other source
        names it."""
        if not self.live or not isinstance(self.aws, Unknown):
            return ()
        return identifying_flags(self.request.connection, self.request.aws_request, self.cluster.identity)

    @cached_property
    def objects(self) -> ObjectReader:
        return self._extra_reader

    @cached_property
    def applied(self) -> AppliedReader:
        return self._extra_reader

    @property
    def live_objects(self) -> ObjectReader:
        """Objects that are read again at each question, for following a change."""
        return self.objects

    @cached_property
    def histories(self) -> HistoryReader:
        return self._extra_reader

    @cached_property
    def pod_reader(self) -> PodReader:
        return self._extra_reader

    @cached_property
    def interruption_reader(self) -> InterruptionReader:
        return self._extra_reader

    @cached_property
    def api_usage(self) -> ApiUsageReader:
        return self._extra_reader

    @cached_property
    def change_reader(self) -> ChangeReader:
        return self._extra_reader

    @cached_property
    def _extra_reader(self) -> ExtraReader:
        raise NotImplementedError

    def _open_aws(self) -> VerifiedCluster | Unknown:
        raise NotImplementedError

    def _read_cluster(self) -> Cluster:
        raise NotImplementedError


def open_session(request: SessionRequest) -> ClusterSession:
    """A session that reads nothing before its first use.

    Raises:
        SnapshotError: the snapshot cannot be read.
    """
    if request.source.live:
        return LiveSession(request)
    scene = open_scene(request.source, request.needs.command)
    return DumpSession(request) if scene is None else SnapshotSession(request, scene)


class ObservedSession(ClusterSession):
    """A session over a cluster and an AWS side that were read already."""

    def __init__(
        self,
        cluster: Cluster,
        aws: VerifiedCluster | Unknown,
        extra_reader: ExtraReader | None = None,
        live: bool = False,
    ) -> None:
        self.cluster, self.aws, self.live = cluster, aws, live
        if extra_reader is not None:
            self._extra_reader = extra_reader


class SnapshotSession(ClusterSession):
    """A session over a snapshot that this tool wrote, or over the demo, in the scene of the command."""

    def __init__(self, request: SessionRequest, scene: SnapshotScene | DemoSnapshot) -> None:
        super().__init__(request)
        self._scene = scene

    def _open_aws(self) -> VerifiedCluster | Unknown:
        return self._scene.aws()

    def _read_cluster(self) -> Cluster:
        return self._scene.reader(self.request.progress).read(self.needs.kinds)

    @cached_property
    def _extra_reader(self) -> ExtraReader:
        return self._scene.extra_reader()


class LiveSession(ClusterSession):
    live = True

    def _open_aws(self) -> VerifiedCluster:
        return self.request.verify(self.request.connection, self.request.aws_request)

    def _read_cluster(self) -> Cluster:
        request = self.request
        return open_reader(request.source, request.connection, request.progress).read(self.needs.kinds)

    @cached_property
    def objects(self) -> CachedObjectReader:
        return CachedObjectReader(self.live_objects)

    @property
    def applied(self) -> AppliedReader:
        return self.objects

    @cached_property
    def live_objects(self) -> SingleObjects:
        from kubectl_eksdoc.kube.single_objects import SingleObjects

        return SingleObjects(self.request.connection)

    @cached_property
    def histories(self) -> HistoryReader:
        from kubectl_eksdoc.kube.single_objects import NamespaceLists

        return NamespaceLists(self.request.connection)

    @cached_property
    def pod_reader(self) -> PodReader:
        from kubectl_eksdoc.kube import pod_details

        return pod_details.LivePodReader(self.request.connection)

    @cached_property
    def interruption_reader(self) -> InterruptionReader:
        from kubectl_eksdoc.kube.api_usage import LiveInterruptionEvents

        return LiveInterruptionEvents(self.request.connection)

    @cached_property
    def api_usage(self) -> ApiUsageReader:
        from kubectl_eksdoc.kube.api_usage import LiveApiUsage

        return LiveApiUsage(self.request.connection)

    @cached_property
    def change_reader(self) -> ChangeReader:
        from kubectl_eksdoc.kube import api_usage

        return api_usage.LiveChanges(self.request.connection)


class DumpSession(ClusterSession):
    """A session over the output of ``kubectl get`` or ``kubectl cluster-info dump``. It is read in one pass, in which
    the declared needs are kept; single pods take another pass."""

    def _open_aws(self) -> VerifiedCluster | Unknown:
        return cluster_from_snapshot(self.request.source.snapshot)

    def _read_cluster(self) -> Cluster:
        from kubectl_eksdoc.model.kinds import REPLICA_SETS
        from kubectl_eksdoc.objects.dump_readers import CombinedCollector

        objects, interruptions, api_usage, changes = self._object_stores
        needs, request = self.needs, self.request
        declared = ((interruptions, needs.interruptions), (api_usage, needs.api_usage), (changes, needs.changes))
        stores = CombinedCollector((objects, *(each for each, wanted in declared if wanted)))
        kinds = dict.fromkeys((*needs.kinds, *objects.resources, *((REPLICA_SETS,) if needs.changes else ())))
        return open_reader(request.source, request.connection, request.progress, raw=stores).read(tuple(kinds))

    @cached_property
    def _object_stores(self) -> tuple[DumpObjectReader, DumpSignReader, DumpApiUsage, DumpChangeReader]:
        from kubectl_eksdoc.objects.dump_readers import DumpChangeReader, DumpObjectReader, DumpSignReader
        from kubectl_eksdoc.objects.snapshot_answers import DumpApiUsage

        source, needs = self._source, self.needs
        objects = DumpObjectReader(needs.objects, source, needs.histories, needs.interruptions)
        return objects, DumpSignReader(source), DumpApiUsage(source), DumpChangeReader(source)

    def _filled_stores(
        self, declared: bool = True
    ) -> tuple[DumpObjectReader, DumpSignReader, DumpApiUsage, DumpChangeReader]:
        assert declared, "a dump is gone through once, and the needs declare what is kept then"
        assert self.cluster
        return self._object_stores

    @property
    def _source(self) -> str:
        return f"the snapshot {self.request.source.snapshot}"

    @cached_property
    def objects(self) -> ObjectReader:
        return self._filled_stores()[0]

    @cached_property
    def applied(self) -> AppliedReader:
        return self._object_stores[0]

    @cached_property
    def histories(self) -> HistoryReader:
        return self._filled_stores()[0]

    @cached_property
    def pod_reader(self) -> PodReader:
        from kubectl_eksdoc.model.kinds import PODS
        from kubectl_eksdoc.objects.dump_readers import DumpPodReader

        request = self.request
        return DumpPodReader(
            lambda raw: open_reader(request.source, request.connection, raw=raw).read([PODS]), self._source
        )

    @cached_property
    def interruption_reader(self) -> InterruptionReader:
        return self._filled_stores(self.needs.interruptions)[1]

    @cached_property
    def api_usage(self) -> ApiUsageReader:
        return self._filled_stores(self.needs.api_usage)[2]

    @cached_property
    def change_reader(self) -> ChangeReader:
        return self._filled_stores(self.needs.changes)[3]


class CachedObjectReader:
    """An `ObjectReader` and an `AppliedReader` that cache the answers of another one. Mutable."""

    def __init__(self, objects: SingleObjects) -> None:
        self._objects = objects
        self._objects_by_name: dict[ObjectName, Doc | Absent | Unknown] = {}
        self._applied: dict[tuple[str, bool], AppliedObjects | Unknown] = {}

    def read_object(self, name: ObjectName) -> Doc | Absent | Unknown:
        if name not in self._objects_by_name:
            self._objects_by_name[name] = self._objects.read_object(name)
        return self._objects_by_name[name]

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        if (manager, others) not in self._applied:
            self._applied[manager, others] = self._objects.applied_by(manager, others)
        return self._applied[manager, others]


def unknown_if_denied(open_aws: Callable[[], A]) -> A | Unknown:
    """The result of `open_aws`, or Unknown where AWS denies access or the cluster or region is not known.

    Raises:
        ConfigError, SnapshotError, AwsError: as `open_aws`.
    """
    try:
        return open_aws()
    except AwsDenied as error:
        return Unknown(f"nothing that AWS says can be believed: {error.message}", error.missing)
    except UsageError as error:
        return Unknown(f"AWS was not asked: {error.message}")


def with_aws_identity(cluster: Cluster, aws: VerifiedCluster | Unknown, request: AwsRequest) -> Cluster:
    """`cluster` with the names that AWS has for it; without AWS, with the names of the command line where no other
    source has one."""
    identity = cluster.identity
    if isinstance(aws, Unknown):
        return replace(cluster, identity=identity.with_defaults(request.cluster, request.region))
    eks = aws.cluster
    return replace(cluster, identity=identity.verified_as(eks.name, eks.account, eks.region))
