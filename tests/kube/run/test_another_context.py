"""Who chooses another context of the kubeconfig while a drain goes on changes nothing about where it drains."""

from __future__ import annotations

import json
import time
from pathlib import Path

from kubectl_eksdoc.embedded.serving.handler import Scaled, serving
from kubectl_eksdoc.kubernetes.news import AllNodes
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.wiring.runs import JournalLocation, RunEdges, open_run
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.kube.field.fields import Kept


def listed(world: RunEdges) -> None:
    ends_s = time.monotonic() + 10
    while not any(isinstance(news, AllNodes) for news in world.field.news(0.2)):
        assert time.monotonic() < ends_s, "nobody listed the nodes"


def test_a_field_that_is_begun_anew_is_that_of_the_same_cluster(tmp_path: Path) -> None:
    one, other = (Kept(worlds.api_of("small-traps", Scaled(time.monotonic, 1.0))) for _ in range(2))
    with serving(one) as first, serving(other) as second:
        path = tmp_path / "config"
        clusters = {name: {"server": server.url(worlds.ADMIN_TOKEN)} for name, server in (("a", first), ("b", second))}
        contexts = {"a": ("a", "u"), "b": ("b", "u")}
        kubeconfigs.many(path, clusters, {"u": {}}, contexts, "a")
        keeping = JournalLocation("run-1", "ann", "desk", {"HOME": str(tmp_path)}, str(tmp_path))
        with open_run(Connection(kubeconfig=str(path)), keeping) as world:
            listed(world)
            path.write_text(json.dumps({**json.loads(path.read_text()), "current-context": "b"}))
            world.field.renew()
            listed(world)
    assert one.requests and not other.requests
