"""The context of a command: streams, environment, global flags and the functions that open clusters; tests replace
it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol, TextIO

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.report.text import clean
from kubectl_eksdoc.session.sources import Progress, SourceChoice, open_reader, read_baseline

from .entry_point import lazy_call
from .flags import GlobalOptions
from .streams import write_answer, write_note

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.measurement import CorednsAccess
    from kubectl_eksdoc.drain.run.apply import RunEdges
    from kubectl_eksdoc.drain.run.loop import DrainClock
    from kubectl_eksdoc.fleet.members import MemberRunner
    from kubectl_eksdoc.in_cluster.apply import ObjectCreator
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.api_objects import Doc
    from kubectl_eksdoc.model.baseline import Baseline
    from kubectl_eksdoc.model.cluster import FleetMember, Identity
    from kubectl_eksdoc.model.connection import Connection, OutageLimits
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.journal import JournalEntries
    from kubectl_eksdoc.model.permissions import AccessReview, Permission
    from kubectl_eksdoc.model.placement import ProbeLabels
    from kubectl_eksdoc.ports import ClusterReader, ProbeNamespace, RunBackend, RunStore, SimulatedCluster
    from kubectl_eksdoc.session.session import ClusterSession, SessionRequest
    from kubectl_eksdoc.snapshot.command import SnapshotContent
    from kubectl_eksdoc.tui.opening import Opening
    from kubectl_eksdoc.tui.replay import ReplayOptions
    from kubectl_eksdoc.wiring.runs import Hooks, JournalLocation
    from kubectl_eksdoc.wiring.stages import RequestedFaults, ServeSettings


# Functions that open the edges of a run; tests replace them.


class OpenProbeNamespace(Protocol):
    """Opens the namespace of probe pods, which are found by their labels."""

    def __call__(self, connection: Connection, namespace: str, labels: ProbeLabels = ...) -> ProbeNamespace: ...


class SystemClock:
    """The real time."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


@frozen
class DrainRunEdges:
    """`stop_requests` returns how often the process was asked to stop while the context is open."""

    open_run: Callable[[Connection, JournalLocation, float, Hooks], AbstractContextManager[RunEdges]] = lazy_call(
        "drain.run.apply.open_run"
    )
    open_runs: Callable[[Connection, JournalLocation], RunStore] = lazy_call("wiring.runs.open_runs")
    journal_location: Callable[[str, str, Mapping[str, str]], JournalLocation] = lazy_call("wiring.runs.keeping_here")
    open_watch: Callable[[Connection], AbstractContextManager[RunBackend]] = lazy_call("wiring.runs.open_watch")
    denied_permissions: Callable[[Connection, Sequence[Permission]], tuple[Permission, ...]] = lazy_call(
        "wiring.runs.denied"
    )
    review_permissions: Callable[[Connection, Sequence[Permission]], tuple[AccessReview, ...]] = lazy_call(
        "wiring.runs.reviewed"
    )
    pod_report: Callable[[Connection, str], PodReport] = lazy_call("wiring.runs.pod_report")
    new_run_id: Callable[[datetime], str] = lazy_call("wiring.runs.new_run_id")
    earlier_journals: Callable[[Mapping[str, str], str], dict[str, JournalEntries]] = lazy_call(
        "wiring.runs.earlier_journals"
    )
    clock: DrainClock = SystemClock()
    stop_requests: Callable[[], AbstractContextManager[Callable[[], int]]] = lazy_call("host.processes.told_to_stop")
    open_probe_namespace: OpenProbeNamespace = lazy_call("wiring.runs.open_ground")
    open_dns: Callable[[Connection], CorednsAccess] = lazy_call("wiring.runs.open_dns")
    packed_dns_load: Callable[[], bytes] = lazy_call("host.dns_load_archive.packed")
    new_probe_id: Callable[[], str] = lazy_call("wiring.runs.new_probe_id")
    open_object_creator: Callable[[Connection], ObjectCreator] = lazy_call("wiring.runs.open_placing")
    identity_of: Callable[[Connection, AwsRequest], Identity] = lazy_call("wiring.runs.identity_of")


class OpenReader(Protocol):
    """`session.sources.open_reader`."""

    def __call__(
        self,
        source: SourceChoice,
        connection: Connection,
        progress: Progress | None,
        outage_limits: OutageLimits | None = ...,
        /,
    ) -> ClusterReader: ...


OpenStage = Callable[["SourceChoice", "Connection", "Progress | None", "RequestedFaults"], "SimulatedCluster"]
OpenSession = Callable[["SessionRequest"], "ClusterSession"]
OpenMembers = Callable[["Callable[[FleetMember], Sequence[str]]", str, "Mapping[str, str]", float], "MemberRunner"]
TakeSnapshot = Callable[..., "SnapshotContent"]
Serve = Callable[["SourceChoice", "Connection", "Progress | None", "ServeSettings"], None]


_MAX_BYTES = 4 << 20


def read_values(path: str) -> Doc:
    """Configuration values from the file at `path`, also in the form of awscli: ``file://values.json``.

    Raises:
        UsageError: it cannot be read, or has no such values.
    """
    from kubectl_eksdoc.aws.eks import parse_values
    from kubectl_eksdoc.host.documents import read_text

    hint = "Give a file with JSON or YAML, as aws eks update-addon takes it."
    return parse_values(read_text(path.removeprefix("file://"), "--configuration-values", _MAX_BYTES, hint))


def read_message(source: str) -> str:
    """EKS's message of a conflict, from a file or, with ``-``, from standard input.

    Raises:
        UsageError: it cannot be read.
    """
    from kubectl_eksdoc.host.archive import standard_input
    from kubectl_eksdoc.host.documents import read_text

    hint = "Give the message of EKS: aws eks describe-update prints it (errors[].errorMessage)."
    if source != "-":
        return read_text(source, "--explain-conflict", _MAX_BYTES, hint)
    with standard_input() as stream:
        return stream.read(_MAX_BYTES).decode("utf-8", "replace")


def read_manifest(path: str, flag: str) -> tuple[Doc, ...]:
    from kubectl_eksdoc.host.manifest_files import read_documents

    return read_documents(path, flag, _MAX_BYTES)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@frozen
class CommandContext:
    """Commands write notes and progress to `stderr` and return their answer. `run_edges` None: the real ones. `options`
    and `source`: the global flags, and the source to read."""

    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    open_reader: OpenReader = open_reader
    now: Callable[[], datetime] = _now
    read_baseline: Callable[[str], Baseline] = read_baseline
    open_stage: OpenStage = lazy_call("wiring.stages.open_stage")
    serve: Serve = lazy_call("wiring.stages.serve")
    open_session: OpenSession = lazy_call("session.session.open_session")
    open_members: OpenMembers = lazy_call("fleet.command.open_members")
    take_snapshot: TakeSnapshot = lazy_call("snapshot.command.take")
    stdin: TextIO | None = None
    run_edges: DrainRunEdges | None = None
    sleep: Callable[[float], object] = time.sleep
    open_screens: Callable[[Opening], int] = lazy_call("tui.app.open_screens")
    show_again: Callable[[ReplayOptions], int] = lazy_call("tui.replay.show_again")
    options: GlobalOptions = GlobalOptions()
    source: SourceChoice = SourceChoice()

    @property
    def connection(self) -> Connection:
        return self.options.connection

    @property
    def aws(self) -> AwsRequest:
        from kubectl_eksdoc.kube.identity import AwsRequest

        return AwsRequest(self.options.cluster_name, self.options.region, self.options.profile)

    def reader(self, progress: Progress | None = None, outage_limits: OutageLimits | None = None) -> ClusterReader:
        return self.open_reader(self.source, self.connection, progress, outage_limits)

    @property
    def edges(self) -> DrainRunEdges:

        return self.run_edges or DrainRunEdges()

    def prompt(self, question: str) -> str:
        """The line that the user types at the terminal.

        Raises:
            UsageError: stdin is no terminal.
        """
        stdin = self.check_terminal()
        write_note(self.stderr, question)
        typed = stdin.readline()
        if not typed.endswith("\n"):
            write_note(self.stderr, "\n")
        return typed

    def check_terminal(self) -> TextIO:
        """The stream at which a user types. Raises UsageError: it is no terminal."""
        stdin = self.stdin or sys.stdin
        if stdin is None or not stdin.isatty():
            raise UsageError(
                "this must be confirmed by typing, and stdin is no terminal",
                "Run it in a terminal. In a script, where the command has --yes: with the number of nodes or of "
                "changes that you have read (--help).",
            )
        return stdin

    def write_data(self, text: str) -> None:
        """Write data to stdout before the command ends."""
        write_answer(self.stdout, text)

    def note(self, text: str) -> None:
        """Write one line to stderr that is neither data nor an error; terminal control characters are escaped."""
        write_note(self.stderr, f"{clean(text)}\n")


@frozen
class CommandAnswer:
    """The text for stdout, and the exit code; `text` ends with a line end or is ""."""

    text: str
    exit_code: int = 0


def non_terminal_stream(context: CommandContext) -> str:
    """The name of a stream that is no terminal, "" where all are: Textual itself would run unseen."""
    named_streams = (("stdin", context.stdin or sys.stdin), ("stdout", context.stdout), ("stderr", context.stderr))
    for name, stream in named_streams:
        if stream is None or not stream.isatty():
            return name
    return "TERM=dumb" if context.environ.get("TERM", "") in ("", "dumb") else ""
