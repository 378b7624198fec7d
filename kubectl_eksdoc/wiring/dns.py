"""All that CoreDNS is judged by, of whatever is read: the cluster, single objects, its pods, and the add-on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.wiring.aws import open_aws_or_none
from kubectl_eksdoc.wiring.interruption import of_live, open_interruption
from kubectl_eksdoc.wiring.kept import kept
from kubectl_eksdoc.wiring.metadata import inside_pods
from kubectl_eksdoc.wiring.sources import Progress, ReadWorld, SourceChoice, named, open_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from kubectl_eksdoc.flows.ports import InsidePods, Objects
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.kube.core_dns import ResolverPods
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.kube.placing import AppliedMaps
    from kubectl_eksdoc.model.api_objects import Named
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.model.aws.addons import AddonSide
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.kinds import Resource
    from kubectl_eksdoc.model.pods import Pod
    from kubectl_eksdoc.wiring.interruption import InterruptionWorld
    from kubectl_eksdoc.wiring.runs import Keeping


@dataclass(frozen=True, slots=True)
class DnsReading:
    """Lists of `kinds`, and `objects` by their names."""

    kinds: Sequence[Resource]
    objects: Collection[Named]


@dataclass(frozen=True, slots=True)
class DnsWorld(ReadWorld):
    """The cluster as it was read, and what more can be asked; of AWS nothing is known where it could not be believed,
    and why."""

    objects: Objects
    inside: InsidePods
    karpenter: Callable[[], InterruptionWorld]
    """By which it is told who hears of Spot notices; asked only where that matters."""

    @property
    def auto_mode(self) -> bool | Unknown:
        return self.aws if isinstance(self.aws, Unknown) else self.aws.cluster.auto_mode

    def addon(self, name: str) -> AddonSide | Absent | Unknown:
        """As it is installed; Absent where EKS does not manage it.

        Raises:
            AwsError: nothing can be asked.
        """
        if isinstance(self.aws, Unknown):
            return self.aws
        from kubectl_eksdoc.aws.addon_side import installed_side

        return installed_side(self.aws, name)


def open_dns(
    source: SourceChoice, connection: Connection, wanted: AwsWanted, progress: Progress | None, reading: DnsReading
) -> DnsWorld:
    """
    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the snapshot cannot be.
        AwsError: as `wiring.aws.open_aws`.
    """
    if (held := kept(source, "coredns-lameduck")) is not None:
        aws, beside = held.aws(), held.beside()
        cluster = named(held.reader(progress).read(reading.kinds), aws, wanted)
        return DnsWorld(cluster, aws, beside, beside, partial(_karpenter, source, connection, wanted))
    aws = open_aws_or_none(source, connection, wanted)
    if source.live:
        from kubectl_eksdoc.kube.single_objects import SingleObjects

        cluster = named(open_reader(source, connection, progress).read(reading.kinds), aws, wanted)
        karpenter = partial(of_live, cluster, connection, aws)
        return DnsWorld(cluster, aws, SingleObjects(connection), inside_pods(source, connection), karpenter)
    from kubectl_eksdoc.objects.held import HeldObjects

    objects = HeldObjects(reading.objects, f"the snapshot {source.snapshot}")
    kinds = tuple(dict.fromkeys((*reading.kinds, *objects.resources)))
    cluster = named(open_reader(source, connection, progress, raw=objects).read(kinds), aws, wanted)
    karpenter = partial(_karpenter, source, connection, wanted)
    return DnsWorld(cluster, aws, objects, inside_pods(source, connection), karpenter)


def _karpenter(source: SourceChoice, connection: Connection, wanted: AwsWanted) -> InterruptionWorld:
    """Of a dump or the demo, which cost nothing to be read again."""
    from kubectl_eksdoc.flows.interruption import KINDS

    return open_interruption(source, connection, wanted, None, KINDS)


# What carries a change of CoreDNS out, and looks at its pods: the API server, and a journal on this machine.


def maps_of(connection: Connection) -> AppliedMaps:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, Patience, real_timing
    from kubectl_eksdoc.kube.placing import AppliedMaps
    from kubectl_eksdoc.kube.sending import Sender
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.wiring.runs import CONNECT_S, SILENCE_S

    patience = Patience(silence=SILENCE_S, connect=CONNECT_S)
    return AppliedMaps(Sender(Exchanges(connect(connection, of_this_process()), patience, real_timing())))


def resolvers_of(connection: Connection, listed: Callable[[], tuple[Pod, ...] | Unknown]) -> ResolverPods:
    """`listed`: CoreDNS' pods, now. Raises ConfigError: the kubeconfig cannot be used."""
    from kubectl_eksdoc.kube.core_dns import ResolverPods

    return ResolverPods(connection, listed)


def journal_of(keeping: Keeping) -> UpdateJournalFile:
    """Of the change that `keeping` names. Raises LocalJournalError: there is no folder for it."""
    from kubectl_eksdoc.host.journals import UpdateJournalFile

    return UpdateJournalFile(folder_of(keeping), keeping.run)


def folder_of(keeping: Keeping) -> Path:
    """Raises LocalJournalError: there is none."""
    from kubectl_eksdoc.host.journals import dns_folder

    return dns_folder(keeping.environ, keeping.home)
