"""CoreDNS pods of a simulated cluster: when they reload a Corefile, and what they report of it over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kubectl_eksdoc.coredns_lameduck.apply import config_map_manifest
from kubectl_eksdoc.coredns_lameduck.run import ReloadLog, ReloadMetrics, parse_log, parse_metrics
from kubectl_eksdoc.embedded.probed import CoreDnsPods
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs
from kubectl_eksdoc.embedded.serving.requests import (
    ADMIN,
    VIEWER,
    RbacRule,
    TokenUsers,
    restricted,
)
from kubectl_eksdoc.errors import Drifted, Forbidden
from kubectl_eksdoc.kube.single_objects import ResolverPods
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_edits import corefile_hashes
from kubectl_eksdoc.model.api_objects import ApplyConflict, ApplyConflicts, ApplyResult, Doc
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.wiring.runs import applied_maps
from tests.addon.stand_in.coredns import COREFILE
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

NEW = COREFILE.replace("5s", "20s")
USERS = {
    "admin": ADMIN,
    "viewer": VIEWER,
    "blind": restricted("blind", (RbacRule(("get", "list"), ("pods",), ("",)),)),
}


class World:
    """A server whose time passes only when a test moves it."""

    def __init__(self, server: SimulatedApiServer, api: Api, resolvers: CoreDnsPods, home: Path) -> None:
        self.api, self.resolvers, self._server, self._home = api, resolvers, server, home
        self.pods = api.run_locked(
            lambda plane: sorted(
                "/".join(item.key)
                for item in plane.store.list("pods")
                if (item.doc["metadata"].get("labels") or {}).get("k8s-app") == "kube-dns"
            )
        )

    def connection(self, user: str = "admin") -> Connection:
        return Connection(kubeconfig=kubeconfigs.one(self._home / user, self._server.url(user), name="lab"))

    def asked(self, user: str = "admin") -> ResolverPods:
        return ResolverPods(self.connection(user), lambda: ())

    def passes(self, seconds: float) -> None:
        self.api.run_locked(lambda plane: plane.virtual_time.run_until(plane.virtual_time.seconds + seconds))

    def sets(self, text: str, force: bool = True) -> ApplyResult | ApplyConflicts:
        return applied_maps(self.connection()).apply(config_map_manifest(text), force)

    def metrics(self, pod: str) -> ReloadMetrics | None:
        with closing(self.asked()) as asked:
            found = asked.metrics([pod], 9153)[pod]
        assert isinstance(found, str), found
        return parse_metrics(found)

    def log(self, pod: str, since_s: int) -> ReloadLog:
        with closing(self.asked()) as asked:
            found = asked.logs([pod], since_s)[pod]
        assert isinstance(found, str), found
        return parse_log(found)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    plane = worlds.plane_of("rich", None)
    first = Api(plane, ApiSetup(TokenUsers(USERS)), ManualTime())
    with serving(first) as server:
        connection = Connection(kubeconfig=kubeconfigs.one(tmp_path / "first", server.url("admin"), name="lab"))
        assert isinstance(applied_maps(connection).apply(config_map_manifest(COREFILE), True), ApplyResult)
    resolvers = CoreDnsPods(plane)
    setup = ApiSetup(TokenUsers(USERS), logs=PodLogs(aged=resolvers.lines), ports=resolvers.answer)
    with serving(Api(plane, setup, ManualTime())) as server:
        yield World(server, first, resolvers, tmp_path)


def sum_of(text: str) -> str:
    corefile = parse_corefile(text)
    assert isinstance(corefile, Corefile)
    return corefile_hashes(corefile)[0]


def test_a_new_corefile_is_taken_up_within_minutes_and_not_at_once(world: World) -> None:
    pod = world.pods[0]
    assert world.log(pod, 10**9) == ReloadLog(sum_of(COREFILE)) and world.metrics(pod) == ReloadMetrics("", 0.0)
    world.sets(NEW)
    assert world.log(pod, 5) == ReloadLog() and world.metrics(pod) == ReloadMetrics("", 0.0)
    world.passes(120)
    assert world.log(pod, 121) == ReloadLog(sum_of(NEW)) and world.metrics(pod) == ReloadMetrics(sum_of(NEW), 0.0)
    world.passes(100)
    assert world.log(pod, 10) == ReloadLog(), "only what it printed since then"


def test_one_that_refuses_counts_it_and_names_the_new_one_all_the_same(world: World) -> None:
    pod, other = world.pods[:2]
    world.resolvers.refusing_pods[pod.partition("/")[2]] = "address in use"
    world.sets(NEW)
    world.passes(120)
    assert world.metrics(pod) == ReloadMetrics(sum_of(NEW), 1.0) and "address in use" in world.log(pod, 121).refused
    assert world.metrics(other) == ReloadMetrics(sum_of(NEW), 0.0)


def test_what_coredns_would_not_take_is_refused_by_each(world: World) -> None:
    world.sets(COREFILE.replace("reload", "reload 1s"))
    world.passes(120)
    assert "interval value must be greater" in world.log(world.pods[0], 121).refused
    world.sets(COREFILE.rstrip().removesuffix("}"))
    world.passes(120)
    assert "Syntax error" in world.log(world.pods[0], 121).refused


def test_without_reload_nobody_looks(world: World) -> None:
    for text in (COREFILE.replace("    reload\n", ""), NEW):
        world.sets(text)
        world.passes(120)
    assert world.log(world.pods[0], 121) == ReloadLog()


def test_who_may_not_and_who_is_not_there_is_told(world: World) -> None:
    with closing(world.asked("blind")) as asked:
        (metrics,) = asked.metrics(world.pods[:1], 9153).values()
        (log,) = asked.logs(world.pods[:1], 5).values()
    assert isinstance(metrics, Unknown) and metrics.missing == "get pods/proxy"
    assert isinstance(log, Unknown) and log.missing == "get pods/log"
    with closing(world.asked()) as asked:
        (nobody,) = asked.metrics(world.pods[:1], 9999).values()
        (gone,) = asked.logs(["kube-system/coredns-0"], 5).values()
    assert isinstance(nobody, Unknown) and "connection refused" in nobody.why
    assert isinstance(gone, Absent)
    world.sets(NEW)
    world.passes(120)
    with closing(ResolverPods(world.connection(), lambda: (), max_log_bytes=64)) as asked:
        (log,) = asked.logs(world.pods[:1], 121).values()
    assert isinstance(log, Unknown) and "more than 64 bytes" in log.why and not log.missing


def test_a_map_is_applied_or_it_is_said_who_has_it(world: World) -> None:
    theirs = world.connection("viewer")
    with pytest.raises(Forbidden) as raised:
        applied_maps(theirs).apply(config_map_manifest(NEW))
    assert raised.value.missing == "patch configmaps"

    def stolen(plane: object) -> Doc:
        item = plane.store.get("configmaps", ("kube-system", "coredns"))  # type: ignore[attr-defined]
        entries = [each | {"manager": "helm"} for each in item.doc["metadata"]["managedFields"]]
        doc: Doc = {**item.doc, "metadata": {**item.doc["metadata"], "managedFields": entries}}
        plane.store.replace(item, doc)  # type: ignore[attr-defined]
        return doc

    before = world.api.run_locked(stolen)
    assert world.sets(NEW, False) == ApplyConflicts((ApplyConflict(".data.Corefile", "helm"),))
    old = config_map_manifest(NEW)
    old["metadata"]["resourceVersion"] = "1"
    with pytest.raises(Drifted):
        applied_maps(world.connection()).apply(old, True)
    dry = applied_maps(world.connection()).apply(config_map_manifest(NEW), True, dry=True)
    assert isinstance(dry, ApplyResult) and dry.doc["data"]["Corefile"] == NEW
    now = world.api.run_locked(lambda plane: plane.store.get("configmaps", ("kube-system", "coredns")))
    assert now is not None and now.doc["data"] == before["data"]
