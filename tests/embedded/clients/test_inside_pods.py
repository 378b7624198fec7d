"""Containers and logs of single pods of the served cluster: had, not there, or not to be seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.embedded.serving.targets import ServedRequest
from kubectl_eksdoc.kube.inside_pods import LINES, MOST_BYTES, LivePodReader
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

PODS = "/api/v1/namespaces/default/pods"
LOG = LogOf("default", "asks", "app")
SIDECAR = {"name": "mesh", "image": "mesh:1"}


def a_container() -> dict[str, Any]:
    env = [{"name": "AWS_REGION", "value": "x"}, {"name": "HIDDEN", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]
    given: dict[str, Any] = {"name": "app", "image": "app:1", "command": ["/app"], "args": ["--aws-region=x"]}
    return {**given, "env": env, "envFrom": [{"configMapRef": {"name": "more"}}]}


@contextmanager
def inside(tmp_path: Path, token: str = worlds.ADMIN_TOKEN) -> Iterator[tuple[LivePodReader, Api]]:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, api):
        spec = {"containers": [a_container(), SIDECAR], "nodeName": "old-0"}
        pod = json.dumps({"metadata": {"name": "asks"}, "spec": spec}).encode()
        admin = {"authorization": f"Bearer {worlds.ADMIN_TOKEN}"}
        assert api.handle(ServedRequest("POST", PODS, {}, admin, pod)).status == 201
        pods = LivePodReader(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url(token))))
        yield pods, api
        pods.close()


def test_containers_and_with_what_they_were_started(tmp_path: Path) -> None:
    with inside(tmp_path) as (pods, _):
        found = pods.containers(["default/asks", "default/nobody"])
    app = Container(
        "app", "app:1", ("/app", "--aws-region=x"), ("AWS_REGION", "HIDDEN"), True, values=(("AWS_REGION", "x"),)
    )
    assert found["default/asks"] == (app, Container("mesh", "mesh:1"))
    assert isinstance(found["default/nobody"], Absent) and list(found) == ["default/asks", "default/nobody"]


def test_the_last_lines_of_each(tmp_path: Path) -> None:
    others = [LogOf("default", "asks", "mesh"), LogOf("default", "nobody", "app"), LogOf("default", "asks", "none")]
    before = LogOf("default", "asks", "app", previous=True)
    with inside(tmp_path) as (pods, api):
        api.logs.put("default", "asks", "app", "".join(f"line {n}\n" for n in range(LINES + 5)))
        found = pods.logs([LOG, before, *others])
    text = found[LOG]
    assert isinstance(text, str) and text.splitlines()[0] == "line 5" and len(text.splitlines()) == LINES
    told = found[before]
    assert isinstance(told, Unknown) and "previous terminated container" in told.why and not told.missing
    assert isinstance(found[others[0]], str) and isinstance(found[others[1]], Absent)
    assert isinstance(found[others[2]], Unknown)


def test_of_a_log_that_is_too_long_the_last_lines_are_not_lost(tmp_path: Path) -> None:
    with inside(tmp_path) as (pods, api):
        api.logs.put("default", "asks", "app", f"{'x' * 2000}\n" * 99 + "the last\n")
        found = pods.logs([LOG])[LOG]
    assert isinstance(found, str) and found.endswith("the last\n") and len(found) < MOST_BYTES
