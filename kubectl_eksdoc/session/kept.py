"""A snapshot of this tool's, or the demo, as a command sees it: its lists, its other answers, and its AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.session.aws import demo, of_answers
from kubectl_eksdoc.session.sources import Progress, SourceChoice, kept_reader, snapshot_of

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.believing import VerifiedCluster
    from kubectl_eksdoc.model.snapshots import Scene
    from kubectl_eksdoc.objects.held_answers import HeldAnswers
    from kubectl_eksdoc.objects.raw_objects import RawObjects
    from kubectl_eksdoc.session.ports import ClusterReader, ExtraReader

CLUSTER_ANSWERS, AWS_ANSWERS = "cluster-answers", "aws-answers"
"""Files of a scene, without ``.json``."""


@frozen
class SnapshotScene:
    """One scene of the snapshot at `path`."""

    path: str
    scene: str
    told: Scene

    @property
    def where(self) -> str:
        return f"the snapshot {self.path}"

    def reader(self, progress: Progress | None, raw: RawObjects | None = None) -> ClusterReader:
        return kept_reader(self.path, self.scene, self.told, progress, raw)

    def beside(self) -> HeldAnswers:
        """
        Raises:
            SnapshotError: it cannot be read.
        """
        from kubectl_eksdoc.errors import SnapshotError
        from kubectl_eksdoc.host.archives.snapshot import file_in
        from kubectl_eksdoc.model.cluster import ClusterAnswers
        from kubectl_eksdoc.model.kinds import PODS
        from kubectl_eksdoc.objects.held import HeldPods
        from kubectl_eksdoc.objects.held_answers import BadAnswers, HeldAnswers, read

        body = file_in(self.path, self.scene, CLUSTER_ANSWERS)
        try:
            answers = ClusterAnswers() if body is None else read(body)
        except BadAnswers as error:
            raise SnapshotError(f"cannot read what {self.where} holds of the cluster's answers: {error}") from error
        pods = HeldPods(lambda raw: self.reader(None, raw).read([PODS]), self.where)
        return HeldAnswers(answers, self.where, pods.containers)

    def aws(self) -> VerifiedCluster | Unknown:
        """
        Raises:
            SnapshotError: it cannot be read.
            AwsError: as `aws.believing.believed`.
        """
        from kubectl_eksdoc.host.archives.snapshot import file_in

        if self.told.aws is not None:
            return self.told.aws
        return of_answers(file_in(self.path, self.scene, AWS_ANSWERS), self.where)


@frozen
class DemoSnapshot:
    """The same of one scene of the demo."""

    scene: str

    def reader(self, progress: Progress | None, raw: RawObjects | None = None) -> ClusterReader:
        from kubectl_eksdoc.embedded.demo.reader import DemoReader

        return DemoReader(raw, self.scene)

    def beside(self) -> ExtraReader:
        from kubectl_eksdoc.embedded.demo.reader import DemoBeside

        return DemoBeside(self.scene)

    def aws(self) -> VerifiedCluster:
        return demo(self.scene)


def kept(source: SourceChoice, command: str) -> SnapshotScene | DemoSnapshot | None:
    """As `command` sees it; None where it is neither a snapshot of this tool's nor the demo.

    Raises:
        SnapshotError: it cannot be read.
    """
    if source.demo:
        from kubectl_eksdoc.embedded.demo.reader import SCENES

        return DemoSnapshot(command if command in SCENES else "")
    snapshot = snapshot_of(source)
    if snapshot is None:
        return None
    scene = snapshot.scene(command)
    return SnapshotScene(source.snapshot, scene, snapshot.scenes[scene])
