"""The composition root: which implementation stands behind each port.

Imports of edges are inside the functions, because what one source needs (an SDK, decoding) must not
cost another one its start-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.baseline import Baseline
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.flows.ports import ClusterReader

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


def open_reader(source: SourceChoice, connection: Connection, progress: Progress | None = None) -> ClusterReader:
    """The reader of what the user chose.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        SnapshotError: the dump cannot be opened.
    """
    if source.demo:
        from kubectl_eksdoc.embedded.demo import DemoReader

        return DemoReader()
    if source.snapshot:
        from kubectl_eksdoc.host.snapshot import SnapshotReader

        return SnapshotReader(source.snapshot, progress)
    from kubectl_eksdoc.kube.reader import LiveReader

    return LiveReader(connection, progress=progress)


def read_baseline(path: str) -> Baseline:
    """A plan that was saved at `path` with ``-o json``.

    Raises:
        BaselineError: it cannot be read, or is no drain plan of this version.
    """
    from kubectl_eksdoc.host import baseline

    return baseline.read_baseline(path)
