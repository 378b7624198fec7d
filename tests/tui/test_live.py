"""The screens over a live cluster: the last saved view, automatic rereading, and the parts that stay visible
meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.errors import Forbidden, Unreachable
from kubectl_eksdoc.kubernetes.updates import AllNodes, NodeChanged, WatchInterrupted, WatchRestored
from kubectl_eksdoc.model.snapshots import LastView, last_view_of
from kubectl_eksdoc.tui.app import EksdocApp
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.model import CHANGED_INTERVAL_S, WATCHED_INTERVAL_S, WatchState
from kubectl_eksdoc.tui.reader import ClusterRead, Progressed, ReadFailed
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import Drives, drive, lines, notes_of, page_text, planned, press

NO_ANSWER = Unreachable("https://blue.example cannot be reached: the connection is refused", "Is the VPN up?")
CORDONED = replace(DEMO, nodes=tuple(replace(n, unschedulable=True) if n.name == "green-1" else n for n in DEMO.nodes))
LATER = replace(DEMO, observed_at=DEMO.observed_at.replace(hour=10))


def old_view() -> LastView:
    view = last_view_of(DEMO)
    gone = replace(view.nodes[0], name="gone-1")
    return LastView(view.identity, view.observed_at.replace(hour=6), (gone, *view.nodes), view.pods)


def head(pilot: Drives) -> str:
    return lines(pilot.app)[0]


async def until(pilot: Drives, true: Callable[[], bool]) -> None:
    for _ in range(500):
        await pilot.pause(0.01)
        if true():
            return
    raise AssertionError("it never came\n" + page_text(pilot))


async def tick(pilot: Drives, cluster: LiveCluster, seconds: float = 1.0) -> None:
    """Move the stopped clock and let the screens notice."""
    app: Any = pilot.app
    cluster.clock.pass_s(seconds)
    app._tick()
    await pilot.pause()


def test_the_last_view_is_shown_at_once_and_the_marks_of_what_is_still_there_stay() -> None:
    cluster = LiveCluster(last=old_view())
    cluster.may_answer.clear()

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: screen.model.is_old)
        assert head(pilot).split("  ")[2].startswith("as of 06:00 UTC, 3h old: reading the cluster…")
        assert "gone-1" in page_text(pilot)
        await pilot.press("slash", *"gone", "enter", "space", "escape", "slash", *"green", "enter", "m", "f", "escape")
        assert {"gone-1", "green-1"} < screen.model.choice.plan_input.marked
        await pilot.pause(0.1)
        assert screen.model.view is None and not screen.model.is_stale, "nothing is planned from it"
        await pilot.press("C")
        assert "old view" in notes_of(pilot)[-1], "nor copied or run"
        cluster.may_answer.set()
        await until(pilot, lambda: screen.model.facts is not None and not screen.model.is_old)
        await planned(pilot)
        assert screen.model.choice.plan_input.marked == {"green-1", "green-2", "green-3", "green-4"}
        assert screen.model.view is not None and "live, read" in head(pilot)

    drive(look, cluster.opening(), ready=False)


@pytest.mark.long
def test_a_change_that_matters_is_read_and_planned_and_all_else_stays() -> None:
    cluster = LiveCluster([DEMO, CORDONED], targeting=Targeting(nodegroups=("blue",)))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "equals_sign", "escape", "j", "j", "J")
        pinned, ask, before = screen.model.pinned_plan, screen.model.choice.plan_input, screen.model.view
        await until(pilot, lambda: bool(cluster.watches))
        cluster.watches[0].told.put(AllNodes(DEMO.nodes))
        await until(pilot, lambda: screen.model.reads.watch is WatchState.ON)
        await tick(pilot, cluster, CHANGED_INTERVAL_S + 1)
        assert cluster.reads == 1, "nothing has changed"
        cluster.watches[0].told.put(NodeChanged(next(n for n in CORDONED.nodes if n.name == "green-1")))
        await until(pilot, lambda: screen.model.reads.changed_at is not None)
        await tick(pilot, cluster)
        await until(pilot, lambda: screen.model.facts is not None and screen.model.facts.cluster is CORDONED)
        assert screen.model.view is before or not screen.model.is_stale, "the old plan is seen until there is a new one"
        await until(pilot, lambda: screen.model.view is not before)
        assert screen.model.view is not None
        assert screen.model.pinned_plan is pinned and screen.model.choice.plan_input == ask
        assert screen._page_widget(ScreenPage.PLAN).node == "blue-3", "the cursor stays"
        assert "⊘ cordoned" in page_text(pilot)

    drive(look, cluster.opening())


@pytest.mark.long
def test_a_plan_of_the_same_facts_is_not_made_anew() -> None:
    cluster = LiveCluster([DEMO, LATER], targeting=Targeting(nodegroups=("blue",)))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        before = screen.model.latest_plan
        await tick(pilot, cluster, WATCHED_INTERVAL_S + 1)
        await until(pilot, lambda: cluster.reads == 2 and screen.model.reads.started_at is None)
        await pilot.pause(0.05)
        assert screen.model.latest_plan is before and not screen.model.is_stale
        assert head(pilot).endswith("live, read 0s ago")
        await tick(pilot, cluster, 7)
        assert head(pilot).endswith("live, read 7s ago")

    drive(look, cluster.opening())


@pytest.mark.long
def test_it_is_not_read_behind_whoever_types() -> None:
    cluster = LiveCluster()

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.press("question_mark")
        await tick(pilot, cluster, 1000)
        assert cluster.reads == 1
        await pilot.press("escape")
        await tick(pilot, cluster)
        await until(pilot, lambda: cluster.reads == 2 and screen.model.reads.started_at is None)
        await pilot.press("slash", *"blu")
        await tick(pilot, cluster, 1000)
        assert cluster.reads == 2 and screen.model.filter == "blu"

    drive(look, cluster.opening())


@pytest.mark.long
def test_a_watch_that_is_lost_is_stale_until_it_is_back() -> None:
    cluster = LiveCluster()

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: bool(cluster.watches))
        for news in (AllNodes(DEMO.nodes), WatchInterrupted("nobody answers")):
            cluster.watches[0].told.put(news)
        await until(pilot, lambda: screen.model.reads.watch is WatchState.LOST)
        await tick(pilot, cluster, 20)
        assert "! stale 20s: nobody answers" in head(pilot)
        cluster.watches[0].told.put(WatchRestored())
        await until(pilot, lambda: screen.model.reads.watch is WatchState.ON)
        assert "live, read 20s ago" in head(pilot)

    drive(look, cluster.opening())


@pytest.mark.parametrize(("error", "watches"), [(Forbidden("you may not watch"), 1), (Unreachable("cut"), 2)])
@pytest.mark.long
def test_where_it_cannot_be_watched_it_is_read_now_and_then(error: Forbidden | Unreachable, watches: int) -> None:
    cluster = LiveCluster([DEMO, LATER])

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: bool(cluster.watches))
        cluster.watches[0].told.put(error)
        await until(pilot, lambda: screen.model.reads.watch_message == error.message)
        await tick(pilot, cluster, 31)
        await until(pilot, lambda: len(cluster.kept) == 2)
        await pilot.pause(0.1)
        assert len(cluster.watches) == watches, "who may not is not asked again"

    drive(look, cluster.opening())


def test_an_answer_that_comes_while_the_screens_are_closed_is_dropped() -> None:
    """A thread has read it; it waits in the queue when no screen is left to show it."""
    cluster = LiveCluster()
    left: list[EksdocApp] = []

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        assert isinstance(pilot.app, EksdocApp)
        left.append(pilot.app)
        await pilot.press("q")

    drive(look, cluster.opening())
    (app,) = left
    assert not any(isinstance(screen, PlanScreen) for screen in app.screen_stack)
    app.on_cluster_read(ClusterRead(app.opening, DEMO, True))
    app.on_read_failed(ReadFailed(app.opening, "no answer", "it is away", "look at the network", None))
    app.on_progressed(Progressed(app.opening, "pods", 7))
