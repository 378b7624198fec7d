"""A drain of a served cluster by real processes: killed at any moment, stopped longer than their lock lasts, and
resumed by another machine that has only the cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.run.apply import RunEdges, open_run
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Delayed, Fault, FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from kubectl_eksdoc.kubernetes.updates import AllNodes
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.nodes import SCALE_DOWN_PROTECTIONS
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.wiring.runs import JournalLocation
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import at_once
from tests.fakes import kubeconfigs
from tests.kube.live_backend.served_backends import Kept, is_eviction, serving_again
from tests.kube.live_backend.test_complete_drain import Evictions
from tests.kube.run.machine import LOCK_S

ROOT = Path(__file__).parents[3]
RUN = "20261120-193000-aaaa"
LONGEST_S = 60.0


class Machine:
    """A process with its own home."""

    def __init__(self, what: str, server: SimulatedApiServer, home: Path) -> None:
        home.mkdir()
        config = kubeconfigs.one(home / "config", server.url(worlds.ADMIN_TOKEN))
        words = [sys.executable, "-m", "tests.kube.run.machine", what, RUN, config, str(home)]
        self.process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=_environment())
        self.told: list[list[str]] = []

    def lines(self) -> Iterator[list[str]]:
        """Its output, line by line as it comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(line.rstrip("\n").split("\t"))
            yield self.told[-1]

    def until(self, what: str, times: int = 1) -> None:
        for line in self.lines():
            times -= line[0] == what
            if not times:
                return
        raise AssertionError(f"it ended before: {self.told}")

    def until_said(self, what: str, why: str) -> None:
        assert any(line[0] == what and why in line[3] for line in self.lines()), self.told

    def to_the_end(self) -> list[str]:
        """Wait for its end and return its last line."""
        list(self.lines())
        self.process.wait(LONGEST_S)
        return self.told[-1]

    def subjects(self, what: str) -> list[str]:
        return [line[1] for line in self.told if line[0] == what]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/nowhere"}


@pytest.fixture
def api() -> Api:
    return worlds.api_of("small-traps")


@pytest.fixture
def seen(api: Api) -> Evictions:
    return api.run_locked(Evictions)


def check(api: Api, seen: Evictions, machines: Sequence[Machine]) -> None:
    """Check that the result is the same as without a failure: every pod evicted once, every target empty, no other node
    cordoned."""
    assert len(seen.of) == 16 and max(seen.of.values()) == 1 and seen.overdrawn == []
    done = {name for machine in machines for name in machine.subjects("done")}
    cordoned = {item.key[1] for item in api.run_locked(nodes_of) if item.doc["spec"].get("unschedulable")}
    assert cordoned and done <= cordoned
    assert machines[0].subjects("protected")
    for item in api.run_locked(nodes_of):
        assert not set(SCALE_DOWN_PROTECTIONS) & set(item.doc["metadata"].get("annotations") or ()), "it was released"
    lease = api.run_locked(lambda plane: plane.store.get(kinds.LEASES.full_name, ("kube-system", "eksdoc-drain")))
    assert lease is not None and lease.doc["spec"]["holderIdentity"] == "", "it was given back"


@pytest.mark.long
def test_one_is_killed_and_another_goes_on(tmp_path: Path) -> None:
    """Three clusters run at a time: each mostly waits for its lock."""
    points = (("protected", 2), ("evicted", 9), ("unprotected", 1))
    at_once(*(partial(killed_at, tmp_path / what, what, times) for what, times in points))


def killed_at(folder: Path, what: str, times: int) -> None:
    folder.mkdir()
    api = worlds.api_of("small-traps")
    seen = api.run_locked(Evictions)
    with serving(api) as server:
        first = Machine("begin", server, folder / "a")
        first.until(what, times)
        first.process.kill()
        first.process.wait()
        second = Machine("go-on", server, folder / "b")
        assert second.to_the_end() == ["over", "done"], second.told
        check(api, seen, [first, second])


@pytest.mark.long
def test_one_is_stopped_past_its_lock_and_goes_on_where_nobody_took_it(
    api: Api, seen: Evictions, tmp_path: Path
) -> None:
    with serving(api) as server:
        machine = Machine("begin", server, tmp_path / "a")
        machine.until("evicted", 1)
        machine.process.send_signal(signal.SIGSTOP)
        time.sleep(LOCK_S + 1)
        machine.process.send_signal(signal.SIGCONT)
        assert machine.to_the_end() == ["over", "done"], machine.told
        check(api, seen, [machine])


@pytest.mark.long
def test_the_server_is_away_for_longer_than_the_lock_is_held(api: Api, seen: Evictions, tmp_path: Path) -> None:
    with serving_again(api, 0) as server:
        port = server.port
        machine = Machine("begin", server, tmp_path / "a")
        machine.until("evicted", 1)
    machine.until_said("held", "could not be renewed")
    with serving_again(api, port):
        assert machine.to_the_end() == ["over", "done"], machine.told
        check(api, seen, [machine])
    held = [line for line in machine.told if line[0] == "held" and "continues automatically" in line[3]]
    assert len(held) == 1, "it is said once"


@pytest.mark.long
def test_one_that_is_stopped_while_its_acts_wait_sends_none_of_them_when_it_wakes(api: Api, tmp_path: Path) -> None:
    """Evictions are slow, so that more are requested than are in flight when the process is stopped."""
    late = Fault(Delayed(0.8), r"/eviction$")
    arriving = Kept(FaultyHandler(api, [late], time.sleep), is_eviction)
    with serving(arriving) as server:
        first = Machine("begin", server, tmp_path / "a")
        first.until("evicted", 1)
        first.process.send_signal(signal.SIGSTOP)
        second = Machine("roll-back", server, tmp_path / "b")
        assert second.to_the_end()[0] == "over", second.told
        before = len(arriving.requests)
        first.process.send_signal(signal.SIGCONT)
        last = first.to_the_end()
        assert last[:2] == ["error", "LockLost"] and first.process.returncode == 6, first.told
        assert len(arriving.requests) == before, arriving.requests[before:]


@pytest.mark.long
def test_nobody_drains_what_somebody_drains(api: Api, tmp_path: Path) -> None:
    with serving(api) as server:
        first = Machine("begin", server, tmp_path / "a")
        first.until("cordoned", 1)
        second = Machine("go-on", server, tmp_path / "b")
        assert first.to_the_end() == ["over", "done"]
        assert second.to_the_end() == ["over", "done"], "it waited, and found nothing left to do"
        assert not second.subjects("evicted")


@pytest.mark.long
def test_one_is_killed_and_another_rolls_it_back(api: Api, tmp_path: Path) -> None:
    name = next(item.key[1] for item in api.run_locked(nodes_of) if item.key[1].startswith("new-"))
    assert api.run_locked(lambda plane: mishaps.set_cordon(plane, name)), (
        "by somebody else, and so not ours to uncordon"
    )
    before = {item.key[1]: item.doc for item in api.run_locked(nodes_of)}
    with serving(api) as server:
        first = Machine("begin", server, tmp_path / "a")
        first.until("evicted", 1)
        first.process.kill()
        first.process.wait()
        second = Machine("roll-back", server, tmp_path / "b")
        assert second.to_the_end()[0] == "over", second.told
        for item in api.run_locked(nodes_of):
            was, now = before[item.key[1]], item.doc
            assert now["spec"].get("unschedulable") == was["spec"].get("unschedulable"), item.key
            assert now["metadata"].get("annotations") == was["metadata"].get("annotations")
            assert now["metadata"].get("labels") == was["metadata"].get("labels")
        third = Machine("roll-back", server, tmp_path / "c")
        assert third.to_the_end() == ["over", "RollbackResult(restored=(), released=(), not_restored={})"], (
            "there is nothing left to give back"
        )


def nodes_of(plane: ControlPlane) -> list[StoredItem]:
    return list(plane.store.list(kinds.NODES.full_name))


@pytest.mark.long
def test_one_is_stopped_past_its_lock_and_does_nothing_when_it_wakes(api: Api, seen: Evictions, tmp_path: Path) -> None:
    with serving(api) as server:
        first = Machine("begin", server, tmp_path / "a")
        first.until("evicted", 1)
        first.process.send_signal(signal.SIGSTOP)
        second = Machine("go-on", server, tmp_path / "b")
        assert second.to_the_end() == ["over", "done"], second.told
        before = dict(seen.of)
        first.process.send_signal(signal.SIGCONT)
        last = first.to_the_end()
        assert last[:2] == ["error", "LockLost"] and first.process.returncode == 6, first.told
        assert dict(seen.of) == before
        check(api, seen, [first, second])


# A user selects another context of the kubeconfig during a drain: the drain stays on its cluster.


def listed(world: RunEdges) -> None:
    ends_s = time.monotonic() + 10
    while not any(isinstance(news, AllNodes) for news in world.backend.updates(0.2)):
        assert time.monotonic() < ends_s, "nobody listed the nodes"


def test_a_field_that_is_begun_anew_is_that_of_the_same_cluster(tmp_path: Path) -> None:
    one, other = (Kept(worlds.api_of("small-traps", ScaledTime(time.monotonic, 1.0))) for _ in range(2))
    with serving(one) as first, serving(other) as second:
        path = tmp_path / "config"
        clusters = {name: {"server": server.url(worlds.ADMIN_TOKEN)} for name, server in (("a", first), ("b", second))}
        contexts = {"a": ("a", "u"), "b": ("b", "u")}
        kubeconfigs.many(path, clusters, {"u": {}}, contexts, "a")
        keeping = JournalLocation("run-1", "ann", "desk", {"HOME": str(tmp_path)}, str(tmp_path))
        with open_run(Connection(kubeconfig=str(path)), keeping) as world:
            listed(world)
            path.write_text(json.dumps({**json.loads(path.read_text()), "current-context": "b"}))
            world.backend.restart_watches()
            listed(world)
    assert one.requests and not other.requests
