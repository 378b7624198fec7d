"""Run the command line inside the test's process, on streams and a cluster of the test's own."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.run_edges import DrainRunEdges
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import Entries, RunSummary
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.session.ports import ClusterReader
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from kubectl_eksdoc.wiring.runs import JournalLocation
from tests.builders import NOW, a_cluster, a_node, a_pod, a_roomy_node


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass
class FakeSource:
    """Stands for every source: remembers what it was asked for and answers with `cluster`, or raises `error`."""

    cluster: Cluster = field(
        default_factory=lambda: a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod(node="old-0")])
    )
    error: BaseException | None = None
    progress: Sequence[tuple[str, int]] = ()
    asked: list[tuple[SourceChoice, Connection]] = field(default_factory=list)

    def open(
        self, source: SourceChoice, connection: Connection, progress: Progress | None = None, waiting: object = None
    ) -> ClusterReader:
        self.asked.append((source, connection))
        if progress:
            for plural, count in self.progress:
                progress(plural, count)
        return self

    def read(self, resources: Sequence[Resource]) -> Cluster:
        if self.error:
            raise self.error
        return self.cluster


@dataclass
class FakeRuns:
    """Stands for the runs that a cluster has journals of: by their ids, the latest first; `error`: none can be read."""

    journals: Mapping[str, Entries] = field(default_factory=dict)
    error: EksdocError | None = None
    read: list[str] = field(default_factory=list)

    def open(self, connection: Connection, keeping: JournalLocation) -> FakeRuns:
        return self

    def all(self) -> Sequence[RunSummary]:
        if self.error:
            raise self.error
        return [RunSummary(run, NOW, "ended", "", NOW) for run in self.journals]

    def entries(self, run: str) -> Entries:
        self.read.append(run)
        return self.journals[run]


def run_cli(
    *argv: str,
    source: FakeSource | None = None,
    edges: DrainRunEdges | None = None,
    environ: Mapping[str, str] | None = None,
    out: io.StringIO | None = None,
    err: io.StringIO | None = None,
    now: Callable[[], datetime] = lambda: NOW,
) -> Ran:
    """The exit code and what was said; the cluster is a healthy node with a pod unless `source` says more."""
    out, err = out or io.StringIO(), err or io.StringIO()
    edges = edges or DrainRunEdges(open_runs=FakeRuns().open)
    around = CommandContext(out, err, environ or {}, (source or FakeSource()).open, now, run_edges=edges)
    code = run(argv, out, err, around=around)
    return Ran(code, out.getvalue(), err.getvalue())
