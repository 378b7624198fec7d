"""The screens under a pilot, over the built-in cluster: what is seen is read line by line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime, timezone
from typing import Any

from textual.pilot import Pilot

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.drain.policy import Targeting
from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP, DemoReader
from kubectl_eksdoc.tui.app import EksdocApp
from kubectl_eksdoc.tui.opening import Opening, Progress
from kubectl_eksdoc.tui.screen import PlanScreen

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)

WIDE, NARROW = (120, 36), (80, 24)


def read_demo(progress: Progress) -> Cluster:
    return DemoReader().read(kinds.ALL)


def a_demo(
    read: Callable[[Progress], Cluster] = read_demo,
    targeting: Targeting = Targeting(nodegroups=(DEFAULT_NODEGROUP,)),
    **more: Any,
) -> Opening:
    return Opening(read, lambda: targeting, lambda cluster: ("--demo",), lambda: NOW, **more)


Driven = Callable[[Pilot[int], PlanScreen], Coroutine[Any, Any, None]]


def drive(
    driven: Driven, opening: Opening | None = None, size: tuple[int, int] = WIDE, ready: bool = True
) -> EksdocApp:
    """`driven` is given the pilot and the screen once what was marked first is planned, or at once (not `ready`)."""

    async def main() -> EksdocApp:
        app = EksdocApp(opening or a_demo())
        async with app.run_test(size=size) as pilot:
            if ready:
                await planned(pilot)
            await driven(pilot, main_screen(app))
        return app

    return asyncio.run(main())


def main_screen(app: EksdocApp) -> PlanScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, PlanScreen))


async def planned(pilot: Pilot[Any]) -> None:
    """Until the cluster is read, or cannot be, and nothing is being planned."""
    app: Any = pilot.app
    for _ in range(600):
        await pilot.pause(0.02)
        model = main_screen(app).model
        if (model.facts is not None or model.trouble) and (not model.stale or model.trouble):
            await pilot.pause()
            return
    raise AssertionError("there is still no plan")


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await planned(pilot)


def lines(app: EksdocApp) -> list[str]:
    """What is seen, without colours."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]
