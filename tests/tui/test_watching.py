"""Watched changes: a relevant change is reported once, and a repeated event is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.errors import Forbidden, Unreachable
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetChanged,
    BudgetRemoved,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.ports import RunBackend
from kubectl_eksdoc.tui.reader import (
    ClusterChanged,
    ClusterWatcher,
    KnownObjects,
    Notice,
    WatchEnded,
    WatchLost,
    WatchStarted,
)
from kubectl_eksdoc.wiring.runs import open_watch
from tests.builders import a_budget, a_cluster, a_node, a_pod
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.kube.live_backend.served_backends import wait_until
from tests.kube.live_backend.test_cordons import by_a_person
from tests.tui.live_clusters import FakeField

POD, BUDGET, NODE = a_pod("web-0"), a_budget("web"), a_node("old-0")
CLUSTER = a_cluster(nodes=[NODE], pods=[POD], budgets=[BUDGET])
OTHER_POD = a_pod("web-1")


@pytest.mark.parametrize(
    "same",
    [
        PodChanged(POD, 1),
        BudgetChanged(BUDGET, 1),
        NodeChanged(NODE),
        AllPods(((POD, 1),), 1),
        AllBudgets(((BUDGET, 1),), 1),
        AllNodes((NODE,)),
        PodRemoved("another", 1),
        BudgetRemoved("default/another"),
        NodeRemoved("another"),
        WatchRestored(),
    ],
)
def test_what_was_known_is_no_news(same: RunUpdate) -> None:
    assert not KnownObjects(CLUSTER).apply(same)


@pytest.mark.parametrize(
    "change",
    [
        PodChanged(replace(POD, ready=False), 2),
        PodChanged(OTHER_POD, 2),
        PodRemoved(POD.uid, 2),
        BudgetChanged(replace(BUDGET, generation=9), 2),
        BudgetRemoved(BUDGET.key),
        NodeChanged(replace(NODE, unschedulable=True)),
        NodeRemoved("old-0"),
        AllPods((), 2),
        AllPods(((POD, 1), (OTHER_POD, 2)), 2),
        AllBudgets((), 2),
        AllNodes(()),
    ],
)
def test_a_change_is_news_once(change: RunUpdate) -> None:
    known = KnownObjects(CLUSTER)
    assert known.apply(change)
    assert not known.apply(change)


@contextmanager
def watching(field: FakeField) -> Iterator[list[Notice]]:
    told: list[Notice] = []

    @contextmanager
    def opened() -> Iterator[RunBackend]:
        try:
            yield field
        finally:
            field.close()

    watcher = ClusterWatcher(opened, CLUSTER, told.append)
    yield told
    watcher.close()
    assert field.closed.wait(10)


def test_it_tells_what_becomes_of_the_watch() -> None:
    field = FakeField()
    with watching(field) as told:
        for news in (
            AllNodes((NODE,)),
            PodChanged(POD, 1),
            WatchInterrupted("nobody answers"),
            WatchRestored(),
            PodRemoved(POD.uid, 2),
        ):
            field.told.put(news)
        wait_until(lambda: len(told) >= 4)
        assert told == [WatchStarted(), WatchLost("nobody answers"), WatchStarted(), ClusterChanged()]


@pytest.mark.parametrize(("error", "forbidden"), [(Forbidden("you may not"), True), (Unreachable("no answer"), False)])
def test_its_end_is_told(error: Forbidden | Unreachable, forbidden: bool) -> None:
    field = FakeField()
    with watching(field) as told:
        field.told.put(error)
        wait_until(lambda: bool(told))
        assert told == [WatchEnded(error.message, forbidden)]


def test_a_bug_is_told_as_one() -> None:
    told: list[Notice] = []
    done = threading.Event()

    def opened() -> AbstractContextManager[RunBackend]:
        done.set()
        raise ZeroDivisionError("oh")

    ClusterWatcher(opened, CLUSTER, told.append)
    assert done.wait(10)
    wait_until(lambda: bool(told))
    assert isinstance(told[0], WatchEnded) and "bug" in told[0].message and told[0].forbidden


@pytest.mark.long
def test_on_a_served_cluster_nothing_is_told_until_something_changes(tmp_path: Path) -> None:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, _):
        to = Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN)))
        cluster = LiveReader(to).read(kinds.ALL)
        told: list[Notice] = []
        watcher = ClusterWatcher(lambda: open_watch(to), cluster, told.append)
        wait_until(lambda: WatchStarted() in told)
        threading.Event().wait(0.2)
        assert ClusterChanged() not in told, "what is watched is what was read"
        by_a_person(server, cluster.nodes[0].name, True)
        wait_until(lambda: ClusterChanged() in told)
        watcher.close()
