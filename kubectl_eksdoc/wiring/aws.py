"""The AWS side of the cluster that is read: AWS itself, what a snapshot holds of it, or the demo's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import Aws
    from kubectl_eksdoc.aws.live import LiveAws
    from kubectl_eksdoc.core.model.aws.questions import Question
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.kube.aws_access import AwsWanted


def open_aws(source: SourceChoice, connection: Connection, wanted: AwsWanted) -> Aws:
    """Nothing is sent before it is asked; of a snapshot that holds no answers of AWS all is unknown.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        SnapshotError: the snapshot cannot be read.
        UsageError: nothing says which region.
    """
    if source.demo:
        return DemoAnswers()
    if source.snapshot:
        from kubectl_eksdoc.aws.recorded import NOTHING, Recorded
        from kubectl_eksdoc.host.aws_answers import aws_answers

        return Recorded(aws_answers(source.snapshot) or NOTHING, f"the snapshot {source.snapshot}")
    return open_live(connection, wanted)


def open_live(connection: Connection, wanted: AwsWanted) -> LiveAws:
    """
    Raises:
        ConfigError, UsageError: as `open_aws`.
    """
    from kubectl_eksdoc.aws.live import LiveAws
    from kubectl_eksdoc.kube.aws_access import aws_access
    from kubectl_eksdoc.kube.surroundings import of_this_process

    return LiveAws(aws_access(connection, of_this_process(), wanted))


class DemoAnswers:
    """The `Aws` of the built-in cluster."""

    def ask(self, question: Question, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """As `aws.asking.Aws.ask`."""
        from kubectl_eksdoc.aws.refusals import refused
        from kubectl_eksdoc.core.model.aws.access import AwsAccess
        from kubectl_eksdoc.embedded.demo import world
        from kubectl_eksdoc.embedded.demo.aws.demo_aws import DemoAws
        from kubectl_eksdoc.embedded.demo.aws.refused import Refused

        try:
            return DemoAws().ask(question.service, question.operation, parameters)
        except Refused as error:
            access = AwsAccess(world.CLUSTER, world.REGION, "demo", account=world.ACCOUNT)
            raise refused(error.code, error.message, question, access) from error
