"""What flows need of the world; edges implement these, `wiring` chooses which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.kinds import Resource


class ClusterReader(Protocol):
    """A cluster, a dump of one, or the demo."""

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Read all objects of `resources`; what cannot be read is said in `Cluster.reads`.

        Raises:
            ClusterError: the cluster refused or cannot be reached at all.
            SnapshotError: the dump cannot be read.
        """
        ...
