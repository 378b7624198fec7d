"""Without a cluster in ASCII, and without room, sign by sign; usually screens are as in `test_every_screen`."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.tui.offline import OfflineScreen
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.render.golden import check_golden
from tests.tui.lives import LiveCluster
from tests.tui.pilots import NARROW, Drives, drive, page_text
from tests.tui.scenes import AT, GONE
from tests.tui.test_golden import GOLDEN
from tests.tui.test_live import old_view, until


def keep(name: str, pilot: Drives) -> None:
    pilot.app.clear_notifications()
    check_golden(GOLDEN / f"{name}.txt", page_text(pilot) + "\n")


@pytest.mark.long
def test_no_cluster() -> None:
    cluster = LiveCluster([GONE], last=old_view(), server=AT)

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, OfflineScreen))
        await pilot.pause()
        keep("offline-ascii", pilot)

    drive(look, cluster.opening(ascii=True), NARROW)


@pytest.mark.long
def test_too_small() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.pause()
        keep("small-40x10", pilot)

    drive(look, size=(40, 10))
