"""All that an upgrade is judged by, of whatever is read: the cluster, single objects, its pods, and AWS's side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.wiring.addons import AddonWorld
from kubectl_eksdoc.wiring.aws import open_aws_or_none
from kubectl_eksdoc.wiring.interruption import InterruptionWorld, of_live
from kubectl_eksdoc.wiring.kept import kept
from kubectl_eksdoc.wiring.metadata import MetadataWorld
from kubectl_eksdoc.wiring.sources import Progress, ReadWorld, SourceChoice, named, open_reader

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.beside import Past, UsageSigns
    from kubectl_eksdoc.flows.check.around import CheckAround
    from kubectl_eksdoc.flows.check.refreshing import Refreshes
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.model.api_objects import Named
    from kubectl_eksdoc.model.api_usage import ApiTold
    from kubectl_eksdoc.model.aws.addons import AddonSide, UpdateHistory
    from kubectl_eksdoc.model.aws.upgrades import UpgradeTold
    from kubectl_eksdoc.model.changes import ChangesTold
    from kubectl_eksdoc.model.check_needs import Wanted
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.kinds import Resource


@dataclass(frozen=True, slots=True)
class CheckReading:
    """Lists of `kinds`, and `objects` by their names. `files`: of manifests; `past`: what tells of changes is read,
    too; `aws`: it is asked."""

    kinds: Sequence[Resource]
    objects: Collection[Named]
    files: Sequence[str] = ()
    past: bool = False
    aws: bool = True


@dataclass(frozen=True, slots=True)
class CheckWorld(ReadWorld):
    """The cluster as it was read, and what more can be asked; of AWS nothing is known where it could not be believed,
    and why."""

    karpenter: InterruptionWorld
    signs: UsageSigns
    files: Sequence[str] = ()
    live: bool = False
    past: Past | None = None

    @property
    def around(self) -> CheckAround:
        from kubectl_eksdoc.flows.check.around import CheckAround

        eks = self.aws if isinstance(self.aws, Unknown) else self.aws.cluster
        judge = AddonWorld.judge
        karpenter = self.karpenter.around
        return CheckAround(
            eks, self.tell, self.api, self.addon, judge, self._metadata.machines, karpenter, self.changes
        )

    @property
    def profile(self) -> str:
        """As `MetadataWorld.profile`."""
        return self._metadata.profile

    @property
    def _metadata(self) -> MetadataWorld:
        return MetadataWorld(self.cluster, self.aws, self.karpenter.inside, self.live)

    @property
    def refreshes(self) -> Refreshes | Unknown:
        """Of EKS's insights; only of a cluster that lives."""
        if isinstance(self.aws, Unknown):
            return self.aws
        if not self.live:
            return Unknown("only EKS itself can refresh them")
        from kubectl_eksdoc.aws.insights import InsightRefresh

        return InsightRefresh(self.aws)

    def tell(self, wanted: Wanted) -> UpgradeTold:
        """As `aws.upgrades.upgrade_told`."""
        from kubectl_eksdoc.aws.upgrades import nothing_told, upgrade_told

        return nothing_told(self.aws) if isinstance(self.aws, Unknown) else upgrade_told(self.aws, wanted)

    def api(self, wanted: Wanted) -> ApiTold:
        """As `wiring.api_usage.api_told`."""
        from kubectl_eksdoc.wiring.api_usage import api_told

        return api_told(self.signs, self.files, wanted)

    def changes(self) -> ChangesTold:
        """What tells of changes.

        Raises:
            ClusterError, AwsError: nothing can be asked.
        """
        from kubectl_eksdoc.model.changes import ChangesTold

        told = ChangesTold() if self.past is None else self.past.told()
        return replace(
            told, addons=self._updates(), others={_NOT_TOLD: Unknown("EKS and EC2 tell no times of them here")}
        )

    def _updates(self) -> Mapping[str, UpdateHistory | Absent | Unknown] | Unknown:
        if isinstance(self.aws, Unknown):
            return self.aws
        from kubectl_eksdoc.aws.eks import updates_of_addons

        return updates_of_addons(self.aws)

    def addon(self, name: str, wish: str | None) -> AddonSide | Absent | Unknown:
        """As `aws.addon_side.installed_side`."""
        if isinstance(self.aws, Unknown):
            return self.aws
        from kubectl_eksdoc.aws.addon_side import installed_side

        return installed_side(self.aws, name, wish)


LEFT_OUT = Unknown("AWS is left out (--no-aws)")
_NOT_TOLD = "versions of launch templates"


def open_check(
    source: SourceChoice, connection: Connection, wanted: AwsWanted, progress: Progress | None, reading: CheckReading
) -> CheckWorld:
    """Who may not ask which cluster it is, or does not say where, knows nothing of AWS, and the rest all the same.

    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the snapshot cannot be.
        AwsError: as `wiring.aws.open_aws`.
    """
    if (held := kept(source, "check")) is not None:
        told, beside = held.aws() if reading.aws else LEFT_OUT, held.beside()
        cluster = named(held.reader(progress).read(reading.kinds), told, wanted)
        karpenter = InterruptionWorld(cluster, told, beside, beside, beside)
        return CheckWorld(cluster, told, karpenter, beside, reading.files, past=beside if reading.past else None)
    aws = open_aws_or_none(source, connection, wanted) if reading.aws else LEFT_OUT
    if source.live:
        cluster = named(open_reader(source, connection, progress).read(reading.kinds), aws, wanted)
        from kubectl_eksdoc.kube.api_signs import ApiSigns

        karpenter, past = of_live(cluster, connection, aws), _live_past(connection, reading)
        return CheckWorld(cluster, aws, karpenter, ApiSigns(connection), reading.files, True, past)
    opened = _held(source, connection, progress, reading, aws)
    cluster = named(opened.cluster, aws, wanted)
    return replace(opened, cluster=cluster, karpenter=replace(opened.karpenter, cluster=cluster))


def _live_past(connection: Connection, reading: CheckReading) -> Past | None:
    if not reading.past:
        return None
    from kubectl_eksdoc.kube.api_signs import Past as LivePast

    return LivePast(connection)


def _held(
    source: SourceChoice,
    connection: Connection,
    progress: Progress | None,
    reading: CheckReading,
    aws: Believed | Unknown,
) -> CheckWorld:
    """Of a dump, gone through once; for single pods once more."""
    from kubectl_eksdoc.model.kinds import PODS, REPLICA_SETS
    from kubectl_eksdoc.objects.held import HeldChanges, HeldKarpenter, HeldObjects, HeldPods, HeldTogether
    from kubectl_eksdoc.objects.held_answers import HeldApis

    where = f"the snapshot {source.snapshot}"
    signs, objects = HeldKarpenter(where), HeldObjects(reading.objects, where)
    apis, changes = HeldApis(where), HeldChanges(where)
    held = HeldTogether((signs, objects, apis, *((changes,) if reading.past else ())), (objects, signs))
    told_by = (REPLICA_SETS,) if reading.past else ()
    kinds = tuple(dict.fromkeys((*reading.kinds, *objects.resources, *told_by)))
    cluster = open_reader(source, connection, progress, raw=held).read(kinds)
    inside = HeldPods(lambda raw: open_reader(source, connection, raw=raw).read([PODS]), where)
    karpenter = InterruptionWorld(cluster, aws, held, inside, signs)
    return CheckWorld(cluster, aws, karpenter, apis, reading.files, past=changes if reading.past else None)
