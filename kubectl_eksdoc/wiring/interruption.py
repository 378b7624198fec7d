"""All that the handling of interruptions is judged by, of whatever is read: the cluster, and AWS's side of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.clusters import part_of, partition_of
from kubectl_eksdoc.wiring.aws import open_aws_or_none
from kubectl_eksdoc.wiring.kept import kept
from kubectl_eksdoc.wiring.sources import Progress, ReadWorld, SourceChoice, named, open_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.interruption import Around, Signs
    from kubectl_eksdoc.flows.ports import InsidePods, Objects
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.model.aws.queues import InterruptionKeys, InterruptionTold
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.kinds import Resource


@dataclass(frozen=True, slots=True)
class InterruptionWorld(ReadWorld):
    """The cluster as it was read, and what more can be asked; of AWS nothing is known where it could not be believed,
    and why."""

    objects: Objects
    inside: InsidePods
    signs: Signs
    proxied: bool = True
    """False: the counters of Karpenter's pods are left out on purpose, for want of ``get pods/proxy``."""

    @property
    def around(self) -> Around:
        from kubectl_eksdoc.flows.interruption import Around
        from kubectl_eksdoc.model.interruption import Place

        if isinstance(self.aws, Unknown):
            who = self.cluster.identity
            place = Place(who.account, who.region, partition_of(who.region), who.cluster)
        else:
            eks = self.aws.cluster
            place = Place(eks.account, eks.region, part_of(eks.arn, 1), eks.name, eks.auto_mode)
        return Around(self.objects, self.inside, self.signs, self.tell, place, self.proxied)

    def tell(self, keys: InterruptionKeys) -> InterruptionTold:
        """As `aws.interruption.interruption_told`."""
        from kubectl_eksdoc.aws.queues import interruption_told, nothing_told

        return nothing_told(self.aws, keys) if isinstance(self.aws, Unknown) else interruption_told(self.aws, keys)


def open_interruption(
    source: SourceChoice,
    connection: Connection,
    wanted: AwsWanted,
    progress: Progress | None,
    kinds: Sequence[Resource],
) -> InterruptionWorld:
    """Who may not ask which cluster it is, or does not say where, knows nothing of AWS, and the rest all the same.

    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the snapshot cannot be.
        AwsError: as `wiring.aws.open_aws`.
    """
    if (held := kept(source, "interruption")) is not None:
        aws, beside = held.aws(), held.beside()
        return InterruptionWorld(named(held.reader(progress).read(kinds), aws, wanted), aws, beside, beside, beside)
    aws = open_aws_or_none(source, connection, wanted)
    opened = _live(connection, progress, kinds, aws) if source.live else _held(source, connection, progress, kinds, aws)
    return replace(opened, cluster=named(opened.cluster, aws, wanted))


def _live(
    connection: Connection, progress: Progress | None, kinds: Sequence[Resource], aws: Believed | Unknown
) -> InterruptionWorld:
    return of_live(open_reader(SourceChoice(), connection, progress).read(kinds), connection, aws)


def of_live(cluster: Cluster, connection: Connection, aws: Believed | Unknown) -> InterruptionWorld:
    """Of a live cluster that was read. Raises ConfigError."""
    from kubectl_eksdoc.kube.api_signs import KarpenterSigns
    from kubectl_eksdoc.kube.inside_pods import InsidePods
    from kubectl_eksdoc.kube.single_objects import SingleObjects

    signs = KarpenterSigns(connection)
    return InterruptionWorld(cluster, aws, SingleObjects(connection), InsidePods(connection), signs)


def _held(
    source: SourceChoice,
    connection: Connection,
    progress: Progress | None,
    kinds: Sequence[Resource],
    aws: Believed | Unknown,
) -> InterruptionWorld:
    from kubectl_eksdoc.model.kinds import PODS
    from kubectl_eksdoc.objects.held import HeldKarpenter, HeldPods

    where = f"the snapshot {source.snapshot}"
    held = HeldKarpenter(where)
    cluster = open_reader(source, connection, progress, raw=held).read(kinds)
    inside = HeldPods(lambda raw: open_reader(source, connection, raw=raw).read([PODS]), where)
    return InterruptionWorld(cluster, aws, held, inside, held)
