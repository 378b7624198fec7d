"""What a snapshot holds, in every format.

Belongs here: what is shown of a snapshot that was taken, in which order and in which words.
Never here: what may be written down, and how the file is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from kubectl_eksdoc import __version__
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.permissions import how_to
from kubectl_eksdoc.model.snapshots import Scene, Snapshot
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.result import Count, Meta, Positive, Printed, Text
from kubectl_eksdoc.render.tables import MARGIN, Column, Title, drawn, told
from kubectl_eksdoc.render.text import rfc3339, shown, wrap

# What is shown of a snapshot.


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


# What ``-o`` offers for a snapshot that was taken.


def _table(view: SnapshotView, look: Look) -> str:
    # REMOVED

    return table(view, look, full=False)


def _wide(view: SnapshotView, look: Look) -> str:
    # REMOVED

    return table(view, look, full=True)


def _result(view: SnapshotView) -> object:
    # REMOVED

    return SnapshotResult.of(view)


FORMATS: Formats[SnapshotView] = Formats("a snapshot", {"table": _table, "wide": _wide, **documents(_result)})


# A snapshot that was taken as ``-o json`` and ``-o yaml`` print it.


class _Lacking(Printed):
    what: Text
    why: Text


class SnapshotResult(CommandResult):
    """A snapshot that was taken, and what it lacks: kubectl eksdoc snapshot FILE -o json."""

    kind: Literal["Snapshot"]
    file: Text
    """As it was named."""
    bytes: Positive
    answers_of_aws: Count
    """How many questions to AWS have their answer, or why there is none, in it."""
    lacking: tuple[_Lacking, ...]
    """What could not be read or asked, and why: of this, answers from it are unknown."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]

    @classmethod
    def of(cls, facts: SnapshotView) -> SnapshotResult:
        scene, source = facts.scene, facts.taken.snapshot.source
        cluster = Cluster(scene.identity, source, scene.observed_at, scene.reads, notes=scene.notes)
        return cls.filled(
            metadata=metadata(cluster, facts),
            file=facts.path,
            bytes=facts.taken.size,
            answers_of_aws=scene.calls,
            lacking=(_Lacking.filled(what=what, why=why) for what, why in facts.lacking),
            findings=(),
        )


# A snapshot that was taken, as a page: how large it is, what is in it, what it lacks, and how it is read.


_NEVER = "No Secret is in it. Values by which nothing is judged are digests, which nothing leads back from."


def table(view: SnapshotView, look: Look, full: bool) -> str:
    scene = view.scene
    head = f"{view.path}: {_size(view.taken.size)}, of {rfc3339(scene.observed_at)}. {_NEVER}"
    lines = [*wrap(shown(head, look), look.columns), ""]
    counted = [read for read in scene.reads if read.known and (read.count or full)]
    rows = [[read.resource.full_name, f"{read.count:,}"] for read in counted]
    columns = [Column("LIST", floor=10), Column("OBJECTS", right=True)]
    lines += [*drawn(Title("In it"), (columns, [*rows, ["answers of AWS", f"{scene.calls:,}"]]), look, full), ""]
    if view.lacking:
        lines += [*told(Title("Not in it"), (f"{what}: {why}" for what, why in view.lacking), look), ""]
    left_out = ("--without", ",".join(view.without)) if view.without else ()
    lines += [shown(f"{MARGIN}{shell('kubectl', 'eksdoc', 'check', '--snapshot', view.path, *left_out)}", look)]
    return "\n".join(lines) + "\n"


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
