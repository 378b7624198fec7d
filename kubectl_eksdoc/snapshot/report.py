"""Report of a snapshot: its contents, in every format.

Belongs here: what is shown of a new snapshot, and in which order. Never here: what may be saved, and how the file is
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Protocol

from kubectl_eksdoc import __version__
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.permissions import opt_in_hint
from kubectl_eksdoc.model.snapshots import SceneManifest, Snapshot
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import BulletList, Heading, Report, Section, Table, TextBlock, verbatim_line
from kubectl_eksdoc.report.result import Count, Meta, PositiveCount, Printed, Text
from kubectl_eksdoc.report.text import Row, number_column, rfc3339, text_column

# The page of a snapshot.


class _SnapshotContent(Protocol):
    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def size(self) -> int: ...


@frozen
class SnapshotReport(Report):
    """`path`: the file. `without`: opt-ins that are left out. The demo has a scene for each of its incidents; the first
    scene is shown."""

    noun_phrase = "a snapshot"

    taken: _SnapshotContent
    path: str
    without: tuple[str, ...] = ()
    tool_version: str = __version__

    @property
    def options(self) -> Mapping[str, object]:
        return {"without": self.without} if self.without else {}

    @property
    def scene(self) -> SceneManifest:
        return self.taken.snapshot.scenes[""]

    @property
    def lacking(self) -> tuple[tuple[str, str], ...]:
        """The data that could not be read, and the reason."""
        scene, scenes = self.scene, self.taken.snapshot.scenes.values()
        missing = [(read.resource.full_name, read.detail) for read in scene.reads if not read.known]
        if scene.aws is not None:
            missing.append(("AWS", scene.aws.why))
        left_out = sorted(pair for each in scenes for pair in each.left_out.items())
        return (
            *missing,
            *((subject, ". ".join(filter(None, (why, opt_in_hint(subject))))) for subject, why in left_out),
        )

    @property
    def cluster(self) -> Cluster:
        scene, source = self.scene, self.taken.snapshot.source
        return Cluster(scene.identity, source, scene.observed_at, scene.reads, notes=scene.notes)

    def sections(self, full: bool) -> Iterator[Section]:
        """The size, the contents, the missing data, and the command that reads the file."""
        scene = self.scene
        yield Heading(f"{self.path}: {_size_text(self.taken.size)}, of {rfc3339(scene.observed_at)}. {_CONTENT_NOTE}")
        counted = [read for read in scene.reads if read.known and (read.count or full)]
        rows: list[Row] = [[read.resource.full_name, f"{read.count:,}"] for read in counted]
        columns = [text_column("LIST", 10), number_column("OBJECTS")]
        yield Table("In it", (columns, [*rows, ["answers of AWS", f"{scene.calls:,}"]]), "lists")
        yield BulletList("Not in it", (f"{what}: {why}" for what, why in self.lacking))
        left_out = ("--without", ",".join(self.without)) if self.without else ()
        yield TextBlock(None, [verbatim_line(shell("kubectl", "eksdoc", "check", "--snapshot", self.path, *left_out))])

    def result(self) -> object:
        return SnapshotResult.from_facts(
            self,
            findings=(),
        )


_CONTENT_NOTE = "No Secret is in it. Values by which nothing is judged are digests, which nothing leads back from."


def _size_text(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"


# A new snapshot as ``-o json`` and ``-o yaml`` print it.


class _NotRead(Printed):
    what: Text
    why: Text


class SnapshotResult(CommandResult):
    """A new snapshot, and what it lacks: kubectl eksdoc snapshot FILE -o json."""

    called = {"file": "path", "bytes": "taken.size", "answers_of_aws": "scene.calls"}

    kind: Literal["Snapshot"]
    file: Text
    """As the user named it."""
    bytes: PositiveCount
    answers_of_aws: Count
    """How many requests to AWS have their answer or error in it."""
    lacking: tuple[_NotRead, ...]
    """Data that could not be read, and the reason: checks that need it are unknown with this snapshot."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]
