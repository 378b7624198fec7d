"""What carries a change out, or measures something: edges of the live cluster, and journals on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import MARKS
from kubectl_eksdoc.wiring.runs import CONNECT_S, SILENCE_S, JournalLocation, sender_of

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.measurement import Dns
    from kubectl_eksdoc.host.journals import ChangeJournalFile
    from kubectl_eksdoc.in_cluster.apply import PlacingGround
    from kubectl_eksdoc.kube.config import ApiAccess
    from kubectl_eksdoc.kube.exchanges import RetryPolicy
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kube.requests import AppliedMaps
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.model.change_journal import SavedChange
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.nodes import Pod
    from kubectl_eksdoc.model.placing import ProbeLabels
    from kubectl_eksdoc.ports import ProbeNamespace
    from kubectl_eksdoc.session.ports import ClusterReader


def journal_of(keeping: JournalLocation) -> ChangeJournalFile:
    """Of the change that `keeping` names.

    Raises:
        LocalJournalError: there is no folder for it.
    """
    from kubectl_eksdoc.host.journals import ChangeJournalFile, changes_folder

    return ChangeJournalFile(changes_folder(keeping.environ, keeping.home), keeping.run)


def saved_change(keeping: JournalLocation) -> SavedChange:
    """The one that `keeping` names. Raises LocalJournalError: this machine has no journal of it."""
    from kubectl_eksdoc.host.journals import changes_folder, read_change

    return read_change(changes_folder(keeping.environ, keeping.home), keeping.run)


def saved_changes(environ: Mapping[str, str], home: str, most: int) -> tuple[SavedChange, ...]:
    """The latest first, so many. Raises LocalJournalError: it cannot be told which there are."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.host.journals import change_ids, changes_folder, read_change
    from kubectl_eksdoc.model.change_journal import SavedChange

    folder = changes_folder(environ, home)
    found = []
    for ident in change_ids(folder)[::-1][:most]:
        try:
            found.append(read_change(folder, ident))
        except LocalJournalError as error:
            found.append(SavedChange(ident, (), error.message))
    return tuple(found)


def pods_now(reader: Callable[[], ClusterReader]) -> tuple[Pod, ...] | Unknown:
    """What forbids to list them is why they are unknown. Raises ClusterError: the cluster cannot be talked to."""
    cluster = reader().read((kinds.PODS,))
    read = cluster.read_of(kinds.PODS)
    return cluster.pods if read.known else Unknown(read.detail, "list pods")


# What is asked of a live cluster. Everything may raise ConfigError: the kubeconfig cannot be used.


def _patience() -> RetryPolicy:
    from kubectl_eksdoc.kube.exchanges import RetryPolicy

    return RetryPolicy(silence=SILENCE_S, connect=CONNECT_S)


def _pinned(connection: Connection) -> ApiAccess:
    """The same cluster and user from now on."""
    from kubectl_eksdoc.kube.config import connect, pinned
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    return connect(pinned(connection, around), around)


def maps_of(connection: Connection) -> AppliedMaps:
    from kubectl_eksdoc.kube.requests import AppliedMaps

    return AppliedMaps(sender_of(connection))


def node_classes_of(connection: Connection) -> LiveNodeClasses:
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, real_timing
    from kubectl_eksdoc.kube.requests import ApiWriter
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.kube.transport import Transport

    access = connect(connection, of_this_process())  # what is patched is of the cluster that is read
    return LiveNodeClasses(Transport(access, _patience()), ApiWriter(Exchanges(access, _patience(), real_timing())))


def open_placing(connection: Connection) -> PlacingGround:
    from kubectl_eksdoc.kube.requests import LiveObjectWriter

    return LiveObjectWriter(sender_of(connection))


def open_ground(connection: Connection, namespace: str, marks: ProbeLabels = MARKS) -> ProbeNamespace:
    """For short-lived pods of ours; `marks`: of what runs there."""
    from kubectl_eksdoc.kube.inside_pods import LiveProbeNamespace
    from kubectl_eksdoc.kube.requests import real_clock

    return LiveProbeNamespace(_pinned(connection), _patience(), namespace, real_clock(), marks)


def open_dns(connection: Connection) -> Dns:
    """CoreDNS, as a measurement needs it."""
    from kubectl_eksdoc.kube.core_dns import CoreDns
    from kubectl_eksdoc.kube.requests import real_clock

    return CoreDns(_pinned(connection), _patience(), real_clock())


def identity_of(connection: Connection, wanted: AwsRequest) -> Identity:
    """By the kubeconfig and the flags alone: nobody is asked."""
    from kubectl_eksdoc.kube.identity import aws_access, identify
    from kubectl_eksdoc.kube.kubeconfig import choose
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    access = aws_access(connection, around, wanted)
    told = identify(choose(connection, around), around.environ).identity
    return told.called(access.cluster, access.region)


# What goes with it.


def new_probe_id() -> str:
    """Unlike any other's in that namespace; part of names."""
    import secrets

    return secrets.token_hex(4)
