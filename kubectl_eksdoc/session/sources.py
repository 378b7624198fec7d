"""Cluster data sources of a reading command: the live cluster, a dump, a snapshot, the demo, a saved plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import ConfigError, SnapshotError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import PODS, Unknown

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.asking import VerifiedCluster
    from kubectl_eksdoc.host.cache import ViewCache
    from kubectl_eksdoc.model.baseline import Baseline, SavedResult
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import ClusterAddress, Connection, OutageLimits
    from kubectl_eksdoc.model.snapshots import LastView, SceneManifest, Snapshot
    from kubectl_eksdoc.objects.single import RawObjects
    from kubectl_eksdoc.objects.snapshot_answers import SnapshotAnswerReader
    from kubectl_eksdoc.ports import ClusterReader, ExtraReader

Progress = Callable[[str, int], None]
"""Called with a resource's plural and the number of its objects read so far."""


@frozen
class SourceChoice:
    """A dump or snapshot at `snapshot`, the built-in cluster if `demo`, the live cluster if neither."""

    snapshot: str = ""
    demo: bool = False

    @property
    def live(self) -> bool:
        return not (self.snapshot or self.demo)


def open_reader(
    source: SourceChoice,
    connection: Connection,
    progress: Progress | None = None,
    outage_limits: OutageLimits | None = None,
    *,
    raw: RawObjects | None = None,
) -> ClusterReader:
    """The reader of the chosen source; `raw` gets the objects that it reads. `outage_limits`: how long to wait for a
    live cluster that does not answer.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        SnapshotError: the dump cannot be opened.
    """
    if source.demo:
        from kubectl_eksdoc.embedded.demo.reader import DemoReader

        return DemoReader(raw)
    if source.snapshot:
        from kubectl_eksdoc.host.dump import DumpReader

        snapshot = snapshot_index(source)
        if snapshot is not None:
            return scene_reader(source.snapshot, "", snapshot.scenes[""], progress, raw)
        return DumpReader(source.snapshot, progress, raw=raw)
    from kubectl_eksdoc.kube.reader import LiveReader

    return LiveReader(connection, progress=progress, raw_objects=raw, outage_limits=outage_limits)


def snapshot_index(source: SourceChoice) -> Snapshot | None:
    """The index of a snapshot that this tool wrote; None where the source is a kubectl dump, the live cluster or the
    demo.

    Raises:
        SnapshotError: it cannot be read.
    """
    if not source.snapshot:
        return None
    from kubectl_eksdoc.host.dump import read_snapshot

    return read_snapshot(source.snapshot)


def scene_reader(
    path: str, scene: str, scene_info: SceneManifest, progress: Progress | None = None, raw: RawObjects | None = None
) -> ClusterReader:
    """The reader of one scene of a snapshot that this tool wrote."""
    from kubectl_eksdoc.host.dump import SnapshotFileReader

    return SnapshotFileReader(path, scene, scene_info, progress, raw)


def read_baseline(path: str) -> Baseline:
    """A plan that was saved at `path` with ``-o json``.

    Raises:
        BaselineError: the file cannot be read, or is not a drain plan of this version.
    """
    from kubectl_eksdoc.host import saved

    return saved.read_baseline(path)


def read_saved_result(path: str, kind: str, command: str) -> SavedResult:
    """The earlier result of `command` from `path`, a document of `kind`.

    Raises:
        BaselineError: it is another kind of file; the error says which. A snapshot is one: it holds no findings.
    """
    from kubectl_eksdoc.host import saved

    return saved.read_saved_result(path, kind, command)


def is_snapshot(path: str) -> bool:
    """Whether the file at `path` is a snapshot, which a result can be computed from; False if it cannot be opened."""
    from kubectl_eksdoc.host import saved

    return saved.is_snapshot(path)


# Data for the screens of a live cluster: its address, the other contexts, and what it was like when last read.


def pin_connection(connection: Connection) -> Connection:
    """The same cluster and user from now on, even when the current context of the kubeconfig changes.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import config
    from kubectl_eksdoc.kube.target import process_credential_context

    return config.pin_context(connection, process_credential_context())


def cluster_address(connection: Connection) -> ClusterAddress:
    """The address of the cluster.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import config as kube_contexts
    from kubectl_eksdoc.kube.target import process_credential_context

    return kube_contexts.cluster_address(connection, process_credential_context())


def default_namespace(source: SourceChoice, connection: Connection) -> str:
    """The namespace of a pod that is named without one.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    if not source.live:
        return "default"
    from kubectl_eksdoc.kube import config as kube_contexts
    from kubectl_eksdoc.kube.target import process_credential_context

    return kube_contexts.default_namespace(connection, process_credential_context())


def context_names(connection: Connection) -> tuple[str, ...]:
    """The names of all contexts in the kubeconfig, sorted."""
    from kubectl_eksdoc.kube import config as kube_contexts
    from kubectl_eksdoc.kube.target import process_credential_context

    return kube_contexts.kube_contexts(connection, process_credential_context())


def last_view(connection: Connection, environ: Mapping[str, str]) -> LastView | None:
    """The cluster as it was when it was last read on this machine; None where no view is saved."""
    views = _last_views(environ)
    try:
        return None if views is None else views.read(cluster_address(connection).key)
    except ConfigError:
        return None


def save_last_view(connection: Connection, environ: Mapping[str, str], cluster: Cluster) -> None:
    """Save the view of `cluster` for the next start."""
    from kubectl_eksdoc.model.snapshots import last_view_of

    views = _last_views(environ)
    try:
        if views is not None:
            views.write(cluster_address(connection).key, last_view_of(cluster))
    except ConfigError:
        return  # the kubeconfig has changed since


def _last_views(environ: Mapping[str, str]) -> ViewCache | None:

    from kubectl_eksdoc.host.cache import ViewCache, cache_folder

    folder = cache_folder(environ, environ.get("HOME") or os.path.expanduser("~"))
    return None if folder is None else ViewCache(folder)


# One scene of a snapshot that this tool wrote, or of the demo: its lists, its other answers, and its AWS answers.


CLUSTER_ANSWERS, AWS_ANSWERS = "cluster-answers", "aws-answers"
"""Files of a scene, without ``.json``."""


@frozen
class SnapshotScene:
    """One scene of the snapshot at `path`. `scene`: its name; `scene_info`: its entry in the index."""

    path: str
    scene: str
    scene_info: SceneManifest

    @property
    def source(self) -> str:
        return f"the snapshot {self.path}"

    def reader(self, progress: Progress | None, raw: RawObjects | None = None) -> ClusterReader:
        return scene_reader(self.path, self.scene, self.scene_info, progress, raw)

    def extra_reader(self) -> SnapshotAnswerReader:
        """The reader of everything besides the lists.

        Raises:
            SnapshotError: it cannot be read.
        """
        from kubectl_eksdoc.host.dump import read_scene_file
        from kubectl_eksdoc.model.cluster import ClusterAnswers
        from kubectl_eksdoc.objects.dump_readers import DumpPodReader
        from kubectl_eksdoc.objects.snapshot_answers import InvalidAnswers, SnapshotAnswerReader, read_answers

        body = read_scene_file(self.path, self.scene, CLUSTER_ANSWERS)
        try:
            answers = ClusterAnswers() if body is None else read_answers(body)
        except InvalidAnswers as error:
            raise SnapshotError(f"cannot read what {self.source} holds of the cluster's answers: {error}") from error
        pods = DumpPodReader(lambda raw: self.reader(None, raw).read([PODS]), self.source)
        return SnapshotAnswerReader(answers, self.source, pods.containers)

    def aws(self) -> VerifiedCluster | Unknown:
        """The cluster as AWS describes it.

        Raises:
            SnapshotError: it cannot be read.
            AwsError: as `aws.asking.verify_cluster`.
        """
        from kubectl_eksdoc.host.dump import read_scene_file

        from .aws import cluster_from_answers

        if self.scene_info.aws is not None:
            return self.scene_info.aws
        return cluster_from_answers(read_scene_file(self.path, self.scene, AWS_ANSWERS), self.source)


@frozen
class DemoSnapshot:
    """One scene of the demo, with the interface of `SnapshotScene`."""

    scene: str

    def reader(self, progress: Progress | None, raw: RawObjects | None = None) -> ClusterReader:
        from kubectl_eksdoc.embedded.demo.reader import DemoReader

        return DemoReader(raw, self.scene)

    def extra_reader(self) -> ExtraReader:
        from kubectl_eksdoc.embedded.demo.reader import DemoExtraReader

        return DemoExtraReader(self.scene)

    def aws(self) -> VerifiedCluster:
        from .aws import demo_cluster

        return demo_cluster(self.scene)


def open_scene(source: SourceChoice, command: str) -> SnapshotScene | DemoSnapshot | None:
    """The scene that `command` reads; None where the source is neither a snapshot of this tool nor the demo.

    Raises:
        SnapshotError: it cannot be read.
    """
    if source.demo:
        from kubectl_eksdoc.embedded.demo.reader import SCENES

        return DemoSnapshot(command if command in SCENES else "")
    snapshot = snapshot_index(source)
    if snapshot is None:
        return None
    scene = snapshot.scene(command)
    return SnapshotScene(source.snapshot, scene, snapshot.scenes[scene])
