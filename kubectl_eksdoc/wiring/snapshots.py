"""Takes a snapshot: whatever commands read and ask, of a cluster that lives or of the demo, written to a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import AwsError, ClusterError, UsageError
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.snapshots import Scene, Snapshot
from kubectl_eksdoc.wiring.addons import AddonWorld
from kubectl_eksdoc.wiring.aws import DemoAnswers, open_live, or_unknown
from kubectl_eksdoc.wiring.checks import CheckWorld
from kubectl_eksdoc.wiring.dns import DnsWorld
from kubectl_eksdoc.wiring.interruption import InterruptionWorld
from kubectl_eksdoc.wiring.kept import AWS_ANSWERS, CLUSTER_ANSWERS, KeptDemo
from kubectl_eksdoc.wiring.metadata import MetadataWorld
from kubectl_eksdoc.wiring.sources import Progress, SourceChoice, named

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import Aws
    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.aws.live import LiveAws
    from kubectl_eksdoc.aws.recorded import Recorder
    from kubectl_eksdoc.flows.beside import Recording
    from kubectl_eksdoc.host.archives.snapshot_file import SnapshotFile
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.kubernetes.keeping import Keep
    from kubectl_eksdoc.model.aws.access import AwsAccess
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.objects.raw_objects import RawObjects


@dataclass(frozen=True, slots=True)
class Taken:
    """What a snapshot holds, and its size in bytes."""

    snapshot: Snapshot
    size: int


OpenAws = Callable[["Connection", "AwsWanted"], "LiveAws"]


def take(
    path: str,
    source: SourceChoice,
    connection: Connection,
    wanted: AwsWanted,
    progress: Progress | None,
    tool: str,
    open_aws: OpenAws = open_live,
    without: Collection[str] = (),
) -> Taken:
    """Of the live cluster or the demo, to a new file at `path`. `tool`: its version; `open_aws`: of whom AWS is asked;
    `without`: opt-ins that are left out.

    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the file cannot be written; nothing of it is left then.
        AwsError: AWS describes another cluster.
    """
    from kubectl_eksdoc.host.archives.snapshot_file import SnapshotFile
    from kubectl_eksdoc.objects.journal_lines import written

    file = SnapshotFile(path)
    try:
        taking = _Taking(file, progress, open_aws, without)
        scenes = taking.demo() if source.demo else {"": taking.live(connection, wanted)}
        snapshot = Snapshot(tool, Source.DEMO if source.demo else Source.LIVE, scenes)
        return Taken(snapshot, file.finish(taking.without_secrets(written(snapshot))))
    except BaseException:
        file.drop()
        raise


class _Taking:
    """One snapshot that is being taken. Mutable, and private to one call of `take`."""

    def __init__(
        self, file: SnapshotFile, progress: Progress | None, open_aws: OpenAws, without: Collection[str]
    ) -> None:
        from kubectl_eksdoc.objects.keeping.pages import Keeping

        self._file = file
        self._progress = progress
        self._open_aws = open_aws
        self._without = without
        self._keep = _keep()
        self._keeping = Keeping(self._keep)

    def live(self, connection: Connection, wanted: AwsWanted) -> Scene:
        """The cluster is read once, and asked all that the commands ask."""
        from kubectl_eksdoc.flows.beside import Ports, Recording
        from kubectl_eksdoc.flows.snapshot import every_kind
        from kubectl_eksdoc.kube.api_signs import ApiSigns, KarpenterSigns, Past
        from kubectl_eksdoc.kube.inside_pods import InsidePods
        from kubectl_eksdoc.kube.reader import LiveReader
        from kubectl_eksdoc.kube.single_objects import NamespaceLists, SingleObjects

        of_aws = self._of_aws(connection, wanted)
        lists = self._lists("")
        aws = of_aws if isinstance(of_aws, Unknown) else of_aws.believed
        cluster = named(LiveReader(connection, self._progress, raw=lists).read(every_kind()), aws, wanted)
        ports = Ports(
            SingleObjects(connection),
            NamespaceLists(connection),
            InsidePods(connection),
            KarpenterSigns(connection),
            ApiSigns(connection),
            Past(connection),
        )
        recording = Recording(ports, self._keeping)
        asking = _Asking(cluster, aws, recording, self._without)
        for ask in (asking.check, asking.addons, asking.metadata, asking.dns, asking.interruption):
            ask()
        return self._written("", cluster, of_aws, recording, asking.left_out)

    def _of_aws(self, connection: Connection, wanted: AwsWanted) -> _OfAws | Unknown:
        def opened() -> _OfAws:
            aws = self._open_aws(connection, wanted)
            return _of_aws(aws, aws.access, self._keep)

        return or_unknown(opened)

    def demo(self) -> dict[str, Scene]:
        """Its incidents, each as the commands see it that show it."""
        from kubectl_eksdoc.embedded.demo.reader import SCENES

        return {scene: self._incident(scene) for scene in SCENES}

    def _incident(self, scene: str) -> Scene:
        from kubectl_eksdoc.flows import interruption, metadata
        from kubectl_eksdoc.flows.beside import Ports, Recording
        from kubectl_eksdoc.flows.snapshot import every_kind

        opened, aws = KeptDemo(scene), DemoAnswers(scene)
        of_aws = _of_aws(aws, aws.access, self._keep)
        kinds = {"imds-probe": metadata.KINDS, "interruption": interruption.KINDS}.get(scene) or every_kind()
        cluster = opened.reader(None, self._lists(scene)).read(kinds)
        recording = Recording(Ports(*[opened.beside()] * 6), self._keeping)
        asking = _Asking(cluster, of_aws.believed, recording, self._without)
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
        """The last net, under what is kept of each answer: addresses and refusals stand in it as they came."""
        return self._keep.form(body.decode()).encode()

    def _lists(self, scene: str) -> RawObjects:
        from kubectl_eksdoc.objects.keeping.pages import KeptLists

        return KeptLists(self._keeping, partial(self._file.page, scene), partial(self._file.forget, scene))

    def _written(
        self, scene: str, cluster: Cluster, of_aws: _OfAws | Unknown, recording: Recording, left_out: Mapping[str, str]
    ) -> Scene:
        from kubectl_eksdoc.objects.answers import written

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


@dataclass(frozen=True, slots=True)
class _OfAws:
    """What is believed of AWS, who writes down what it answers, and as whom it is asked."""

    believed: Believed
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


def _of_aws(aws: Aws, access: AwsAccess, keep: Keep) -> _OfAws:
    """Raises AwsError: as `aws.believing.believed`."""
    from kubectl_eksdoc.aws.believing import believed
    from kubectl_eksdoc.aws.recorded import Kept, Recorder

    recorder = Recorder(aws, Kept(keep))
    return _OfAws(believed(recorder, access), recorder, access)


@dataclass
class _Asking:
    """What each command asks, of one reading; what cannot be asked for one of them takes nothing from the others.
    `without`: opt-ins that are left out."""

    cluster: Cluster
    aws: Believed | Unknown
    beside: Recording
    without: Collection[str] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    def check(self) -> None:
        from kubectl_eksdoc.flows.snapshot import ask_check

        world = CheckWorld(self.cluster, self.aws, self._karpenter, self.beside, live=True, past=self.beside)
        with self._noting("check"):
            ask_check(self.cluster, world.around, self.without)

    def addons(self) -> None:
        from kubectl_eksdoc.flows.snapshot import ask_addons

        if isinstance(self.aws, Unknown):
            return
        world = AddonWorld(self.cluster, self.beside, self.aws, self.beside)
        with self._noting("addon-diff"):
            ask_addons(self.cluster, world, self._leave_out)

    def _leave_out(self, addon: str, why: str) -> None:
        self.left_out[f"addon-diff {addon}"] = why

    def metadata(self) -> None:
        from kubectl_eksdoc.flows.snapshot import ask_metadata

        world = MetadataWorld(self.cluster, self.aws, self.beside, True)
        with self._noting("imds-probe"):
            ask_metadata(self.cluster, world.machines, self.beside)

    def dns(self) -> None:
        from kubectl_eksdoc.flows.snapshot import ask_dns, ask_interruption

        world = DnsWorld(self.cluster, self.aws, self.beside, self.beside, lambda: self._karpenter)
        with self._noting("coredns-lameduck"):
            notices = partial(ask_interruption, self.cluster, self._karpenter.around)
            ask_dns(self.cluster, self.beside, world.addon, self.beside, notices)

    def interruption(self) -> None:
        from kubectl_eksdoc.flows.snapshot import ask_interruption

        with self._noting("interruption"):
            ask_interruption(self.cluster, self._karpenter.around)

    @property
    def _karpenter(self) -> InterruptionWorld:
        proxied = permissions.PROXY.name not in self.without
        return InterruptionWorld(self.cluster, self.aws, self.beside, self.beside, self.beside, proxied)

    @contextmanager
    def _noting(self, command: str) -> Iterator[None]:
        try:
            yield
        except (AwsError, UsageError) as error:
            self.left_out[command] = error.message
        except ClusterError as error:
            if not getattr(error, "missing", ""):  # nothing can be asked any more
                raise
            self.left_out[command] = error.message


def _keep() -> Keep:
    from secrets import token_bytes

    from kubectl_eksdoc.aws.charts import variables
    from kubectl_eksdoc.kubernetes.keeping import VARIABLES, Digests, Keep

    return Keep(Digests(token_bytes(32)), variables=VARIABLES | variables())
