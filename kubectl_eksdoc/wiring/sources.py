"""What a reading command reads: the live cluster, a dump, the demo, a saved plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.baseline import Baseline
    from kubectl_eksdoc.core.model.connection import Connection, Waiting
    from kubectl_eksdoc.core.model.earlier import Earlier
    from kubectl_eksdoc.core.model.snapshots import Scene, Snapshot
    from kubectl_eksdoc.flows.ports import ClusterReader
    from kubectl_eksdoc.objects.raw_objects import RawObjects

Progress = Callable[[str, int], None]
"""Called with a resource's plural and the number of its objects read so far."""


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """A dump at `snapshot`, the built-in cluster if `demo`, the live cluster if neither."""

    snapshot: str = ""
    demo: bool = False

    @property
    def live(self) -> bool:
        return not (self.snapshot or self.demo)


def open_reader(
    source: SourceChoice,
    connection: Connection,
    progress: Progress | None = None,
    waiting: Waiting | None = None,
    *,
    raw: RawObjects | None = None,
) -> ClusterReader:
    """The reader of what the user chose; `raw` gets the objects that it reads. `waiting`: how long for a live cluster
    that does not answer.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        SnapshotError: the dump cannot be opened.
    """
    if source.demo:
        from kubectl_eksdoc.embedded.demo.reader import DemoReader

        return DemoReader(raw)
    if source.snapshot:
        from kubectl_eksdoc.host.archives.snapshot import SnapshotReader

        snapshot = snapshot_of(source)
        if snapshot is not None:
            return kept_reader(source.snapshot, "", snapshot.scenes[""], progress, raw)
        return SnapshotReader(source.snapshot, progress, raw=raw)
    from kubectl_eksdoc.kube.reader import LiveReader

    return LiveReader(connection, progress=progress, raw=raw, waiting=waiting)


def snapshot_of(source: SourceChoice) -> Snapshot | None:
    """What a snapshot of this tool's says of itself; None where a dump of kubectl's is read, or something else.

    Raises:
        SnapshotError: it cannot be read.
    """
    if not source.snapshot:
        return None
    from kubectl_eksdoc.host.archives.kept_snapshot import snapshot_at

    return snapshot_at(source.snapshot)


def kept_reader(
    path: str, scene: str, told: Scene, progress: Progress | None = None, raw: RawObjects | None = None
) -> ClusterReader:
    """Of one scene of such a snapshot."""
    from kubectl_eksdoc.host.archives.kept_snapshot import KeptReader

    return KeptReader(path, scene, told, progress, raw)


def read_baseline(path: str) -> Baseline:
    """A plan that was saved at `path` with ``-o json``.

    Raises:
        BaselineError: it cannot be read, or is no drain plan of this version.
    """
    from kubectl_eksdoc.host.saved import plan

    return plan.read_baseline(path)


def read_earlier(path: str, kind: str, command: str) -> Earlier:
    """What `command` found earlier, from `path`, a document of `kind`.

    Raises:
        BaselineError: it is something else; the error says what. So it is of a snapshot, which holds no findings.
    """
    from kubectl_eksdoc.host.saved import earlier

    return earlier.read_earlier(path, kind, command)


def is_snapshot(path: str) -> bool:
    """Whether what lies there holds what was read, of which an answer can be made; what cannot be opened does not."""
    from kubectl_eksdoc.host.saved import answer

    return answer.is_snapshot(path)
