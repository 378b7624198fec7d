"""The pictures of the documentation are what the screens show."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.tui.pictures import DOCS, check_picture
from tests.tui.scenes import SCENES


@pytest.mark.parametrize(("scene", "name"), [("nodes", "screens.svg"), ("run", "run.svg")])
def test_the_documentation_shows_this(scene: str, name: str) -> None:
    async def see(app: App[int], pilot: Pilot[int]) -> None:
        app.clear_notifications()
        await pilot.pause()
        check_picture(DOCS / name, app)

    SCENES[scene](see)
