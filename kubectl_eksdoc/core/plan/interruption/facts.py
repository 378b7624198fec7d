"""What the handling of interruptions is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.queues import InterruptionTold
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.interruption import KarpenterInstall, Place, SpotEvent

_NO_KARPENTER = Absent("there is no Karpenter in this cluster")


@dataclass(frozen=True, slots=True)
class InterruptionFacts:
    """`queue`: the name that is asked for: what Karpenter is configured with, or what it is to be; "" where it is
    configured, and nobody knows with what. `others`: further
    Deployments of Karpenter, which are not judged. `logs` and `metrics` by pod (``namespace/name``)."""

    cluster: Cluster
    install: KarpenterInstall | Absent | Unknown = _NO_KARPENTER
    others: tuple[str, ...] = ()
    place: Place = Place()
    queue: str = ""
    told: InterruptionTold = InterruptionTold()
    logs: Mapping[str, str | Absent | Unknown] = field(default_factory=dict)
    metrics: Mapping[str, str | Absent | Unknown] = field(default_factory=dict)
    events: tuple[SpotEvent, ...] | Unknown = ()

    @property
    def queue_arn(self) -> str:
        """Of the queue, be it there or not; "" where nobody knows where it would be."""
        from_aws = getattr(self.told.queue, "arn", "")
        return from_aws or (self.place.arn("sqs", self.queue) if self.place.known and self.queue else "")
