"""What the screens look like where something is missing, sign by sign."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.errors import Unreachable
from kubectl_eksdoc.tui.offline import OfflineScreen
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.render.test_golden import check_golden
from tests.tui.lives import LiveCluster
from tests.tui.pilots import NARROW, WIDE, drive, lines, planned
from tests.tui.test_golden import GOLDEN
from tests.tui.test_live import old_view, until
from tests.tui.test_rights import EVICT, HIDDEN
from tests.tui.test_unguarded import BARE

Drives = Pilot[int]

AT = "https://0123456789abcdef.gr7.eu-west-1.eks.amazonaws.com"
GONE = Unreachable(
    f"{AT} cannot be reached: no connection within 30 s",
    "Is the cluster's endpoint private? Then a VPN, a bastion or a proxy is needed to reach it.",
)


def keep(name: str, pilot: Drives) -> None:
    pilot.app.clear_notifications()
    check_golden(GOLDEN / f"{name}.txt", "\n".join(lines(pilot.app)) + "\n")


async def keep_both(name: str, pilot: Drives) -> None:
    """As it is opened, and as it is in a terminal that becomes larger."""
    keep(f"{name}-80x24", pilot)
    await pilot.resize_terminal(*WIDE)
    keep(f"{name}-120x36", pilot)


@pytest.mark.long
@pytest.mark.parametrize("ascii", [False, True], ids=["signs", "ascii"])
def test_no_cluster(ascii: bool) -> None:
    cluster = LiveCluster([GONE], last=old_view(), server=AT)

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        await pilot.pause()
        if ascii:
            keep("offline-ascii", pilot)
        else:
            await keep_both("offline", pilot)

    drive(look, cluster.opening(ascii), NARROW)


@pytest.mark.long
def test_an_old_view() -> None:
    cluster = LiveCluster(last=old_view())
    cluster.may_answer.clear()

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: screen.model.old)
        await pilot.press("j", "space")
        await keep_both("old-view", pilot)
        cluster.may_answer.set()

    drive(look, cluster.opening(), NARROW, ready=False)


@pytest.mark.long
def test_the_contexts() -> None:
    cluster = LiveCluster([GONE], others=("arn:aws:eks:eu-west-1:111122223333:cluster/shop", "blue", "green"))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        await pilot.press("x")
        await until(pilot, lambda: any("» blue" in line for line in lines(pilot.app)))
        keep("contexts-80x24", pilot)

    drive(look, cluster.opening(), NARROW)


@pytest.mark.long
def test_what_is_hidden() -> None:
    cluster = LiveCluster([HIDDEN], targeting=Targeting(nodegroups=("blue",)), denied=(EVICT,))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: getattr(pilot.app.screen, "denied", None) is not None)
        await pilot.pause()
        await keep_both("rights", pilot)

    drive(look, cluster.opening(), NARROW)


@pytest.mark.long
def test_too_small() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.pause()
        keep("small-40x10", pilot)

    drive(look, size=(40, 10))


@pytest.mark.long
def test_no_budgets() -> None:
    cluster = LiveCluster([BARE], targeting=Targeting(nodegroups=("blue",)))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.press("2")
        await planned(pilot)
        await keep_both("no-budgets", pilot)

    drive(look, cluster.opening(), NARROW)
