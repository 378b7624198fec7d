"""What the metadata service of nodes is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.aws.machines import MachinesTold
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.metadata.assumed import Assumed
from kubectl_eksdoc.core.plan.metadata.inside import Inside


@dataclass(frozen=True, slots=True)
class MetadataFacts:
    """`inside`: what was found in pods that were looked into, by ``namespace/name``; so many more were worth it that
    were `not_looked_into`. `assumed`: what the next nodes have, whatever makes them."""

    cluster: Cluster
    told: MachinesTold = MachinesTold()
    inside: Mapping[str, Inside] = field(default_factory=dict)
    not_looked_into: int = 0
    assumed: Assumed | None = None
