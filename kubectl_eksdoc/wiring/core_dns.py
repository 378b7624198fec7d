"""CoreDNS of a live cluster, and the program that asks DNS, as a measurement needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.flows.dns_measure import Dns
    from kubectl_eksdoc.model.connection import Connection


def open_dns(connection: Connection) -> Dns:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect, pinned
    from kubectl_eksdoc.kube.core_dns import CoreDns
    from kubectl_eksdoc.kube.exchanges import Patience
    from kubectl_eksdoc.kube.sent import real_clock
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.wiring.runs import CONNECT_S, SILENCE_S

    around = of_this_process()
    patience = Patience(silence=SILENCE_S, connect=CONNECT_S)
    return CoreDns(connect(pinned(connection, around), around), patience, real_clock())


def packed_asker() -> bytes:
    """
    Raises:
        ConfigError: dnspython is not installed.
    """
    from kubectl_eksdoc.host.asker_archive import packed

    return packed()
