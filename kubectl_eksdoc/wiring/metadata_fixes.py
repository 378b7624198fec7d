"""What carries a fix of the metadata service out: AWS, Karpenter's classes, and a journal on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.flows.metadata_fix.ports import MetadataAws
    from kubectl_eksdoc.host.journals.update_journal import UpdateJournalFile
    from kubectl_eksdoc.kube.node_classes import LiveNodeClasses
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
    from kubectl_eksdoc.kube.exchanges import Exchanges
    from kubectl_eksdoc.kube.node_classes import LiveNodeClasses
    from kubectl_eksdoc.kube.patience import Patience, real_timing
    from kubectl_eksdoc.kube.sending import Sender
    from kubectl_eksdoc.kube.surroundings import of_this_process
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
    from kubectl_eksdoc.host.journals.update_journal import UpdateJournalFile

    return UpdateJournalFile(folder_of(keeping), keeping.run)


def folder_of(keeping: Keeping) -> Path:
    """Raises LocalJournalError: there is none."""
    from kubectl_eksdoc.host.journals.update_journal import fixes_folder

    return fixes_folder(keeping.environ, keeping.home)
