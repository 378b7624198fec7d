"""The AWS side of the cluster that is read: AWS itself, or what a recording holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.live import LiveAws
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.kube.aws_access import AwsWanted


def open_aws(connection: Connection, wanted: AwsWanted) -> LiveAws:
    """For the live cluster; nothing is sent before it is asked.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        UsageError: nothing says which region.
    """
    from kubectl_eksdoc.aws.live import LiveAws
    from kubectl_eksdoc.kube.aws_access import aws_access
    from kubectl_eksdoc.kube.surroundings import of_this_process

    return LiveAws(aws_access(connection, of_this_process(), wanted))
