"""AWS side of the cluster that is read: AWS itself, the recorded answers of a snapshot, or those of the demo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.connection import CLUSTER_PLACEHOLDER
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.model.kinds import Unknown

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.aws.refusals import LiveAws
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection


def verify_live_cluster(connection: Connection, request: AwsRequest) -> VerifiedCluster:
    """The EKS cluster that kubectl is connected to, once AWS has verified that it is the same one.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        UsageError: the region or the cluster is not known.
        AwsError: as `aws.asking.verify_cluster`.
    """
    from kubectl_eksdoc.aws.asking import verify_cluster

    aws = open_live_aws(connection, request)
    return verify_cluster(aws, aws.access)


def open_live_aws(connection: Connection, request: AwsRequest) -> LiveAws:
    """An AWS client that sends no request before its first question.

    Raises:
        ConfigError, UsageError: as `verify_live_cluster`.
    """
    from kubectl_eksdoc.aws.refusals import LiveAws
    from kubectl_eksdoc.kube.identity import aws_access
    from kubectl_eksdoc.kube.target import process_credential_context

    context = process_credential_context()
    return LiveAws(
        aws_access(connection, context, request),
        ask_person=_ask_secret if context.interactive else None,
        read_time=context.read_time,
        read_timeout=connection.read_timeout,
    )


def identifying_flags(connection: Connection, request: AwsRequest, identity: Identity) -> tuple[str, ...]:
    """The flags for the cluster and its region, each only where neither `request` nor the kubeconfig names it."""
    from kubectl_eksdoc.kube.identity import aws_access
    from kubectl_eksdoc.kube.target import process_credential_context

    try:
        access = aws_access(connection, process_credential_context(), request)
    except ConfigError:
        return ()
    missing = {"--cluster-name": identity.cluster or CLUSTER_PLACEHOLDER} if not access.cluster else {}
    missing |= {"--region": identity.region} if identity.region and not access.region else {}
    return tuple(word for each in missing.items() for word in each)


def _ask_secret(prompt: str) -> str:
    """Read a secret (an MFA code) from the terminal without echoing it."""
    from getpass import getpass

    return getpass(prompt)


def cluster_from_snapshot(snapshot: str) -> VerifiedCluster | Unknown:
    """The cluster as the AWS answers of a snapshot describe it.

    Raises:
        SnapshotError: it cannot be read.
        AwsError: its answers are of several clusters, or AWS refused the requests that verify the cluster.
    """
    from kubectl_eksdoc.host.dump import read_aws_answers

    return cluster_from_answers(read_aws_answers(snapshot), f"the snapshot {snapshot}")


def cluster_from_answers(answers: bytes | None, source: str) -> VerifiedCluster | Unknown:
    """The cluster of recorded `answers`; None: there is no recording. Raises: as `cluster_from_snapshot`."""
    from kubectl_eksdoc.aws.asking import verify_cluster
    from kubectl_eksdoc.aws.recorded import RecordedAws

    if answers is None:
        return Unknown(f"{source} holds no answers of AWS")
    recording = RecordedAws(answers, source)
    return verify_cluster(recording, recording.info.access)


def demo_cluster(scene: str = "") -> VerifiedCluster:
    """The cluster of the demo, from `DemoAnswers`."""
    from kubectl_eksdoc.aws.asking import verify_cluster

    aws = DemoAnswers(scene)
    return verify_cluster(aws, aws.access)


class DemoAnswers:
    """The `AwsClient` of the built-in cluster, in one of its scenes."""

    def __init__(self, scene: str = "") -> None:
        self._scene = scene

    @property
    def access(self) -> AwsAccess:
        from kubectl_eksdoc.embedded.demo.reader import IDENTITY, account

        identity = IDENTITY
        return AwsAccess(
            identity.cluster, identity.region, "demo", account=identity.account, server=account()["endpoint"]
        )

    def ask(self, operation: AwsOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """As `aws.asking.AwsClient.ask`."""
        from kubectl_eksdoc.aws.refusals import error_of_code
        from kubectl_eksdoc.embedded.demo.reader import AwsErrorResponse, aws_response

        try:
            return aws_response(self._scene, operation.service, operation.operation, parameters)
        except AwsErrorResponse as error:
            raise error_of_code(error.code, error.message, operation, self.access) from error
