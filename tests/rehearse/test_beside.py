"""A recorder of a cluster's answers requests nothing twice, and names the missing rights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, HelmRelease, KindUsage, ObjectName
from kubectl_eksdoc.model.interruption import InterruptionEvent, ReportedChanges
from kubectl_eksdoc.model.kinds import PODS, REPLICA_SETS, Absent, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey
from kubectl_eksdoc.session.session import ObservedSession
from kubectl_eksdoc.snapshot.recording import SnapshotRecorder
from tests.builders import a_cluster

WEB, API = ObjectName("v1", "ConfigMap", "shop", "web"), ObjectName("v1", "ConfigMap", "shop", "api")
ONE, OTHER = LogKey("shop", "web-0", "web"), LogKey("shop", "web-1", "web")


class Cluster:
    """Answers every request and counts the requests."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def read_object(self, of: ObjectName) -> dict[str, Any]:
        self.asked.append(of)
        return {"of": of.name}

    def logs(self, asked: Collection[LogKey]) -> dict[LogKey, str]:
        self.asked += asked
        return {log: f"secret of {log.pod}" for log in asked}

    def metrics(self, pod: str, port: int) -> Unknown:
        self.asked.append((pod, port))
        return Unknown("nobody may", "get pods/proxy")

    def events(self) -> tuple[()]:
        self.asked.append("events")
        return ()


class Keeper:
    """A redactor that removes all text."""

    def document(self, of: ObjectName, doc: dict[str, Any]) -> dict[str, Any]:
        return {"kept": of.name}

    def text(self, text: str) -> str:
        return ""


def test_nothing_is_asked_twice_and_the_answer_stays_whole() -> None:
    cluster: Any = Cluster()
    keeper: Any = Keeper()
    recording = SnapshotRecorder(ObservedSession(a_cluster(), Unknown("not asked"), cluster), keeper)  # type: ignore[arg-type]
    for _ in range(2):
        assert [recording.read_object(of) for of in (WEB, API)] == [{"of": "web"}, {"of": "api"}]
        assert recording.logs([ONE]) == {ONE: "secret of web-0"}
        assert recording.logs([OTHER, ONE]) == {OTHER: "secret of web-1", ONE: "secret of web-0"}
        assert recording.metrics("shop/web-0", 80) == Unknown("nobody may", "get pods/proxy")
        assert recording.events() == ()
    assert cluster.asked == [WEB, API, ONE, OTHER, ("shop/web-0", 80), "events"]
    kept = recording.answers()
    assert kept.objects == {WEB: {"kept": "web"}, API: {"kept": "api"}}
    assert "secret" not in "".join(map(str, kept.logs.values()))


def no(right: str) -> Unknown:
    return Unknown("forbidden", right)


@dataclass
class Nobody:
    """Answers no request, and names the right that is needed."""

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        return no("get configmaps")

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        return no("list replicasets.apps")

    has_logs = False

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        return {}

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        return dict.fromkeys(asked, no("get pods/log"))

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        return no("get pods/proxy")

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        return no("list events")

    def requested(self) -> tuple[str, ...] | Unknown:
        return no("get /metrics")

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        return tuple(KindUsage(each, (), no(f"list {each.full_name}")) for each in resources)

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        return (HelmRelease("shop", "web", 1, "deployed", no("get secrets")),)

    def reported_changes(self) -> ReportedChanges:
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
    recording = SnapshotRecorder(ObservedSession(a_cluster(), Unknown("not asked"), nobody), KeepsAll())
    assert recording.refused() == {}
    recording.read_object(ObjectName("v1", "ConfigMap", "kube-system", "coredns"))
    recording.list_history(REPLICA_SETS, "kube-system")
    recording.logs([LogKey("shop", "web", "app")])
    recording.metrics("shop/web", 8080)
    recording.written([PODS])
    for ask in (recording.events, recording.requested, recording.releases, recording.reported_changes):
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
