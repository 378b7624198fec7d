"""All that the metadata service of nodes is judged by, of whatever is read: the cluster, and AWS's side of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import AwsLogin
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.metadata import MARKS
from kubectl_eksdoc.wiring.aws import open_aws_or_none
from kubectl_eksdoc.wiring.kept import kept
from kubectl_eksdoc.wiring.sources import Progress, ReadWorld, SourceChoice, named, open_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.metadata_fix.world import MetadataAws
    from kubectl_eksdoc.flows.ports import InsidePods, ProbeGround
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.model.aws.machines import MachineKeys, MachinesTold, V1Calls
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.kinds import Resource
    from kubectl_eksdoc.model.placing import Marks
    from kubectl_eksdoc.wiring.runs import Keeping


@dataclass(frozen=True, slots=True)
class MetadataWorld(ReadWorld):
    """The cluster as it was read, and who looks into its pods, if somebody does; of AWS nothing is known where it could
    not be believed, and why. `login`: there are no credentials for it, or none that are accepted."""

    inside: InsidePods | None = None
    live: bool = False
    login: AwsLogin | None = None

    @property
    def vpc(self) -> str:
        """The id of the cluster's, "" where it is not known."""
        return "" if isinstance(self.aws, Unknown) else self.aws.cluster.vpc

    @property
    def profile(self) -> str:
        """Of awscli, by which AWS is asked; "" where that is its default, or nobody is."""
        access = None if isinstance(self.aws, Unknown) or not self.live else getattr(self.aws.aws, "access", None)
        return str(getattr(access, "profile", ""))

    def machines(self, keys: MachineKeys) -> MachinesTold:
        """As `aws.machines.machines_told`."""
        from kubectl_eksdoc.aws.machines import machines_told, nothing_told

        return nothing_told(self.aws, keys) if isinstance(self.aws, Unknown) else machines_told(self.aws, keys)

    def v1_calls(self, instances: Sequence[str], at: datetime) -> Mapping[str, V1Calls | Unknown]:
        """As `aws.metadata_calls.v1_calls`."""
        from kubectl_eksdoc.aws.metadata_calls import v1_calls

        return (
            dict.fromkeys(instances, self.aws) if isinstance(self.aws, Unknown) else v1_calls(self.aws, instances, at)
        )


def namespace_of(source: SourceChoice, connection: Connection) -> str:
    """In which a pod is looked for that is named without one.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    if not source.live:
        return "default"
    from kubectl_eksdoc.kube import whereabouts
    from kubectl_eksdoc.kube.target import of_this_process

    return whereabouts.namespace_of(connection, of_this_process())


def open_metadata(
    source: SourceChoice,
    connection: Connection,
    wanted: AwsWanted,
    progress: Progress | None,
    kinds: Sequence[Resource],
) -> MetadataWorld:
    """Who may not ask which cluster it is, or does not say where, knows nothing of AWS, and the rest all the same.

    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the snapshot cannot be.
        AwsError: as `wiring.aws.open_aws`.
    """
    if (held := kept(source, "imds-probe")) is not None:
        aws = held.aws()
        return MetadataWorld(named(held.reader(progress).read(kinds), aws, wanted), aws, held.beside())
    aws, login = _aws_or_login(source, connection, wanted)
    cluster = named(open_reader(source, connection, progress).read(kinds), aws, wanted)
    return MetadataWorld(cluster, aws, inside_pods(source, connection), source.live, login)


def _aws_or_login(
    source: SourceChoice, connection: Connection, wanted: AwsWanted
) -> tuple[Believed | Unknown, AwsLogin | None]:
    """Nodes, pods and logs say a part of it without AWS."""
    try:
        return open_aws_or_none(source, connection, wanted), None
    except AwsLogin as error:
        hint = f" ({error.hint.rstrip('.')})" if error.hint else ""
        return Unknown(f"AWS was not asked: {error.message}{hint}"), error


def inside_pods(source: SourceChoice, connection: Connection) -> InsidePods:
    """Who looks into pods of a cluster, or of a dump of one. Raises ConfigError."""
    if source.live:
        from kubectl_eksdoc.kube.inside_pods import InsidePods

        return InsidePods(connection)
    from kubectl_eksdoc.model.kinds import PODS
    from kubectl_eksdoc.objects.held import HeldPods

    return HeldPods(
        lambda raw: open_reader(source, connection, raw=raw).read([PODS]), f"the snapshot {source.snapshot}"
    )


# What carries a fix of the metadata service out: AWS, Karpenter's classes, and a journal on this machine.


def changes_of(aws: Believed) -> MetadataAws:
    from kubectl_eksdoc.aws.metadata_changes import MetadataChanges

    return MetadataChanges(aws)


def node_classes_of(connection: Connection) -> LiveNodeClasses:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, Patience, real_timing
    from kubectl_eksdoc.kube.sending import Sender
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.kube.transport import Transport
    from kubectl_eksdoc.wiring.runs import CONNECT_S, SILENCE_S

    access = connect(connection, of_this_process())  # what is patched is of the cluster that is read
    patience = Patience(silence=SILENCE_S, connect=CONNECT_S)
    return LiveNodeClasses(Transport(access, patience), Sender(Exchanges(access, patience, real_timing())))


def journal_of(keeping: Keeping) -> UpdateJournalFile:
    """Of the fix that `keeping` names.

    Raises:
        LocalJournalError: there is no folder for it.
    """
    from kubectl_eksdoc.host.journals import UpdateJournalFile

    return UpdateJournalFile(folder_of(keeping), keeping.run)


def folder_of(keeping: Keeping) -> Path:
    """Raises LocalJournalError: there is none."""
    from kubectl_eksdoc.host.journals import fixes_folder

    return fixes_folder(keeping.environ, keeping.home)


# What short-lived pods of ours need of a live cluster.


def open_ground(connection: Connection, namespace: str, marks: Marks = MARKS) -> ProbeGround:
    """`marks`: of what runs there.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect, pinned
    from kubectl_eksdoc.kube.exchanges import Patience
    from kubectl_eksdoc.kube.inside_pods import ProbeGround
    from kubectl_eksdoc.kube.sent import real_clock
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.wiring.runs import CONNECT_S, SILENCE_S

    around = of_this_process()
    patience = Patience(silence=SILENCE_S, connect=CONNECT_S)
    return ProbeGround(connect(pinned(connection, around), around), patience, namespace, real_clock(), marks)


def new_probe_id() -> str:
    """Unlike any other's in that namespace; part of names."""
    import secrets

    return secrets.token_hex(4)
