"""What short-lived pods of ours need of a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_eksdoc.core.model.metadata_probe import MARKS

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.core.model.probe_pods import Marks
    from kubectl_eksdoc.flows.ports import ProbeGround


def open_ground(connection: Connection, namespace: str, marks: Marks = MARKS) -> ProbeGround:
    """`marks`: of what runs there.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect, pinned
    from kubectl_eksdoc.kube.patience import Patience
    from kubectl_eksdoc.kube.probe_ground import ProbeGround
    from kubectl_eksdoc.kube.sent import real_clock
    from kubectl_eksdoc.kube.surroundings import of_this_process
    from kubectl_eksdoc.wiring.runs import CONNECT_S, SILENCE_S

    around = of_this_process()
    patience = Patience(silence=SILENCE_S, connect=CONNECT_S)
    return ProbeGround(connect(pinned(connection, around), around), patience, namespace, real_clock(), marks)


def new_probe_id() -> str:
    """Unlike any other's in that namespace; part of names."""
    import secrets

    return secrets.token_hex(4)
