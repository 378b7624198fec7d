"""The observed state finally equals the cluster's, whatever happens to the watches."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Fault, WatchExpired
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from kubectl_eksdoc.kube.watches import WatchHealth
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    NodeChanged,
    PodChanged,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tests.examples import one_in
from tests.kube.live_backend.served_backends import (
    all_seen,
    among,
    change,
    connection,
    field_among,
    field_on,
    heard,
    nothing_seen,
    read,
    same,
    serving_again,
    wait_until,
)

STEPS = 7


def busy(plane: ControlPlane, step: int) -> None:
    """Change the cluster step by step: pods are deleted and replaced, budgets follow, nodes are cordoned and join."""
    pods = [item for item in plane.store.list("pods") if not item.deleting]
    for item in pods[step * 2 : step * 2 + 2]:
        plane.registry.delete(item)
    nodes = list(plane.store.list("nodes"))
    mishaps.set_cordon(plane, nodes[step % len(nodes)].key[1], unschedulable=step % 3 != 0)
    mishaps.join_node(plane, nodes[0].doc, f"joined-{step}")
    if step > 2:
        mishaps.delete_node(plane, f"joined-{step - 2}")
    budgets = list(plane.store.list("poddisruptionbudgets.policy"))
    budget = budgets[step % len(budgets)]
    if step == 5:
        plane.registry.delete(budget)
    else:
        plane.registry.update(budget, with_value(budget.doc, ("metadata", "labels", "step"), str(step)))
    plane.virtual_time.run_until(plane.virtual_time.seconds + 1.0)


def watched_to_the_end(api: Api, folder: Path, field: LiveRunBackend) -> list[RunUpdate]:
    """The updates during all of that, until the observed state equals the cluster's."""
    seen = nothing_seen()
    told = heard(field, seen, lambda: bool(seen.nodes and seen.budgets and list(seen.pods())))
    for step in range(STEPS):
        api.run_locked(lambda plane, step=step: busy(plane, step))  # type: ignore[misc]
        for each in field.updates(0.01):
            seen.handle(each)
            told.append(each)
    now = _read_without_faults(api, folder)
    told += heard(field, seen, lambda: same(seen, now))
    return told


def _read_without_faults(api: Api, folder: Path) -> Any:
    with among(api) as server:
        return read(server, folder)


def lists(told: list[RunUpdate]) -> int:
    return sum(isinstance(each, (AllPods, AllBudgets, AllNodes)) for each in told)


def test_each_is_listed_once_and_then_followed(api: Api, tmp_path: Path) -> None:
    with field_among(tmp_path, api) as field:
        told = watched_to_the_end(api, tmp_path, field)
    assert lists(told) == 3
    versions = [each.version for each in told if isinstance(each, PodChanged)]
    assert versions == sorted(versions) and len(versions) > STEPS
    assert all(isinstance(version, int) for version in versions)


@pytest.mark.parametrize(
    "fault",
    one_in(
        3, ["watch-cut=0", "watch-cut=3@30%", "watch-expired", "watch-expired=2", "watch-late=0.05", "watch-doubled"]
    ),
)
def test_watches_that_go_wrong(api: Api, tmp_path: Path, fault: str) -> None:
    with field_among(tmp_path, api, fault) as field:
        watched_to_the_end(api, tmp_path, field)


def test_a_silent_watch_is_found_out_by_its_own_time(api: Api, tmp_path: Path) -> None:
    """No event and no bookmark arrive, and the connection stays open: when the watch ends, a list brings the missed
    changes."""
    with field_among(tmp_path, api, "watch-silent") as field:
        told = watched_to_the_end(api, tmp_path, field)
    assert lists(told) > 3
    assert not any(isinstance(each, (PodChanged, NodeChanged)) for each in told)


class Hanging:
    """The first watches get no answer, and end with the test."""

    def __init__(self, api: Api, count: int) -> None:
        self._api = api
        self.left = count
        self.over = threading.Event()

    def handle(self, request: ServedRequest) -> Reply:
        reply = self._api.handle(request)
        if request.flag("watch") and self.left:
            self.left -= 1
            return replace(reply, stream=self._nothing())
        return reply

    def _nothing(self) -> Any:
        while not self.over.wait(0.02):
            yield b""


def test_a_connection_that_leads_nowhere_is_dropped(api: Api, tmp_path: Path) -> None:
    """It stays open beyond its requested time, which no server does."""
    handler = Hanging(api, 3)
    with field_among(tmp_path, handler) as field:
        try:
            watched_to_the_end(api, tmp_path, field)
        finally:
            handler.over.set()
    assert not handler.left


def test_a_server_that_is_away_for_some_time(api: Api, tmp_path: Path) -> None:
    """The outage is reported once; the watch continues at the same address."""
    with among(api) as server:
        to, port = connection(server, tmp_path), server.port
    with field_on(to) as live:
        with serving_again(api, port):
            seen = all_seen(live)
        api.run_locked(lambda plane: busy(plane, 0))
        told = heard_until(live, seen, WatchInterrupted)
        (away,) = [each for each in told if isinstance(each, WatchInterrupted)]
        assert "refused" in away.message or "broke off" in away.message
        with serving_again(api, port):
            told = heard_until(live, seen, WatchRestored)
            now = _read_without_faults(api, tmp_path)
            told += heard(live, seen, lambda: same(seen, now))
        assert sum(isinstance(each, WatchRestored) for each in told) == 1
        assert lists(told) == 0, "what happened meanwhile is still known to the server"


class Spoiling:
    """While it is `on`, changed objects are sent in an invalid form."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.on = True

    def handle(self, request: ServedRequest) -> Reply:
        reply = self._api.handle(request)
        stream = reply.stream and (self._spoiled(piece) for piece in reply.stream)
        return replace(reply, stream=stream, body=self._spoiled(reply.body))

    def _spoiled(self, text: bytes) -> bytes:
        return text.replace(b'"touched":"yes"', b'"touched":7') if self.on else text


def test_an_object_that_cannot_be_understood_is_listed_anew_and_named_while_the_run_goes_on(
    api: Api, tmp_path: Path
) -> None:
    key = api.run_locked(lambda plane: next(iter(plane.store.list("pods"))).key)
    handler = Spoiling(api)
    with field_among(tmp_path, handler) as field:
        seen = all_seen(field)
        change(api, kinds.PODS, key, ("metadata", "labels", "touched"), "yes")
        told = heard_until(field, seen, WatchInterrupted)
        (away,) = [each for each in told if isinstance(each, WatchInterrupted)]
        assert f"Pod {'/'.join(key)}" in away.message and "labels" in away.message
        api.run_locked(lambda plane: busy(plane, 1))
        heard(field, seen, lambda: any(node.unschedulable for node in seen.nodes.values()))
        handler.on = False
        told = heard_until(field, seen, WatchRestored)
        now = _read_without_faults(api, tmp_path)
        told += heard(field, seen, lambda: same(seen, now))
    assert sum(isinstance(each, AllPods) for each in told) == 1


def heard_until(field: LiveRunBackend, seen: ObservedState, kind: type) -> list[RunUpdate]:
    told: list[RunUpdate] = []

    def there() -> bool:
        for each in field.updates(0.02):
            told.append(each)
            seen.handle(each)
        return any(isinstance(each, kind) for each in told)

    wait_until(there)
    return told


@pytest.mark.parametrize(
    ("faults", "token", "right"),
    [
        (["forbidden=pods"], worlds.ADMIN_TOKEN, "list pods"),
        (["forbidden=nodes"], worlds.ADMIN_TOKEN, "list nodes"),
        ([], worlds.DRAINER_TOKEN, "watch pods|watch nodes|list poddisruptionbudgets.policy"),
    ],
)
def test_what_may_not_be_watched_ends_the_news(
    api: Api, tmp_path: Path, faults: list[str], token: str, right: str
) -> None:
    with field_among(tmp_path, api, *faults, token=token) as field, pytest.raises(Forbidden) as caught:
        wait_until(lambda: bool(field.updates(0.1)) and False)
    assert caught.value.missing in right.split("|")


def test_a_right_that_is_missing_for_a_moment_ends_nothing(api: Api, tmp_path: Path) -> None:
    """An API server that has just started does not know its roles yet."""
    moment = Fault(faults.forbidden_for("pods"), times=2)
    with field_among(tmp_path, api, moment) as field:
        watched_to_the_end(api, tmp_path, field)


def test_expired_for_ever_is_listed_with_pauses(api: Api, tmp_path: Path) -> None:
    """The retries must not become a loop that lists as fast as it can."""
    with field_among(tmp_path, api, Fault(WatchExpired(0), watches=True)) as field:
        told: list[RunUpdate] = []
        end_s = time.monotonic() + 0.5
        while time.monotonic() < end_s:
            told += field.updates(0.05)
    assert 3 < lists(told) < 3 * 0.5 / 0.025 + 9


# A cluster is unavailable when one of its watches has failed for a while, and available when all of them work.

NAMES = ("pods", "nodes")


def working() -> WatchHealth:
    reach = WatchHealth(NAMES, 5.0, 0.0)
    for name in NAMES:
        reach.mark_working(name)
    return reach


def test_one_that_breaks_is_told_after_a_while_and_once() -> None:
    reach = working()
    assert reach.new_events(100.0) == [] and reach.next_event_s(100.0) == inf
    reach.mark_broken("pods", "cut", 10.0)
    assert reach.new_events(14.9) == [] and reach.next_event_s(12.0) == 3.0
    reach.mark_broken("pods", "refused", 12.0)
    assert reach.new_events(15.0) == [WatchInterrupted("refused")], "since it broke first, and the latest reason"
    assert reach.new_events(99.0) == [] and reach.next_event_s(99.0) == inf


def test_back_when_all_work_and_once() -> None:
    reach = working()
    reach.mark_broken("pods", "cut", 0.0)
    assert reach.new_events(5.0) == [WatchInterrupted("cut")]
    reach.mark_broken("nodes", "cut", 6.0)
    reach.mark_working("pods")
    assert reach.new_events(7.0) == []
    reach.mark_working("nodes")
    assert reach.new_events(8.0) == [WatchRestored()] and reach.new_events(9.0) == []


def test_one_that_is_taken_up_again_in_time_is_not_told() -> None:
    reach = working()
    for second in range(0, 100, 4):
        reach.mark_broken("pods", "its time was over", float(second))
        assert reach.new_events(second + 3.9) == []
        reach.mark_working("pods")


def test_what_is_not_listed_in_time_is_told() -> None:
    reach = WatchHealth(NAMES, 5.0, 0.0)
    reach.mark_working("nodes")
    assert reach.next_event_s(0.0) == 5.0
    assert reach.new_events(5.0) == [WatchInterrupted("pods have not been listed yet")]
