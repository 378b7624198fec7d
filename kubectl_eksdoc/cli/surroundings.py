"""What a command is given of the process it runs in; tests give it something else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol, TextIO

from kubectl_eksdoc.cli.streams import deliver, say
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.sources import Progress, SourceChoice, open_reader, read_baseline, read_earlier

if TYPE_CHECKING:  # the first paint must not pay for what it does not need
    from kubectl_eksdoc.cli.run_edges import Edges
    from kubectl_eksdoc.flows.fleet import Members
    from kubectl_eksdoc.flows.ports import ClusterReader, Stage
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.model.api_objects import Doc
    from kubectl_eksdoc.model.baseline import Baseline
    from kubectl_eksdoc.model.connection import Connection, Waiting
    from kubectl_eksdoc.model.earlier import Earlier
    from kubectl_eksdoc.model.fleet import Member
    from kubectl_eksdoc.model.kinds import Resource
    from kubectl_eksdoc.tui.opening import Opening
    from kubectl_eksdoc.tui.replay import Again
    from kubectl_eksdoc.wiring.addons import AddonWorld, Reading
    from kubectl_eksdoc.wiring.checks import CheckReading, CheckWorld
    from kubectl_eksdoc.wiring.dns import DnsReading, DnsWorld
    from kubectl_eksdoc.wiring.interruption import InterruptionWorld
    from kubectl_eksdoc.wiring.metadata import MetadataWorld
    from kubectl_eksdoc.wiring.snapshots import Taken
    from kubectl_eksdoc.wiring.stages import Faults, Serving


class OpenReader(Protocol):
    """`wiring.sources.open_reader`."""

    def __call__(
        self, source: SourceChoice, connection: Connection, progress: Progress | None, waiting: Waiting | None = ..., /
    ) -> ClusterReader: ...


OpenStage = Callable[["SourceChoice", "Connection", "Progress | None", "Faults"], "Stage"]
OpenAddons = Callable[["SourceChoice", "Connection", "AwsWanted", "Progress | None", "Reading"], "AddonWorld"]
OpenMetadata = Callable[
    ["SourceChoice", "Connection", "AwsWanted", "Progress | None", "Sequence[Resource]"], "MetadataWorld"
]
OpenDns = Callable[["SourceChoice", "Connection", "AwsWanted", "Progress | None", "DnsReading"], "DnsWorld"]
OpenInterruption = Callable[
    ["SourceChoice", "Connection", "AwsWanted", "Progress | None", "Sequence[Resource]"], "InterruptionWorld"
]
OpenCheck = Callable[["SourceChoice", "Connection", "AwsWanted", "Progress | None", "CheckReading"], "CheckWorld"]
OpenMembers = Callable[["Callable[[Member], Sequence[str]]", str, "Mapping[str, str]", float], "Members"]
TakeSnapshot = Callable[
    ["str", "SourceChoice", "Connection", "AwsWanted", "Progress | None", "str", "Collection[str]"], "Taken"
]
Serve = Callable[["SourceChoice", "Connection", "Progress | None", "Serving"], None]


def _open_screens(opening: Opening) -> int:
    from kubectl_eksdoc.tui.app import EksdocApp

    app = EksdocApp(opening)
    return app.run() or app.return_code or 0


def _show_again(again: Again) -> int:
    from kubectl_eksdoc.tui.replay import ReplayApp

    return ReplayApp(again).run() or 0


def _open_stage(source: SourceChoice, connection: Connection, progress: Progress | None, faults: Faults) -> Stage:
    from kubectl_eksdoc.wiring.stages import open_stage

    return open_stage(source, connection, progress, faults)


def _serve(source: SourceChoice, connection: Connection, progress: Progress | None, how: Serving) -> None:
    from kubectl_eksdoc.wiring.stages import serve

    serve(source, connection, progress, how)


def _open_addons(
    source: SourceChoice, connection: Connection, wanted: AwsWanted, progress: Progress | None, reading: Reading
) -> AddonWorld:
    from kubectl_eksdoc.wiring.addons import open_addons

    return open_addons(source, connection, wanted, progress, reading)


def _open_metadata(
    source: SourceChoice,
    connection: Connection,
    wanted: AwsWanted,
    progress: Progress | None,
    kinds: Sequence[Resource],
) -> MetadataWorld:
    from kubectl_eksdoc.wiring.metadata import open_metadata

    return open_metadata(source, connection, wanted, progress, kinds)


def _open_dns(
    source: SourceChoice, connection: Connection, wanted: AwsWanted, progress: Progress | None, reading: DnsReading
) -> DnsWorld:
    from kubectl_eksdoc.wiring.dns import open_dns

    return open_dns(source, connection, wanted, progress, reading)


def _open_interruption(
    source: SourceChoice,
    connection: Connection,
    wanted: AwsWanted,
    progress: Progress | None,
    kinds: Sequence[Resource],
) -> InterruptionWorld:
    from kubectl_eksdoc.wiring.interruption import open_interruption

    return open_interruption(source, connection, wanted, progress, kinds)


def _open_check(
    source: SourceChoice, connection: Connection, wanted: AwsWanted, progress: Progress | None, reading: CheckReading
) -> CheckWorld:
    from kubectl_eksdoc.wiring.checks import open_check

    return open_check(source, connection, wanted, progress, reading)


def _open_members(
    words: Callable[[Member], Sequence[str]], kind: str, environ: Mapping[str, str], timeout_s: float
) -> Members:
    from kubectl_eksdoc.wiring.fleet import open_members

    return open_members(words, kind, environ, timeout_s)


def _take_snapshot(
    path: str,
    source: SourceChoice,
    connection: Connection,
    wanted: AwsWanted,
    progress: Progress | None,
    tool: str,
    without: Collection[str],
) -> Taken:
    from kubectl_eksdoc.wiring.snapshots import take

    return take(path, source, connection, wanted, progress, tool, without=without)


def _read_values(path: str) -> Doc:
    from kubectl_eksdoc.wiring.addons import read_values

    return read_values(path)


def _read_message(given: str) -> str:
    from kubectl_eksdoc.wiring.addons import read_message

    return read_message(given)


def _read_manifest(path: str) -> tuple[Doc, ...]:
    from kubectl_eksdoc.wiring.addons import read_manifest

    return read_manifest(path)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Commands write notes and progress to `stderr`; their answer they return. `run_edges` None: those of the world."""

    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    open_reader: OpenReader = open_reader
    now: Callable[[], datetime] = _now
    read_baseline: Callable[[str], Baseline] = read_baseline
    open_stage: OpenStage = _open_stage
    serve: Serve = _serve
    open_addons: OpenAddons = _open_addons
    open_metadata: OpenMetadata = _open_metadata
    open_dns: OpenDns = _open_dns
    open_interruption: OpenInterruption = _open_interruption
    open_check: OpenCheck = _open_check
    open_members: OpenMembers = _open_members
    take_snapshot: TakeSnapshot = _take_snapshot
    read_values: Callable[[str], Doc] = _read_values
    read_message: Callable[[str], str] = _read_message
    read_manifest: Callable[[str], tuple[Doc, ...]] = _read_manifest
    stdin: TextIO | None = None
    run_edges: Edges | None = None
    sleep: Callable[[float], object] = time.sleep
    open_screens: Callable[[Opening], int] = _open_screens
    show_again: Callable[[Again], int] = _show_again
    read_earlier: Callable[[str, str, str], Earlier] = read_earlier

    @property
    def edges(self) -> Edges:
        from kubectl_eksdoc.cli.run_edges import Edges

        return self.run_edges or Edges()

    def ask(self, question: str) -> str:
        """What whoever sits at the terminal types.

        Raises:
            UsageError: nobody sits there.
        """
        stdin = self.stdin or sys.stdin
        if stdin is None or not stdin.isatty():
            raise UsageError(
                "this must be confirmed by typing, and stdin is no terminal",
                "In a script: --yes --expect-nodes N, with the number of nodes of the plan that you have read.",
            )
        say(self.stderr, question)
        typed = stdin.readline()
        if not typed.endswith("\n"):
            say(self.stderr, "\n")
        return typed

    def say(self, text: str) -> None:
        """Data on stdout before the command is over."""
        deliver(self.stdout, text)

    def note(self, text: str) -> None:
        """One line on stderr that is neither data nor an error, with what would steer a terminal as escapes."""
        from kubectl_eksdoc.render.text import clean

        say(self.stderr, f"{clean(text)}\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command says on stdout, and its exit code; `text` ends with a line end or is ""."""

    text: str
    exit_code: int = 0
