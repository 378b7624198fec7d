"""The built-in cluster, to be drained: it is served on this machine from the first time that somebody wants to."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from dataclasses import replace

from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.embedded.demo.reader import IDENTITY
from kubectl_eksdoc.wiring.runs import HastenedClock, hastened
from kubectl_eksdoc.wiring.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import Serving, served

SPEED = 10.0
"""So many of its seconds pass in one of ours: a drain that takes minutes is seen in a fraction of them."""


class DemoCluster:
    """Mutable. `around`: surroundings in which its runs are carried out: they reckon in its time, and keep their
    journals in a folder that goes with it."""

    def __init__(self, around: Surroundings, options: GlobalOptions) -> None:
        self._options = options
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._reached: GlobalOptions | None = None
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="eksdoc-demo-"))
        clock = HastenedClock(around.edges.clock, SPEED)
        edges = replace(around.edges, open_run=hastened(around.edges.open_run, clock, SPEED), clock=clock)
        environ = {**around.environ, "XDG_STATE_HOME": folder}
        self.around = replace(around, run_edges=edges, environ=environ, now=clock.now)

    @property
    def is_served(self) -> bool:
        """From then on it changes."""
        return self._reached is not None

    def reach(self) -> GlobalOptions:
        """How it is reached; from the first call on it is served.

        Raises:
            UsageError: its kubeconfig cannot be written.
        """
        with self._lock:
            if self._reached is None:
                how = Serving(SPEED, "", lambda path, address: None, lambda note: None)
                path, _ = self._open.enter_context(served(SourceChoice(demo=True), Connection(), None, how))
                connection = Connection(kubeconfig=path)
                self._reached = replace(self._options, connection=connection, cluster_name=IDENTITY.cluster)
            return self._reached

    def close(self) -> None:
        self._open.close()
