"""Cluster session: one observation of a cluster and its AWS side, in which every question is asked only once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from kubectl_eksdoc.errors import AwsDenied, AwsLogin, SnapshotError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import LEFT_OUT, Absent, NoAws, Unknown, missing_rights

from .aws import believe_live, naming, recorded
from .sources import DemoSnapshot, Progress, SnapshotScene, SourceChoice, kept, open_reader

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kube.single_objects import SingleObjects
    from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.eks import EksCluster
    from kubectl_eksdoc.model.kinds import Resource
    from kubectl_eksdoc.objects.held import HeldChanges, HeldObjects, HeldSigns
    from kubectl_eksdoc.objects.held_answers import HeldApis
    from kubectl_eksdoc.ports import (
        AppliedReader,
        ChangeReader,
        ExtraReader,
        Histories,
        ObjectReader,
        PodReader,
        Signs,
        UsageSigns,
    )

A = TypeVar("A")
P = ParamSpec("P")


class AwsUse(Enum):
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
    signs: bool = False
    usage: bool = False
    past: bool = False
    aws: AwsUse = AwsUse.OPTIONAL


@frozen
class SessionRequest:
    """Arguments of a session. `aws_request`: which cluster of AWS; `verify`: verifies the AWS side of a live one."""

    source: SourceChoice
    connection: Connection
    wanted: AwsRequest
    needs: ClusterNeeds
    progress: Progress | None = None
    believe: Callable[[Connection, AwsRequest], VerifiedCluster] = believe_live


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
        found: VerifiedCluster | Unknown = LEFT_OUT
        try:
            if use is not AwsUse.LEFT_OUT:
                found = self._aws() if use is AwsUse.REQUIRED else or_unknown(self._aws)
        except AwsLogin as error:
            if use is not AwsUse.WITHOUT_LOGIN:
                raise
            self.login = error
            hint = f" ({error.hint.rstrip('.')})" if error.hint else ""
            found = Unknown(f"AWS was not asked: {error.message}{hint}")
        return NoAws(found.why, found.missing) if isinstance(found, Unknown) else found

    @property
    def believed(self) -> VerifiedCluster:
        """The AWS side of the cluster.

        Raises:
            SnapshotError, AwsDenied: AWS is unknown.
        """
        found = self.aws
        if not isinstance(found, Unknown):
            return found
        if self.live:
            raise AwsDenied(f"{found.why}, so nothing can be changed", "", found.missing)
        raise SnapshotError(
            f"{found.why}, and an add-on's update cannot be judged without them",
            "Ask the live cluster, or a snapshot that was made with kubectl eksdoc snapshot.",
        )

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster with the names that AWS has for it; without AWS, with the names of the command line where no
        other source has one. Its `reads` say which lists could not be read."""
        aws = self.believed if self.needs.aws is AwsUse.REQUIRED else self.aws  # first: it verifies which cluster it is
        return named(self._read(), aws, self.request.wanted)

    def ask(
        self, question: Callable[Concatenate[VerifiedCluster, P], A], *args: P.args, **more: P.kwargs
    ) -> A | Unknown:
        """The answer to a `question` of `aws`, or why the AWS side is unknown."""
        found = self.aws
        return found if isinstance(found, Unknown) else question(found, *args, **more)

    def require(self, question: Callable[Concatenate[VerifiedCluster, P], A], *args: P.args, **more: P.kwargs) -> A:
        """The answer to a `question` of `aws`. Raises: as `verified_aws`."""
        return question(self.believed, *args, **more)

    @property
    def eks(self) -> EksCluster | Unknown:
        return self.aws if isinstance(self.aws, Unknown) else self.aws.cluster

    @property
    def recognised(self) -> str:
        """How AWS was verified to describe the cluster that was read, a clause; "" where AWS is unknown."""
        return "" if isinstance(self.aws, Unknown) else self.aws.by

    @property
    def calls(self) -> str:
        """A sentence about the requests sent to AWS so far; "" without any."""
        return "" if isinstance(self.aws, Unknown) else str(getattr(self.aws.aws, "said", ""))

    @property
    def denied(self) -> tuple[str, ...]:
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
    def naming(self) -> tuple[str, ...]:
        """The flags that another command needs to find the cluster in AWS, where AWS was not asked and no other source
        names it."""
        if not self.live or not isinstance(self.aws, Unknown):
            return ()
        return naming(self.request.connection, self.request.wanted, self.cluster.identity)

    @cached_property
    def objects(self) -> ObjectReader:
        return self._beside

    @cached_property
    def applied(self) -> AppliedReader:
        return self._beside

    @property
    def objects_now(self) -> ObjectReader:
        """Objects that are read again at each question, for following a change."""
        return self.objects

    @cached_property
    def histories(self) -> Histories:
        return self._beside

    @cached_property
    def inside(self) -> PodReader:
        return self._beside

    @cached_property
    def signs(self) -> Signs:
        return self._beside

    @cached_property
    def usage(self) -> UsageSigns:
        return self._beside

    @cached_property
    def past(self) -> ChangeReader:
        return self._beside

    @cached_property
    def _beside(self) -> ExtraReader:
        raise NotImplementedError

    def _aws(self) -> VerifiedCluster | Unknown:
        raise NotImplementedError

    def _read(self) -> Cluster:
        raise NotImplementedError


def open_session(request: SessionRequest) -> ClusterSession:
    """A session that reads nothing before its first use.

    Raises:
        SnapshotError: the snapshot cannot be read.
    """
    if request.source.live:
        return LiveSession(request)
    held = kept(request.source, request.needs.command)
    return DumpSession(request) if held is None else SnapshotSession(request, held)


class Observed(ClusterSession):
    """A session over a cluster and an AWS side that were read already."""

    def __init__(
        self, cluster: Cluster, aws: VerifiedCluster | Unknown, beside: ExtraReader | None = None, live: bool = False
    ) -> None:
        self.cluster, self.aws, self.live = cluster, aws, live
        if beside is not None:
            self._beside = beside


class SnapshotSession(ClusterSession):
    """A session over a snapshot that this tool wrote, or over the demo, in the scene of the command."""

    def __init__(self, request: SessionRequest, held: SnapshotScene | DemoSnapshot) -> None:
        super().__init__(request)
        self._held = held

    def _aws(self) -> VerifiedCluster | Unknown:
        return self._held.aws()

    def _read(self) -> Cluster:
        return self._held.reader(self.request.progress).read(self.needs.kinds)

    @cached_property
    def _beside(self) -> ExtraReader:
        return self._held.beside()


class LiveSession(ClusterSession):
    live = True

    def _aws(self) -> VerifiedCluster:
        return self.request.believe(self.request.connection, self.request.wanted)

    def _read(self) -> Cluster:
        request = self.request
        return open_reader(request.source, request.connection, request.progress).read(self.needs.kinds)

    @cached_property
    def objects(self) -> ReadOnce:
        return ReadOnce(self.objects_now)

    @property
    def applied(self) -> AppliedReader:
        return self.objects

    @cached_property
    def objects_now(self) -> SingleObjects:
        from kubectl_eksdoc.kube.single_objects import SingleObjects

        return SingleObjects(self.request.connection)

    @cached_property
    def histories(self) -> Histories:
        from kubectl_eksdoc.kube.single_objects import NamespaceLists

        return NamespaceLists(self.request.connection)

    @cached_property
    def inside(self) -> PodReader:
        from kubectl_eksdoc.kube import inside_pods

        return inside_pods.LivePodReader(self.request.connection)

    @cached_property
    def signs(self) -> Signs:
        from kubectl_eksdoc.kube.api_signs import KarpenterSigns

        return KarpenterSigns(self.request.connection)

    @cached_property
    def usage(self) -> UsageSigns:
        from kubectl_eksdoc.kube.api_signs import ApiSigns

        return ApiSigns(self.request.connection)

    @cached_property
    def past(self) -> ChangeReader:
        from kubectl_eksdoc.kube import api_signs

        return api_signs.LiveChanges(self.request.connection)


class DumpSession(ClusterSession):
    """A session over the output of ``kubectl get`` or ``kubectl cluster-info dump``. It is read in one pass, in which
    the declared needs are kept; single pods take another pass."""

    def _aws(self) -> VerifiedCluster | Unknown:
        return recorded(self.request.source.snapshot)

    def _read(self) -> Cluster:
        from kubectl_eksdoc.model.kinds import REPLICA_SETS
        from kubectl_eksdoc.objects.held import HeldTogether

        objects, signs, usage, past = self._keepers
        needs, request = self.needs, self.request
        declared = ((signs, needs.signs), (usage, needs.usage), (past, needs.past))
        held = HeldTogether((objects, *(each for each, wanted in declared if wanted)))
        kinds = dict.fromkeys((*needs.kinds, *objects.resources, *((REPLICA_SETS,) if needs.past else ())))
        return open_reader(request.source, request.connection, request.progress, raw=held).read(tuple(kinds))

    @cached_property
    def _keepers(self) -> tuple[HeldObjects, HeldSigns, HeldApis, HeldChanges]:
        from kubectl_eksdoc.objects.held import HeldChanges, HeldObjects, HeldSigns
        from kubectl_eksdoc.objects.held_answers import HeldApis

        where, needs = self._where, self.needs
        objects = HeldObjects(needs.objects, where, needs.histories, needs.signs)
        return objects, HeldSigns(where), HeldApis(where), HeldChanges(where)

    def _filled(self, declared: bool = True) -> tuple[HeldObjects, HeldSigns, HeldApis, HeldChanges]:
        assert declared, "a dump is gone through once, and the needs declare what is kept then"
        assert self.cluster
        return self._keepers

    @property
    def _where(self) -> str:
        return f"the snapshot {self.request.source.snapshot}"

    @cached_property
    def objects(self) -> ObjectReader:
        return self._filled()[0]

    @cached_property
    def applied(self) -> AppliedReader:
        return self._keepers[0]

    @cached_property
    def histories(self) -> Histories:
        return self._filled()[0]

    @cached_property
    def inside(self) -> PodReader:
        from kubectl_eksdoc.model.kinds import PODS
        from kubectl_eksdoc.objects.held import HeldPods

        request = self.request
        return HeldPods(lambda raw: open_reader(request.source, request.connection, raw=raw).read([PODS]), self._where)

    @cached_property
    def signs(self) -> Signs:
        return self._filled(self.needs.signs)[1]

    @cached_property
    def usage(self) -> UsageSigns:
        return self._filled(self.needs.usage)[2]

    @cached_property
    def past(self) -> ChangeReader:
        return self._filled(self.needs.past)[3]


class ReadOnce:
    """An `ObjectReader` and an `AppliedReader` that cache the answers of another one. Mutable."""

    def __init__(self, objects: SingleObjects) -> None:
        self._objects = objects
        self._seen: dict[ObjectName, Doc | Absent | Unknown] = {}
        self._applied: dict[tuple[str, bool], AppliedObjects | Unknown] = {}

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        if of not in self._seen:
            self._seen[of] = self._objects.one(of)
        return self._seen[of]

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        if (manager, others) not in self._applied:
            self._applied[manager, others] = self._objects.applied_by(manager, others)
        return self._applied[manager, others]


def or_unknown(opened: Callable[[], A]) -> A | Unknown:
    """The result of `open_aws`, or Unknown where AWS denies access or the cluster or region is not known.

    Raises:
        ConfigError, SnapshotError, AwsError: as `open_aws`.
    """
    try:
        return opened()
    except AwsDenied as error:
        return Unknown(f"nothing that AWS says can be believed: {error.message}", error.missing)
    except UsageError as error:
        return Unknown(f"AWS was not asked: {error.message}")


def named(cluster: Cluster, aws: VerifiedCluster | Unknown, wanted: AwsRequest) -> Cluster:
    """`cluster` with the names that AWS has for it; without AWS, with the names of the command line where no other
    source has one."""
    who = cluster.identity
    if isinstance(aws, Unknown):
        return replace(cluster, identity=who.given(wanted.cluster, wanted.region))
    eks = aws.cluster
    return replace(cluster, identity=who.confirmed(eks.name, eks.account, eks.region))
