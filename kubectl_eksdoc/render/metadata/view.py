"""What is shown of the metadata service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.plan.metadata.fixes.fix import Choice
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike
from kubectl_eksdoc.core.plan.metadata.of_pod import OnePod
from kubectl_eksdoc.core.plan.metadata.plan import MetadataPlan
from kubectl_eksdoc.core.plan.since.changes import Since


@dataclass(frozen=True, slots=True)
class MetadataView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read. `pod`:
    the one that was asked about. `offered`: what can be done, for each group of the plan; () where nobody looked.
    `since`: beside an earlier answer, None where none was given."""

    plan: MetadataPlan
    options: Mapping[str, object]
    recognised: str = ""
    pod: OnePod | None = None
    offered: tuple[tuple[NodesAlike, Choice], ...] = ()
    tool_version: str = __version__
    since: Since | None = None
