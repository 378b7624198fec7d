"""What is shown of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.opt_ins import how_to
from kubectl_eksdoc.core.model.snapshots import Scene, Snapshot


class Taken(Protocol):
    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """`path`: the file. `without`: opt-ins that are left out. Of the demo, whose incidents each have a scene, the first
    is shown."""

    taken: Taken
    path: str
    without: tuple[str, ...] = ()
    tool_version: str = __version__

    @property
    def options(self) -> Mapping[str, object]:
        return {"without": self.without} if self.without else {}

    @property
    def scene(self) -> Scene:
        return self.taken.snapshot.scenes[""]

    @property
    def lacking(self) -> tuple[tuple[str, str], ...]:
        """What could not be read or asked, and why."""
        scene, every = self.scene, self.taken.snapshot.scenes.values()
        found = [(read.resource.full_name, read.detail) for read in scene.reads if not read.known]
        if scene.aws is not None:
            found.append(("AWS", scene.aws.why))
        told = sorted(pair for each in every for pair in each.left_out.items())
        return (*found, *((what, ". ".join(filter(None, (why, how_to(what))))) for what, why in told))
