"""Whoever writes down what a cluster answers asks it nothing twice, and hands on what was answered as it was."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import LogOf
from kubectl_eksdoc.session.session import Observed
from kubectl_eksdoc.snapshot.recording import SnapshotRecorder
from tests.builders import a_cluster

WEB, API = ObjectName("v1", "ConfigMap", "shop", "web"), ObjectName("v1", "ConfigMap", "shop", "api")
ONE, OTHER = LogOf("shop", "web-0", "web"), LogOf("shop", "web-1", "web")


class Cluster:
    """Answers everything, and counts."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def one(self, of: ObjectName) -> dict[str, Any]:
        self.asked.append(of)
        return {"of": of.name}

    def logs(self, asked: Collection[LogOf]) -> dict[LogOf, str]:
        self.asked += asked
        return {log: f"secret of {log.pod}" for log in asked}

    def metrics(self, pod: str, port: int) -> Unknown:
        self.asked.append((pod, port))
        return Unknown("nobody may", "get pods/proxy")

    def events(self) -> tuple[()]:
        self.asked.append("events")
        return ()


class Keeper:
    """Keeps nothing of a text."""

    def document(self, of: ObjectName, doc: dict[str, Any]) -> dict[str, Any]:
        return {"kept": of.name}

    def text(self, text: str) -> str:
        return ""


def test_nothing_is_asked_twice_and_the_answer_stays_whole() -> None:
    cluster: Any = Cluster()
    keeper: Any = Keeper()
    recording = SnapshotRecorder(Observed(a_cluster(), Unknown("not asked"), cluster), keeper)  # type: ignore[arg-type]
    for _ in range(2):
        assert [recording.one(of) for of in (WEB, API)] == [{"of": "web"}, {"of": "api"}]
        assert recording.logs([ONE]) == {ONE: "secret of web-0"}
        assert recording.logs([OTHER, ONE]) == {OTHER: "secret of web-1", ONE: "secret of web-0"}
        assert recording.metrics("shop/web-0", 80) == Unknown("nobody may", "get pods/proxy")
        assert recording.events() == ()
    assert cluster.asked == [WEB, API, ONE, OTHER, ("shop/web-0", 80), "events"]
    kept = recording.answers()
    assert kept.objects == {WEB: {"kept": "web"}, API: {"kept": "api"}}
    assert "secret" not in "".join(map(str, kept.logs.values()))
