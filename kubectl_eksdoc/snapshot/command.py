"""``kubectl eksdoc snapshot``: saves the cluster and AWS data to a file.

Belongs here: its flags, and which file is written. Never here: which requests are made (`recording`), and which parts
of the answers may be saved.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command
from kubectl_eksdoc.cli.parser import Commands, add_switch
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import AwsError, ClusterError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.snapshots import SceneManifest, Snapshot
from kubectl_eksdoc.session.aws import DemoAnswers, open_live_aws
from kubectl_eksdoc.session.session import (
    ClusterNeeds,
    LiveSession,
    ObservedSession,
    SessionRequest,
    unknown_if_denied,
    with_aws_identity,
)
from kubectl_eksdoc.session.sources import AWS_ANSWERS, CLUSTER_ANSWERS, DemoSnapshot, Progress, SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.aws.recorded import Recorder
    from kubectl_eksdoc.aws.refusals import LiveAws
    from kubectl_eksdoc.host.dump import SnapshotWriter
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kubernetes.redaction import Redactor
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.eks import AwsAccess
    from kubectl_eksdoc.objects.single import RawObjects

    from .recording import SnapshotRecorder


# ``kubectl eksdoc snapshot FILE``: flags, and the answer of the command.


NAME = "snapshot"

_ABOUT = """\
Save everything that this tool reads from the cluster and AWS to one file, to plan offline, to share it with a colleague
or to compare with later. Commands that only read, rehearse and the interactive UI accept it with --snapshot FILE. It
contains no Secrets; of Helm releases only which release has which objects. Values of variables, annotations, arguments
and ConfigMaps are included where a check needs them; all others are replaced by a digest.

Examples:
  %(prog)s prod.eksdoc
  %(prog)s prod.eksdoc --context prod --profile audit
  %(prog)s prod.eksdoc --overwrite -o json
  %(prog)s demo.eksdoc --demo
  kubectl eksdoc check --snapshot prod.eksdoc
"""

_EXIT_CODES = """\
Exit codes: 0 complete, 5 written, but something could not be read; 2 usage, 3 cluster, 4 AWS.
"""


def add_to(commands: Commands) -> None:
    """Add the parser of ``snapshot``."""
    parser = add_command(
        commands,
        NAME,
        "save the cluster and AWS data to a file, without secrets, for offline use",
        "FILE [flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
    )
    group = parser.add_argument_group("Read from (default: the live cluster of your kubeconfig)")
    add_switch(group, "--demo", "the built-in cluster", default=argparse.SUPPRESS)
    group = parser.add_argument_group("Output file")
    add_switch(group, "--overwrite", "overwrite FILE if it exists")
    options.add_without_flag(parser.add_argument_group("What is in it"), *permissions.SKIPPABLE_NAMES)


def _path_from(args: argparse.Namespace, source: SourceChoice) -> str:
    """The path of the new file.

    Raises:
        UsageError: no file or several files are named, or the file exists, or the source is a snapshot.
    """
    if not args.words:
        raise UsageError("the file is not named to which the snapshot is to be written", f"{NAME} FILE")
    if len(args.words) > 1:
        raise UsageError(f"one file is written, and {len(args.words)} are named: {', '.join(args.words)}")
    if source.snapshot:
        raise UsageError("a snapshot is made of a cluster that lives, or of --demo, not of another one")
    path = str(args.words[0])
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):  # /dev/null would be replaced
        raise UsageError(f"{path!r} is no file to write to: its parts are put together at its end", "Name a file.")
    if os.path.exists(path) and not args.overwrite:
        raise UsageError(f"{path} is there already", "Name another file, or give --overwrite.")
    return path


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Take the snapshot, and report its contents.

    Raises:
        EksdocError: the command line, the cluster, AWS or the file is at fault; the error says which.
    """
    # Imported late: help and usage errors must not load what only an answer needs.
    from .report import SnapshotReport

    path, without = _path_from(args, context.source), options.without_from_args(args)
    SnapshotReport.check_format(context.options.output)
    with answers.explain_forbidden(NAME), ProgressLine(context.stderr) as progress:
        content = context.take_snapshot(
            path, context.source, context.connection, context.aws, progress, __version__, without
        )
    report = SnapshotReport(content, path, without)
    complete = all(
        scene.aws is None and not scene.left_out and all(read.known for read in scene.reads)
        for scene in content.snapshot.scenes.values()
    )
    return answers.report_answer(report, context, streams.CLEAN if complete else streams.UNKNOWN)


# Takes a snapshot: everything that the commands read, from the live cluster or the demo, in a file.


@frozen
class SnapshotContent:
    """The contents of a snapshot, and its size in bytes."""

    snapshot: Snapshot
    size: int


OpenAws = Callable[["Connection", "AwsRequest"], "LiveAws"]


def take(
    path: str,
    source: SourceChoice,
    connection: Connection,
    aws_request: AwsRequest,
    progress: Progress | None,
    tool_version: str,
    without: Collection[str] = (),
    open_aws: OpenAws = open_live_aws,
) -> SnapshotContent:
    """Take a snapshot of the live cluster or the demo, in a new file at `path`. `tool_version`: version of this tool;
    `without`: opt-ins that are left out; `open_aws`: opens the AWS client.

    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the file cannot be written; it is removed then.
        AwsError: AWS describes another cluster.
    """
    from kubectl_eksdoc.host.dump import SnapshotWriter
    from kubectl_eksdoc.objects.journal_lines import write_manifest

    file = SnapshotWriter(path)
    try:
        writer = _SnapshotWriter(file, progress, open_aws, without)
        scenes = writer.demo() if source.demo else {"": writer.live(connection, aws_request)}
        snapshot = Snapshot(tool_version, Source.DEMO if source.demo else Source.LIVE, scenes)
        return SnapshotContent(snapshot, file.finish(writer.without_secrets(write_manifest(snapshot))))
    except BaseException:
        file.discard()
        raise


class _SnapshotWriter:
    """One snapshot in progress. Mutable, and private to one call of `take`."""

    def __init__(
        self, file: SnapshotWriter, progress: Progress | None, open_aws: OpenAws, without: Collection[str]
    ) -> None:
        from secrets import token_bytes

        from kubectl_eksdoc.aws.addon_side import chart_variables
        from kubectl_eksdoc.kubernetes.redaction import KEPT_VARIABLES, Digester, Redactor
        from kubectl_eksdoc.objects.redacted_pages import SnapshotRedactor

        self._file = file
        self._progress = progress
        self._open_aws = open_aws
        self._without = without
        self._redaction = Redactor(Digester(token_bytes(32)), variables=KEPT_VARIABLES | chart_variables())
        self._cleaner = SnapshotRedactor(self._redaction)

    def live(self, connection: Connection, aws_request: AwsRequest) -> SceneManifest:
        """Read the cluster once, and make the requests of all commands."""
        from kubectl_eksdoc.kube.reader import LiveReader

        from .recording import SnapshotRecorder, all_kinds

        verified_aws = unknown_if_denied(lambda: _verify_aws(self._open_aws(connection, aws_request), self._redaction))
        lists = self._lists("")
        aws = verified_aws if isinstance(verified_aws, Unknown) else verified_aws.cluster
        cluster = with_aws_identity(
            LiveReader(connection, self._progress, raw_objects=lists).read(all_kinds()), aws, aws_request
        )
        session_request = SessionRequest(SourceChoice(), connection, aws_request, ClusterNeeds("snapshot", all_kinds()))
        recorder = SnapshotRecorder(LiveSession(session_request), self._cleaner)
        command_reads = _CommandReads(ObservedSession(cluster, aws, recorder, live=True), self._without)
        for read in (
            command_reads.check,
            command_reads.addons,
            command_reads.metadata,
            command_reads.dns,
            command_reads.interruption,
        ):
            read()
        return self._write_scene("", cluster, verified_aws, recorder, command_reads.left_out)

    def demo(self) -> dict[str, SceneManifest]:
        """The incidents of the demo, each as the command that shows it reads it."""
        from kubectl_eksdoc.embedded.demo.reader import SCENES

        return {scene: self._incident(scene) for scene in SCENES}

    def _incident(self, scene: str) -> SceneManifest:
        from kubectl_eksdoc.imds_probe import read as metadata
        from kubectl_eksdoc.interruption import read as interruption

        from .recording import SnapshotRecorder, all_kinds

        demo, aws = DemoSnapshot(scene), DemoAnswers(scene)
        verified_aws = _verify_aws(aws, self._redaction)
        kinds = {"imds-probe": metadata.KINDS, "interruption": interruption.KINDS}.get(scene) or all_kinds()
        cluster = demo.reader(None, self._lists(scene)).read(kinds)
        recorder = SnapshotRecorder(ObservedSession(cluster, verified_aws.cluster, demo.extra_reader()), self._cleaner)
        command_reads = _CommandReads(
            ObservedSession(cluster, verified_aws.cluster, recorder, live=True), self._without
        )
        reads_by_scene = {
            "": (command_reads.addons, command_reads.dns),
            "check": (command_reads.check,),
            "imds-probe": (command_reads.metadata,),
            "interruption": (command_reads.interruption,),
        }
        for read in reads_by_scene[scene]:
            read()
        return self._write_scene(scene, cluster, verified_aws, recorder, command_reads.left_out)

    def without_secrets(self, body: bytes) -> bytes:
        """The last redaction, after that of each answer: addresses and error messages are saved as they came."""
        return self._redaction.redact_forms(body.decode()).encode()

    def _lists(self, scene: str) -> RawObjects:
        from kubectl_eksdoc.objects.redacted_pages import RedactedLists

        return RedactedLists(
            self._cleaner, partial(self._file.add_page, scene), partial(self._file.restart_list, scene)
        )

    def _write_scene(
        self,
        scene: str,
        cluster: Cluster,
        verified_aws: _VerifiedAws | Unknown,
        recorder: SnapshotRecorder,
        left_out: Mapping[str, str],
    ) -> SceneManifest:
        from kubectl_eksdoc.objects.snapshot_answers import write_answers

        self._file.add_file(scene, CLUSTER_ANSWERS, self.without_secrets(write_answers(recorder.answers())))
        aws_unknown, calls = (
            (verified_aws, 0) if isinstance(verified_aws, Unknown) else (None, len(verified_aws.recorder))
        )
        left_out_reasons = {**left_out, **recorder.refused()}
        if not isinstance(verified_aws, Unknown):
            left_out_reasons |= verified_aws.recorder.refused_actions
            self._file.add_file(scene, AWS_ANSWERS, self.without_secrets(verified_aws.content(cluster)))
        return SceneManifest(
            cluster.identity,
            cluster.observed_at,
            cluster.reads,
            cluster.notes,
            aws_unknown,
            calls,
            dict(sorted(left_out_reasons.items())),
        )


@frozen
class _VerifiedAws:
    """The verified AWS side of the cluster, the recorder of its answers, and the credentials in use."""

    cluster: VerifiedCluster
    recorder: Recorder
    access: AwsAccess

    def content(self, cluster: Cluster) -> bytes:
        from kubectl_eksdoc.aws.recorded import RecordingInfo

        access, verified = self.access, self.cluster
        recorded_of = RecordingInfo(
            access.cluster,
            access.region,
            access.account,
            access.server,
            verified.caller.arn,
            cluster.observed_at,
            access.server_name,
            access.ca,
        )
        return self.recorder.to_bytes(recorded_of)


def _verify_aws(aws: LiveAws | DemoAnswers, redaction: Redactor) -> _VerifiedAws:
    """Raises AwsError: as `aws.asking.verify_cluster`."""
    from kubectl_eksdoc.aws.asking import verify_cluster
    from kubectl_eksdoc.aws.recorded import AwsAnswerCleaner, Recorder

    recorder = Recorder(aws, AwsAnswerCleaner(redaction))
    return _VerifiedAws(verify_cluster(recorder, aws.access), recorder, aws.access)


@dataclass
class _CommandReads:
    """The requests of each command on one session; if one command fails, the others are still made. `without`: opt-ins
    that are left out."""

    session: ObservedSession
    without: Collection[str] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def _proxied(self) -> bool:
        return permissions.PROXY.name not in self.without

    def check(self) -> None:
        from .recording import ask_check

        with self._noting_errors("check"):
            ask_check(self.session, self.without, self._proxied)

    def addons(self) -> None:
        from .recording import ask_addons

        if not isinstance(self.session.aws, Unknown):
            with self._noting_errors("addon-diff"):
                ask_addons(self.session, lambda addon, why: self.left_out.update({f"addon-diff {addon}": why}))

    def metadata(self) -> None:
        from kubectl_eksdoc.imds_probe.read import plan_imds_access

        with self._noting_errors("imds-probe"):
            plan_imds_access(self.session)

    def dns(self) -> None:
        from kubectl_eksdoc.coredns_lameduck.read import complete_facts, read_notices

        with self._noting_errors("coredns-lameduck"):
            complete_facts(self.session, lambda: read_notices(self.session, (), self._proxied))

    def interruption(self) -> None:
        from kubectl_eksdoc.interruption.plan import InterruptionOptions
        from kubectl_eksdoc.interruption.read import read_interruption

        with self._noting_errors("interruption"):
            read_interruption(self.session, InterruptionOptions(), self._proxied)

    @contextmanager
    def _noting_errors(self, command: str) -> Iterator[None]:
        try:
            yield
        except (AwsError, UsageError) as error:
            self.left_out[command] = error.message
        except ClusterError as error:
            if not getattr(error, "missing", ""):  # no request can be made any more
                raise
            self.left_out[command] = error.message
