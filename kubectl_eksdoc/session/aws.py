"""AWS side of the cluster that is read: AWS itself, the recorded answers of a snapshot, or those of the demo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.connection import UNNAMED
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.model.kinds import Unknown

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.aws.refusals import LiveAws
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection


def believe_live(connection: Connection, wanted: AwsRequest) -> VerifiedCluster:
    """The EKS cluster that kubectl is connected to, once AWS has verified that it is the same one.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        UsageError: the region or the cluster is not known.
        AwsError: as `aws.asking.verify_cluster`.
    """
    from kubectl_eksdoc.aws.asking import believed

    aws = open_live(connection, wanted)
    return believed(aws, aws.access)


def open_live(connection: Connection, wanted: AwsRequest) -> LiveAws:
    """An AWS client that sends no request before its first question.

    Raises:
        ConfigError, UsageError: as `verify_live_cluster`.
    """
    from kubectl_eksdoc.aws.refusals import LiveAws
    from kubectl_eksdoc.kube.identity import aws_access
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    return LiveAws(
        aws_access(connection, around, wanted),
        ask_person=_asked if around.interactive else None,
        read_time=around.read_time,
        read_timeout=connection.read_timeout,
    )


def naming(connection: Connection, wanted: AwsRequest, who: Identity) -> tuple[str, ...]:
    """The flags for the cluster and its region, each only where neither `request` nor the kubeconfig names it."""
    from kubectl_eksdoc.kube.identity import aws_access
    from kubectl_eksdoc.kube.target import of_this_process

    try:
        access = aws_access(connection, of_this_process(), wanted)
    except ConfigError:
        return ()
    missing = {"--cluster-name": who.cluster or UNNAMED} if not access.cluster else {}
    missing |= {"--region": who.region} if who.region and not access.region else {}
    return tuple(word for each in missing.items() for word in each)


def _asked(prompt: str) -> str:
    """Read a secret (an MFA code) from the terminal without echoing it."""
    from getpass import getpass

    return getpass(prompt)


def recorded(snapshot: str) -> VerifiedCluster | Unknown:
    """The cluster as the AWS answers of a snapshot describe it.

    Raises:
        SnapshotError: it cannot be read.
        AwsError: its answers are of several clusters, or AWS refused the requests that verify the cluster.
    """
    from kubectl_eksdoc.host.dump import aws_answers

    return of_answers(aws_answers(snapshot), f"the snapshot {snapshot}")


def of_answers(answers: bytes | None, where: str) -> VerifiedCluster | Unknown:
    """The cluster of recorded `answers`; None: there is no recording. Raises: as `cluster_from_snapshot`."""
    from kubectl_eksdoc.aws.asking import believed
    from kubectl_eksdoc.aws.recorded import Recorded

    if answers is None:
        return Unknown(f"{where} holds no answers of AWS")
    kept = Recorded(answers, where)
    return believed(kept, kept.of.access)


def demo(scene: str = "") -> VerifiedCluster:
    """The cluster of the demo, from `DemoAnswers`."""
    from kubectl_eksdoc.aws.asking import believed

    aws = DemoAnswers(scene)
    return believed(aws, aws.access)


class DemoAnswers:
    """The `AwsClient` of the built-in cluster, in one of its scenes."""

    def __init__(self, scene: str = "") -> None:
        self._scene = scene

    @property
    def access(self) -> AwsAccess:
        from kubectl_eksdoc.embedded.demo.reader import IDENTITY, account

        who = IDENTITY
        return AwsAccess(who.cluster, who.region, "demo", account=who.account, server=account()["endpoint"])

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """As `aws.asking.AwsClient.ask`."""
        from kubectl_eksdoc.aws.refusals import refused
        from kubectl_eksdoc.embedded.demo.reader import AwsErrorResponse, ask

        try:
            return ask(self._scene, question.service, question.operation, parameters)
        except AwsErrorResponse as error:
            raise refused(error.code, error.message, question, self.access) from error
