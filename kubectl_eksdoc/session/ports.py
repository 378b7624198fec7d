"""What a session can be asked of a cluster, whatever stands behind it: the live one, a snapshot, a dump or the demo."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, HelmRelease, KindUsage, ObjectName
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.interruption import ReportedChanges, SpotEvent
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf


class ClusterReader(Protocol):
    """A cluster, a dump of one, or the demo."""

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Read all objects of `resources`; what cannot be read is said in `Cluster.reads`.

        Raises:
            ClusterError: the cluster refused or cannot be reached at all.
            SnapshotError: the dump cannot be read.
        """
        ...


class ObjectReader(Protocol):
    """Single objects as they are: of a cluster, a dump of one, or the demo."""

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        """The document with its managedFields; `Unknown.missing` is the right without which it is not had.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...


class AppliedReader(Protocol):
    """Which objects of a cluster a field manager has applied."""

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """Of the kinds of which manifests of add-ons have objects (`kinds.SEARCHED`), or of all `others`, as Secrets
        and custom resources. Only metadata is read. Raises: as `ObjectReader.one`."""
        ...


class Histories(Protocol):
    """Objects in which a controller keeps what its own were like before: of a cluster, a dump of one, or the demo."""

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """All of a namespace; `Unknown.missing` is the right without which they are not had.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...


class PodReader(Protocol):
    """What some pods are made of, and what they print: of a cluster, a dump of one (which has no logs), or the demo.
    One pod that is not had says nothing of the others."""

    @property
    def has_logs(self) -> bool:
        """Whether any log can be had at all."""
        ...

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """Of each (``namespace/name``) in its order; `Unknown.missing` is the right without which they are not had.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        """The last lines of each. Raises: as `containers`."""
        ...


class Signs(Protocol):
    """What a cluster says of interruptions besides its objects; a dump of one has little of it."""

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """Those of Karpenter, and of the node termination handler, about interruptions.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """What a pod (``namespace/name``) counts, in the format of Prometheus. Raises: as `events`."""
        ...


class UsageSigns(Protocol):
    """Who uses which API version. Everything may raise ClusterError: the cluster cannot be talked to."""

    def requested(self) -> tuple[str, ...] | Unknown: ...

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]: ...

    def releases(self) -> tuple[HelmRelease, ...] | Unknown: ...


class ChangeReader(Protocol):
    """What tells of changes. Raises: as `UsageSigns`."""

    def told(self) -> ReportedChanges: ...


class ExtraReader(ObjectReader, AppliedReader, Histories, PodReader, Signs, UsageSigns, ChangeReader, Protocol):
    """Of a cluster, a snapshot, or the demo."""
