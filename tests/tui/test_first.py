"""The first painted screen: keys that arrive before any data is loaded get a response."""

from __future__ import annotations

import asyncio
import threading

from textual.app import App

from kubectl_eksdoc.tui.opening import FirstScreen


def test_a_key_that_comes_too_early_says_so() -> None:
    loaded = threading.Event()

    async def main() -> None:
        app: App[None] = App()
        async with app.run_test() as pilot:
            await app.push_screen(FirstScreen(lambda: loaded.wait(10), lambda: None))
            await pilot.press("r", "left_square_bracket")
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            seen = "\n".join("".join(segment.text for segment in strip) for strip in strips)
            assert "[: nothing is read yet" in seen
            await pilot.press("q")
        loaded.set()

    asyncio.run(main())
