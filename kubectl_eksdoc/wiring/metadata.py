"""What carries a fix of the metadata service out, and what short-lived pods of ours need of a live cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.metadata import MARKS

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.metadata_fix.world import MetadataAws
    from kubectl_eksdoc.flows.ports import ProbeGround
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.placing import Marks
    from kubectl_eksdoc.wiring.runs import Keeping


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
