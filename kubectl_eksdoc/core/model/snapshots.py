"""What a snapshot says of itself: what was read, what was not and why, of which cluster, when, and by which tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.cluster import Identity, Source
from kubectl_eksdoc.core.model.kinds import KindRead, Resource

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Scene:
    """One reading. `aws`: why nothing of AWS is in it, None where something is; `calls`: so many answers of AWS.
    `left_out`: what was not asked, by the command that would have, and what was refused, by the right that is missing,
    each with why."""

    identity: Identity
    observed_at: datetime
    reads: tuple[KindRead, ...]
    notes: tuple[str, ...] = ()
    aws: Unknown | None = None
    calls: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)

    def read_of(self, resource: Resource) -> KindRead | None:
        return next((each for each in self.reads if each.resource.full_name == resource.full_name), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`scenes`: by the command that sees it, "" for all others. A cluster has one, that of all; the demo has one for
    each of its incidents."""

    tool: str
    source: Source
    scenes: Mapping[str, Scene]

    def scene(self, command: str) -> str:
        """The name of that which `command` sees."""
        return command if command in self.scenes else ""
