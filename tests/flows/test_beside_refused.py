"""What a snapshot lacks for want of a right is named by the right, whoever was asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.model.api_objects import Doc, HelmRelease, KindUsage, ObjectName
from kubectl_eksdoc.model.interruption import ReportedChanges, SpotEvent
from kubectl_eksdoc.model.kinds import PODS, REPLICA_SETS, Absent, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.session.session import Observed
from kubectl_eksdoc.snapshot.recording import SnapshotRecorder
from tests.builders import a_cluster


def no(right: str) -> Unknown:
    return Unknown("forbidden", right)


@dataclass
class Nobody:
    """Answers nothing, and says which right would."""

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        return no("get configmaps")

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        return no("list replicasets.apps")

    has_logs = False

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        return {}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        return dict.fromkeys(asked, no("get pods/log"))

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        return no("get pods/proxy")

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        return no("list events")

    def requested(self) -> tuple[str, ...] | Unknown:
        return no("get /metrics")

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        return tuple(KindUsage(each, (), no(f"list {each.full_name}")) for each in resources)

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        return (HelmRelease("shop", "web", 1, "deployed", no("get secrets")),)

    def told(self) -> ReportedChanges:
        return ReportedChanges({"Deployment": no("list controllerrevisions.apps")}, no("list events"))


class KeepsAll:
    def document(self, of: ObjectName, doc: Doc) -> Doc | Unknown:
        return doc

    def history(self, resource: Resource, doc: Doc) -> Doc | Unknown:
        return doc

    def text(self, text: str) -> str:
        return text


def test_each_missing_right_is_named_once() -> None:
    nobody = Nobody()
    recording = SnapshotRecorder(Observed(a_cluster(), Unknown("not asked"), nobody), KeepsAll())
    assert recording.refused() == {}
    recording.one(ObjectName("v1", "ConfigMap", "kube-system", "coredns"))
    recording.listed(REPLICA_SETS, "kube-system")
    recording.logs([LogOf("shop", "web", "app")])
    recording.metrics("shop/web", 8080)
    recording.written([PODS])
    for ask in (recording.events, recording.requested, recording.releases, recording.told):
        ask()
    assert recording.refused() == dict.fromkeys(
        (
            "get /metrics",
            "get configmaps",
            "get pods/log",
            "get pods/proxy",
            "get secrets",
            "list controllerrevisions.apps",
            "list events",
            "list pods",
            "list replicasets.apps",
        ),
        "forbidden",
    )
