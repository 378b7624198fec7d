"""The screens over a cluster with secrets planted: none is shown on any page, and none is copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice, open_reader
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.cli.canaries import places
from tests.cli.canaries.canaries import canaries_in
from tests.tui.pilots import a_demo, drive

KEYS = ("space", "enter", "c", "y", "C", "1", "2", "enter", "y", "3", "4", "y", "o", "escape", "exclamation_mark")


@pytest.mark.long
def test_no_screen_shows_one(tmp_path: Path) -> None:
    source = SourceChoice(snapshot=places.dump(tmp_path / "dump.tar.gz", places.documents("small-traps")))

    def read(progress: Progress) -> Cluster:
        return open_reader(source, Connection(), progress).read(kinds.ALL)

    shown: list[str] = []

    async def look(pilot: Pilot[Any], screen: PlanScreen) -> None:
        for key in KEYS:
            await pilot.press(key)
            await pilot.pause()
            shown.extend((pilot.app.export_screenshot(), pilot.app._clipboard))

    drive(look, a_demo(read))
    assert len({*shown}) > len(KEYS) // 2, "each key shows something else"
    assert canaries_in("\n".join(shown).encode()) == set()
