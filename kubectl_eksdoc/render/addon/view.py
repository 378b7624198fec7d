"""What is shown of the updates of one or more add-ons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc import __version__
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.since import Since as InSchema
from kubectl_eksdoc.baseline.changes import Since
from kubectl_eksdoc.model.cluster import Cluster


@dataclass(frozen=True, slots=True)
class AddonView:
    """`plans` by the names of the add-ons; `options` as they were given; `recognised`: how it is known that AWS
    describes the cluster that was read. `steps`: of an add-on that goes one minor at a time, the plan of each, by name;
    only where they were asked for. `since`: when the schema got the paths of fields at risk, likewise.
    `beside`: an earlier answer, None where none was given."""

    plans: tuple[AddonPlan, ...]
    cluster: Cluster
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__
    steps: Mapping[str, tuple[AddonPlan, ...]] = field(default_factory=dict)
    since: Mapping[str, tuple[InSchema, ...]] = field(default_factory=dict)
    beside: Since | None = None
