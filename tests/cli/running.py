"""Run the command line inside the test's process, with the test's own streams and cluster."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from typing import Any

import jsonschema

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.cli.context import CommandContext, DrainRunEdges
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import JournalEntries, RunSummary
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.ports import ClusterReader
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from kubectl_eksdoc.wiring.runs import JournalLocation
from tests.builders import NOW, a_cluster, a_node, a_pod, a_roomy_node


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    def isatty(self) -> bool:
        return True


class Typist(Terminal):
    """A terminal that runs a callback before each typed line."""

    def __init__(self, types: str, before: Callable[[], object]) -> None:
        super().__init__(types)
        self._before = before

    def readline(self, size: int | None = -1, /) -> str:
        self._before()
        return super().readline()


@dataclass(frozen=True)
class Fast:
    """A clock that is faster by a factor."""

    speed: float

    def monotonic(self) -> float:
        return time.monotonic() * self.speed

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass
class FakeSource:
    """A fake of any source: it records the requested sources and connections, and returns `cluster` or raises
    `error`."""

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
    """A fake of the runs with journals in a cluster: by id, the latest first; `error`: reading them fails."""

    journals: Mapping[str, JournalEntries] = field(default_factory=dict)
    error: EksdocError | None = None
    read: list[str] = field(default_factory=list)

    def open(self, connection: Connection, keeping: JournalLocation) -> FakeRuns:
        return self

    def all(self) -> Sequence[RunSummary]:
        if self.error:
            raise self.error
        return [RunSummary(run, NOW, "ended", "", NOW) for run in self.journals]

    def entries(self, run: str) -> JournalEntries:
        self.read.append(run)
        return self.journals[run]


def called(
    *argv: str,
    environ: Mapping[str, str] | None = None,
    out: io.StringIO | None = None,
    err: io.StringIO | None = None,
    **around: Any,
) -> Ran:
    """The exit code and the output, in a context with only the fields of `around`."""
    out, err = out or io.StringIO(), err or io.StringIO()
    code = run(argv, out, err, context=CommandContext(out, err, environ or {}, **around))
    return Ran(code, out.getvalue(), err.getvalue())


def run_cli(
    *argv: str,
    source: FakeSource | None = None,
    edges: DrainRunEdges | None = None,
    now: Any = lambda: NOW,
    **more: Any,
) -> Ran:
    """The default `source` is a cluster of one healthy node with a pod."""
    edges = edges or DrainRunEdges(open_runs=FakeRuns().open)
    return called(*argv, open_reader=(source or FakeSource()).open, now=now, run_edges=edges, **more)


@cache
def judge(kind: str) -> jsonschema.Draft202012Validator:
    """Validate documents of that kind by its schema."""
    return jsonschema.Draft202012Validator(schemas.load_schema(kind))


def told(*words: str) -> dict[str, Any]:
    """The command's JSON output."""
    found: dict[str, Any] = json.loads(run_cli(*words, "-o", "json").out)
    return found


def document(text: str, kind: str) -> dict[str, Any]:
    """The output, which must be valid by its schema."""
    found: dict[str, Any] = json.loads(text)
    judge(kind).validate(found)
    return found
