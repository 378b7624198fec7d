"""Sessions for tests: of the demo, of a live cluster with the AWS stand-in, and with answers that a test gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.aws.asking import VerifiedCluster
from kubectl_eksdoc.kube.identity import AwsRequest
from kubectl_eksdoc.model.api_objects import AppliedObjects
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.eks import CallerIdentity, EksCluster
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession, ObservedSession, SessionRequest, open_session
from kubectl_eksdoc.session.sources import SourceChoice

EKS = EksCluster("prod", "arn:aws:eks:eu-west-1:111122223333:cluster/prod", "1.33", "eks.1", "ACTIVE", "", "")


def of_the_demo(needs: ClusterNeeds) -> ClusterSession:
    return open_session(SessionRequest(SourceChoice(demo=True), Connection(), AwsRequest(), needs))


def with_aws(believe: Callable[[], VerifiedCluster]) -> Callable[[SessionRequest], ClusterSession]:
    """Real sessions, except that the AWS of a live cluster is replaced."""
    return lambda request: open_session(replace(request, verify=lambda connection, wanted: believe()))


def sees(cluster: EksCluster = EKS, aws: Any = None) -> VerifiedCluster:
    return VerifiedCluster(
        aws, cluster, CallerIdentity(cluster.account, "arn:aws:iam::111122223333:user/ann"), "by its endpoint"
    )


class Answered(ObservedSession):
    """Answers given by a test; `answer` is called with the parameters of each request to AWS."""

    def __init__(
        self, cluster: Cluster, answer: Callable[..., Any], beside: Any = None, eks: EksCluster | Unknown = EKS
    ) -> None:
        super().__init__(cluster, eks if isinstance(eks, Unknown) else sees(eks), beside, live=True)
        self._answer = answer

    def ask(self, question: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self._answer(*args, **more)

    require = ask


class AppliesNothing:
    """An `AppliedReader` of a cluster in which no field manager has applied anything."""

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects:
        return AppliedObjects({})


class Nowhere:
    """A `PodReader` that reads no pod."""

    has_logs = False

    def containers(self, pods: Any) -> dict[str, Any]:
        return dict.fromkeys(pods, Unknown("nobody looks into pods here"))

    def logs(self, asked: Any) -> dict[Any, Any]:
        return dict.fromkeys(asked, Unknown("nobody looks into pods here"))
