"""What everything that is read together with its AWS side has in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.core.model.asked import Unknown, missing_rights

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.core.model.cluster import Cluster


def confirmed(cluster: Cluster, aws: Believed | Unknown) -> Cluster:
    """With the names by which AWS knows it: a kubeconfig may say none of them."""
    if isinstance(aws, Unknown):
        return cluster
    of = aws.cluster
    who = replace(cluster.identity, cluster=of.name, account=of.account, region=of.region)
    return replace(cluster, identity=who)


@dataclass(frozen=True, slots=True)
class ReadWorld:
    """The cluster as it was read; of AWS nothing is known where it could not be believed, and why."""

    cluster: Cluster
    aws: Believed | Unknown

    def __post_init__(self) -> None:
        object.__setattr__(self, "cluster", confirmed(self.cluster, self.aws))

    @property
    def recognised(self) -> str:
        """How it is known that AWS describes the cluster that was read, a clause; "" where nothing of AWS is known."""
        return "" if isinstance(self.aws, Unknown) else self.aws.by

    @property
    def calls(self) -> str:
        """What was sent to AWS so far, "" where nothing is."""
        return "" if isinstance(self.aws, Unknown) else str(getattr(self.aws.aws, "said", ""))

    @property
    def denied(self) -> tuple[str, ...]:
        """The actions of IAM that AWS has refused so far, sorted."""
        if isinstance(self.aws, Unknown):
            return missing_rights(self.aws)
        return tuple(getattr(self.aws.aws, "denied", ()))
