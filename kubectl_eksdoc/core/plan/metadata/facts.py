"""What the metadata service of nodes is judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import MachinesTold
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.metadata.symptoms import Seen


@dataclass(frozen=True, slots=True)
class Started:
    """With what a container of the pod was started: its arguments, and the names of its variables."""

    arguments: Sequence[str] = ()
    variables: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MetadataFacts:
    """By ``namespace/name`` of pods: `seen` is what logs of those that fail say, None if nothing that is known, and
    `started` with what those of known programs were started."""

    cluster: Cluster
    told: MachinesTold = MachinesTold()
    seen: Mapping[str, Seen | Unknown | None] = field(default_factory=dict)
    started: Mapping[str, Started | Unknown] = field(default_factory=dict)
