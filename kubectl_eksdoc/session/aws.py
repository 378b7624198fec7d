"""The AWS side of the cluster that is read: AWS itself, what a snapshot holds of it, or the demo's."""

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
    """What AWS says is of the cluster that kubectl talks to, or it is not believed.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        UsageError: nothing says which region, or which cluster.
        AwsError: as `aws.asking.believed`.
    """
    from kubectl_eksdoc.aws.asking import believed

    aws = open_live(connection, wanted)
    return believed(aws, aws.access)


def open_live(connection: Connection, wanted: AwsRequest) -> LiveAws:
    """Nothing is sent before it is asked.

    Raises:
        ConfigError, UsageError: as `believe_live`.
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
    """The flags that name the cluster and its region, each where neither `wanted` nor the kubeconfig does."""
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
    """Of the terminal, without showing it."""
    from getpass import getpass

    return getpass(prompt)


def recorded(snapshot: str) -> VerifiedCluster | Unknown:
    """
    Raises:
        SnapshotError: it cannot be read.
        AwsError: what it holds is of several clusters, or what is needed to believe it was refused then.
    """
    from kubectl_eksdoc.host.dump import aws_answers

    return of_answers(aws_answers(snapshot), f"the snapshot {snapshot}")


def of_answers(answers: bytes | None, where: str) -> VerifiedCluster | Unknown:
    """What a recording says; None: there is none. Raises: as `recorded`."""
    from kubectl_eksdoc.aws.asking import believed
    from kubectl_eksdoc.aws.recorded import Recorded

    if answers is None:
        return Unknown(f"{where} holds no answers of AWS")
    kept = Recorded(answers, where)
    return believed(kept, kept.of.access)


def demo(scene: str = "") -> VerifiedCluster:
    """As `DemoAnswers`."""
    from kubectl_eksdoc.aws.asking import believed

    aws = DemoAnswers(scene)
    return believed(aws, aws.access)


class DemoAnswers:
    """The `AwsClient` of the built-in cluster, as a scene has it."""

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
