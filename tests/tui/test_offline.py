"""The screens without a readable cluster: the cause, the remedy, automatic retries, and other contexts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.errors import (
    ClusterError,
    ConfigError,
    EksdocError,
    Forbidden,
    SnapshotError,
    Unauthorized,
    Untrusted,
)
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.model.connection import ClusterAddress
from kubectl_eksdoc.model.snapshots import last_view_of
from kubectl_eksdoc.tui.offline import OfflineScreen
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.unreached import headline
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import NARROW, a_demo, drive, lines, notes_of, page_text, planned
from tests.tui.test_live import NO_ANSWER, Drives, old_view, tick, until

BLUE = ClusterAddress("blue", "https://blue.example", "0" * 20)


@pytest.mark.parametrize(
    ("error", "where", "said"),
    [
        (NO_ANSWER, BLUE, "Context blue does not answer"),
        (Untrusted("x"), BLUE, "Context blue answers, and its certificate is not trusted"),
        (Unauthorized("x"), BLUE, "Context blue does not accept your credentials"),
        (Forbidden("x"), None, "The cluster does not let you read what is needed"),
        (ConfigError("x"), None, "The kubeconfig cannot be used"),
        (SnapshotError("x"), None, "The dump cannot be read"),
        (ClusterError("x"), BLUE, "Context blue could not be read"),
    ],
)
def test_the_headline_goes_by_the_error(error: EksdocError, where: ClusterAddress | None, said: str) -> None:
    assert headline(error, where) == said


def said(pilot: Drives) -> str:
    return notes_of(pilot)[-1]


@pytest.mark.long
def test_it_says_what_is_wrong_counts_down_and_goes_when_the_cluster_answers() -> None:
    cluster = LiveCluster([NO_ANSWER, NO_ANSWER, DEMO])

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        for each in (
            "Context blue does not answer",
            "https://blue.example cannot be reached",
            "the connection is refused",
            "VPN up?",
        ):
            assert each in page_text(pilot)
        assert "1 try, retry in 4s" in page_text(pilot)
        await tick(pilot, cluster, 2)
        assert "1 try, retry in 2s" in page_text(pilot)
        await tick(pilot, cluster, 2)
        await until(pilot, lambda: screen.model.reads.failures == 2)
        await tick(pilot, cluster)
        assert "2 tries, retry in 7s" in page_text(pilot)
        await pilot.press("t")
        await until(pilot, lambda: pilot.app.screen is screen)
        await planned(pilot)
        assert "green-1" in page_text(pilot) and not screen.model.error

    drive(look, cluster.opening())


@pytest.mark.long
def test_a_key_that_does_nothing_here_says_why_and_a_dump_is_tried_only_by_hand() -> None:
    def never(progress: Progress) -> Cluster:
        raise SnapshotError("there is no dump at /nowhere", "Check the path.")

    async def press(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        assert "The dump cannot be read" in page_text(pilot) and "retry in" not in page_text(pilot)
        for key, why in (("space", "space: nothing is read yet"), ("o", "no last view"), ("x", "no other contexts")):
            await pilot.press(key)
            assert why in said(pilot)
        await pilot.press("question_mark")
        assert "Keys here" in page_text(pilot)
        await pilot.press("escape")
        await pilot.press("q")

    assert drive(press, a_demo(never), size=NARROW).return_value == 0


@pytest.mark.long
def test_the_last_view_can_be_looked_at_meanwhile() -> None:
    cluster = LiveCluster([NO_ANSWER, NO_ANSWER, NO_ANSWER, DEMO], last=old_view())

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        assert "show the last view, 3h old" in page_text(pilot)
        await pilot.press("o")
        await tick(pilot, cluster, 5)
        await until(pilot, lambda: screen.model.reads.failures == 2)
        assert pilot.app.screen is screen, "who looks away is left alone"
        await tick(pilot, cluster)
        assert "as of 06:00 UTC, 3h old, retry in 7s: ✗ cannot be reached" in lines(pilot.app)[0]
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        await pilot.press("escape", "ctrl+r")
        await until(pilot, lambda: not screen.model.is_old)

    drive(look, cluster.opening())


GREEN = replace(DEMO, identity=Identity("green", "green-shop", "", "eu-west-1", "v1.34.1"))


@pytest.mark.long
@pytest.mark.parametrize("first", [NO_ANSWER, DEMO], ids=["from-nothing", "from-a-plan"])
def test_another_context_is_another_cluster_from_the_beginning(first: Cluster | EksdocError) -> None:
    other = LiveCluster([GREEN], context="green")
    cluster = LiveCluster([first], elsewhere=lambda context: other)

    async def choose(pilot: Drives, screen: PlanScreen) -> None:
        if isinstance(first, EksdocError):
            await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        else:
            await pilot.press("space")
            await planned(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "» blue" in page_text(pilot))
        await pilot.press(*"gre", "enter")
        await until(pilot, lambda: "green-shop" in lines(pilot.app)[0])
        (now,) = [each for each in pilot.app.screen_stack if isinstance(each, PlanScreen)]
        assert now is not screen and pilot.app.screen is now
        assert not now.model.choice.plan_input.marked and not now.model.choice.past
        assert "(context green)" in lines(pilot.app)[0]
        await until(pilot, lambda: bool(other.watches))
        assert not other.watches[0].closed.is_set()

    drive(choose, cluster.opening())


@pytest.mark.long
def test_what_the_cluster_before_tells_late_is_not_heard() -> None:
    other = LiveCluster([GREEN], context="green")
    cluster = LiveCluster([DEMO], last=last_view_of(DEMO), elsewhere=lambda context: other)
    cluster.may_answer.clear()

    async def choose(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: screen.model.is_old)
        await pilot.press("x")
        await until(pilot, lambda: "» blue" in page_text(pilot))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "green-shop" in lines(pilot.app)[0])
        cluster.may_answer.set()
        await until(pilot, lambda: bool(cluster.kept))
        await pilot.pause(0.1)
        assert "green-shop" in lines(pilot.app)[0]

    drive(choose, cluster.opening(), ready=False)


@pytest.mark.long
def test_a_bug_is_called_one() -> None:
    def never(progress: Progress) -> Cluster:
        raise ZeroDivisionError("oh")

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: "this is a bug in kubectl eksdoc" in page_text(pilot))

    drive(look, a_demo(never))
