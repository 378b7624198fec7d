"""What carries a change of CoreDNS out, and looks at its pods: the API server, and a journal on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.kube.core_dns import ResolverPods
    from kubectl_eksdoc.kube.placing import AppliedMaps
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.pods import Pod
    from kubectl_eksdoc.wiring.runs import Keeping


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
