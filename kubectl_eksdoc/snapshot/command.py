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
from kubectl_eksdoc.cli import opening, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command
from kubectl_eksdoc.cli.parser import Commands, add_switch
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import AwsError, ClusterError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.snapshots import Scene, Snapshot
from kubectl_eksdoc.session.aws import DemoAnswers, open_live
from kubectl_eksdoc.session.session import ClusterNeeds, LiveSession, Observed, SessionRequest, named, or_unknown
from kubectl_eksdoc.session.sources import AWS_ANSWERS, CLUSTER_ANSWERS, DemoSnapshot, Progress, SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.aws.recorded import Recorder
    from kubectl_eksdoc.aws.refusals import LiveAws
    from kubectl_eksdoc.host.dump import SnapshotFile
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kubernetes.redaction import KeptAnnotations
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
    options.add_without(parser.add_argument_group("What is in it"), *permissions.SKIPPABLE)


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


def run(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Take the snapshot, and report its contents.

    Raises:
        EksdocError: the command line, the cluster, AWS or the file is at fault; the error says which.
    """
    # Imported late: help and usage errors must not load what only an answer needs.
    from .report import SnapshotReport

    path, without = _path_from(args, around.source), options.without_from(args)
    SnapshotReport.check(around.options.output)
    with opening.explaining(NAME), ProgressLine(around.stderr) as progress:
        taken = around.take_snapshot(path, around.source, around.connection, around.aws, progress, __version__, without)
    report = SnapshotReport(taken, path, without)
    whole = all(
        scene.aws is None and not scene.left_out and all(read.known for read in scene.reads)
        for scene in taken.snapshot.scenes.values()
    )
    return opening.answer(report, around, streams.CLEAN if whole else streams.UNKNOWN)


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
    wanted: AwsRequest,
    progress: Progress | None,
    tool: str,
    without: Collection[str] = (),
    open_aws: OpenAws = open_live,
) -> SnapshotContent:
    """Take a snapshot of the live cluster or the demo, in a new file at `path`. `tool_version`: version of this tool;
    `without`: opt-ins that are left out; `open_aws`: opens the AWS client.

    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the file cannot be written; it is removed then.
        AwsError: AWS describes another cluster.
    """
    from kubectl_eksdoc.host.dump import SnapshotFile
    from kubectl_eksdoc.objects.journal_lines import written

    file = SnapshotFile(path)
    try:
        taking = _Taking(file, progress, open_aws, without)
        scenes = taking.demo() if source.demo else {"": taking.live(connection, wanted)}
        snapshot = Snapshot(tool, Source.DEMO if source.demo else Source.LIVE, scenes)
        return SnapshotContent(snapshot, file.finish(taking.without_secrets(written(snapshot))))
    except BaseException:
        file.drop()
        raise


class _Taking:
    """One snapshot in progress. Mutable, and private to one call of `take`."""

    def __init__(
        self, file: SnapshotFile, progress: Progress | None, open_aws: OpenAws, without: Collection[str]
    ) -> None:
        from secrets import token_bytes

        from kubectl_eksdoc.aws.addon_side import variables
        from kubectl_eksdoc.kubernetes.redaction import VARIABLES, Digests, KeptAnnotations
        from kubectl_eksdoc.objects.redacted_pages import SnapshotCleaner

        self._file = file
        self._progress = progress
        self._open_aws = open_aws
        self._without = without
        self._keep = KeptAnnotations(Digests(token_bytes(32)), variables=VARIABLES | variables())
        self._keeping = SnapshotCleaner(self._keep)

    def live(self, connection: Connection, wanted: AwsRequest) -> Scene:
        """Read the cluster once, and make the requests of all commands."""
        from kubectl_eksdoc.kube.reader import LiveReader

        from .recording import SnapshotRecorder, every_kind

        of_aws = or_unknown(lambda: _of_aws(self._open_aws(connection, wanted), self._keep))
        lists = self._lists("")
        aws = of_aws if isinstance(of_aws, Unknown) else of_aws.believed
        cluster = named(LiveReader(connection, self._progress, raw=lists).read(every_kind()), aws, wanted)
        opening = SessionRequest(SourceChoice(), connection, wanted, ClusterNeeds("snapshot", every_kind()))
        recording = SnapshotRecorder(LiveSession(opening), self._keeping)
        asking = _Asking(Observed(cluster, aws, recording, live=True), self._without)
        for ask in (asking.check, asking.addons, asking.metadata, asking.dns, asking.interruption):
            ask()
        return self._written("", cluster, of_aws, recording, asking.left_out)

    def demo(self) -> dict[str, Scene]:
        """The incidents of the demo, each as the command that shows it reads it."""
        from kubectl_eksdoc.embedded.demo.reader import SCENES

        return {scene: self._incident(scene) for scene in SCENES}

    def _incident(self, scene: str) -> Scene:
        from kubectl_eksdoc.imds_probe import read as metadata
        from kubectl_eksdoc.interruption import read as interruption

        from .recording import SnapshotRecorder, every_kind

        opened, aws = DemoSnapshot(scene), DemoAnswers(scene)
        of_aws = _of_aws(aws, self._keep)
        kinds = {"imds-probe": metadata.KINDS, "interruption": interruption.KINDS}.get(scene) or every_kind()
        cluster = opened.reader(None, self._lists(scene)).read(kinds)
        recording = SnapshotRecorder(Observed(cluster, of_aws.believed, opened.beside()), self._keeping)
        asking = _Asking(Observed(cluster, of_aws.believed, recording, live=True), self._without)
        asks = {
            "": (asking.addons, asking.dns),
            "check": (asking.check,),
            "imds-probe": (asking.metadata,),
            "interruption": (asking.interruption,),
        }
        for ask in asks[scene]:
            ask()
        return self._written(scene, cluster, of_aws, recording, asking.left_out)

    def without_secrets(self, body: bytes) -> bytes:
        """The last redaction, after that of each answer: addresses and error messages are saved as they came."""
        return self._keep.form(body.decode()).encode()

    def _lists(self, scene: str) -> RawObjects:
        from kubectl_eksdoc.objects.redacted_pages import CleanedLists

        return CleanedLists(self._keeping, partial(self._file.page, scene), partial(self._file.forget, scene))

    def _written(
        self,
        scene: str,
        cluster: Cluster,
        of_aws: _OfAws | Unknown,
        recording: SnapshotRecorder,
        left_out: Mapping[str, str],
    ) -> Scene:
        from kubectl_eksdoc.objects.held_answers import written

        self._file.file(scene, CLUSTER_ANSWERS, self.without_secrets(written(recording.answers())))
        why, calls = (of_aws, 0) if isinstance(of_aws, Unknown) else (None, len(of_aws.recorder))
        lacking = {**left_out, **recording.refused()}
        if not isinstance(of_aws, Unknown):
            lacking |= of_aws.recorder.refused
            self._file.file(scene, AWS_ANSWERS, self.without_secrets(of_aws.written(cluster)))
        return Scene(
            cluster.identity,
            cluster.observed_at,
            cluster.reads,
            cluster.notes,
            why,
            calls,
            dict(sorted(lacking.items())),
        )


@frozen
class _OfAws:
    """The verified AWS side of the cluster, the recorder of its answers, and the credentials in use."""

    believed: VerifiedCluster
    recorder: Recorder
    access: AwsAccess

    def written(self, cluster: Cluster) -> bytes:
        from kubectl_eksdoc.aws.recorded import RecordedOf

        access, believed = self.access, self.believed
        of = RecordedOf(
            access.cluster,
            access.region,
            access.account,
            access.server,
            believed.caller.arn,
            cluster.observed_at,
            access.server_name,
            access.ca,
        )
        return self.recorder.written(of)


def _of_aws(aws: LiveAws | DemoAnswers, keep: KeptAnnotations) -> _OfAws:
    """Raises AwsError: as `aws.asking.verify_cluster`."""
    from kubectl_eksdoc.aws.asking import believed
    from kubectl_eksdoc.aws.recorded import AwsAnswerCleaner, Recorder

    recorder = Recorder(aws, AwsAnswerCleaner(keep))
    return _OfAws(believed(recorder, aws.access), recorder, aws.access)


@dataclass
class _Asking:
    """The requests of each command on one session; if one command fails, the others are still made. `without`: opt-ins
    that are left out."""

    session: Observed
    without: Collection[str] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def _proxied(self) -> bool:
        return permissions.PROXY.name not in self.without

    def check(self) -> None:
        from .recording import ask_check

        with self._noting("check"):
            ask_check(self.session, self.without, self._proxied)

    def addons(self) -> None:
        from .recording import ask_addons

        if not isinstance(self.session.aws, Unknown):
            with self._noting("addon-diff"):
                ask_addons(self.session, lambda addon, why: self.left_out.update({f"addon-diff {addon}": why}))

    def metadata(self) -> None:
        from kubectl_eksdoc.imds_probe.read import plan_imds

        with self._noting("imds-probe"):
            plan_imds(self.session)

    def dns(self) -> None:
        from kubectl_eksdoc.coredns_lameduck.read import notices, whole_facts

        with self._noting("coredns-lameduck"):
            whole_facts(self.session, lambda: notices(self.session, (), self._proxied))

    def interruption(self) -> None:
        from kubectl_eksdoc.interruption.plan import InterruptionOptions
        from kubectl_eksdoc.interruption.read import look_at_interruption

        with self._noting("interruption"):
            look_at_interruption(self.session, InterruptionOptions(), self._proxied)

    @contextmanager
    def _noting(self, command: str) -> Iterator[None]:
        try:
            yield
        except (AwsError, UsageError) as error:
            self.left_out[command] = error.message
        except ClusterError as error:
            if not getattr(error, "missing", ""):  # no request can be made any more
                raise
            self.left_out[command] = error.message
