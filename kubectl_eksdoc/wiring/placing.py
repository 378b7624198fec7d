"""Objects that are put into a live cluster, and what is known of it before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.flows.placing import PlacingGround
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection


def open_placing(connection: Connection) -> PlacingGround:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.placing import Placing
    from kubectl_eksdoc.wiring.runs import sender_of

    return Placing(sender_of(connection))


def identity_of(connection: Connection, wanted: AwsWanted) -> Identity:
    """By the kubeconfig and the flags alone: nobody is asked.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.identity import aws_access, identify
    from kubectl_eksdoc.kube.kubeconfig import choose
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    access = aws_access(connection, around, wanted)
    told = identify(choose(connection, around), around.environ).identity
    return told.called(access.cluster, access.region)


def packed(text: str) -> bytes:
    """Of a file: small enough for a ConfigMap where it can be; the same text gives the same bytes."""
    from kubectl_eksdoc.host.documents import packed

    return packed(text)
