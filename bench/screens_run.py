"""Opens the screens on a made run: eight nodes are under way, and three of their pods go at every look, which
is twelve a second. For a terminal."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection
from datetime import datetime, timezone
from typing import cast

from kubectl_eksdoc.drain.command.screen_ports import RunKind, RunUpdate, ScreenRunController
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.history import PlannedNode
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.drain.run.progress import RunProgress, WaitingPod
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.selectors import Selector
from kubectl_eksdoc.tui.base_app import FramedApp
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.run.following import FollowedRun

PODS = 40
AT_ONCE = 8
GOING = 3


class MadeRun:
    """Mutable: its progress. `AT_ONCE` nodes are drained, and `GOING` of their pods end at every read."""

    run, kind, view, speed = "20261120-193005-4f2a", RunKind.DRAIN, None, 1.0
    started_at = datetime(2026, 11, 20, 19, 30, 5, tzinfo=timezone.utc)

    def __init__(self, nodes: int) -> None:
        names = [f"ip-10-0-{at // 250}-{at % 250}.ec2.internal" for at in range(nodes)]
        self.planned_nodes = tuple(PlannedNode(name, 1 + at // 20, self._pods(name)) for at, name in enumerate(names))
        self._left = {aim.node: list(aim.pods) for aim in self.planned_nodes}
        self._began = time.monotonic()
        self._gone = self._looks = 0
        self._begun: set[str] = set()

    @staticmethod
    def _pods(node: str) -> tuple[str, ...]:
        return tuple(f"shop/web-{node[6:]}-{number}" for number in range(PODS))

    def take_update(self) -> RunUpdate:
        now_s = time.monotonic() - self._began
        moments: list[DrainEvent] = []
        under_way = [node for node, left in self._left.items() if left][:AT_ONCE]
        for node in under_way:
            if node not in self._begun:
                self._begun.add(node)
                moments.append(DrainEvent(now_s, DrainEventKind.BEGUN, node))
        self._looks += 1
        for node in (under_way * 2)[self._looks % AT_ONCE :][:GOING] if len(under_way) == AT_ONCE else under_way:
            pod = self._left[node].pop(0)
            moments += [
                DrainEvent(now_s, DrainEventKind.EVICTED, pod, node),
                DrainEvent(now_s, DrainEventKind.GONE, pod, node),
            ]
            self._gone += 1
            if not self._left[node]:
                moments.append(DrainEvent(now_s, DrainEventKind.DONE, node))
        return RunUpdate(moments, self._standing(now_s, under_way), None)

    def _standing(self, now_s: float, under_way: list[str]) -> RunProgress:
        waits = tuple(
            WaitingPod(f"shop/cart-{at}", node, "budget shop/cart has no room", "shop/cart")
            for at, node in enumerate(under_way[:3])
        )
        left = tuple((node, len(self._left[node])) for node in under_way)
        budgets = tuple(
            Budget("shop", f"app-{at}", "", Selector(), BudgetStatus((self._gone + at) % 3, 9, 8, 10))
            for at in range(8)
        )
        return RunProgress(
            now_s,
            len(self.planned_nodes) * PODS,
            self._gone,
            (),
            len(self.planned_nodes),
            (),
            left,
            (),
            (),
            waits,
            remaining_s=600.0,
            planned_s=900.0,
            budgets=budgets,
        )

    def submit(self, wish: RunRequest) -> None:
        return

    def leave_alone(self, node: str) -> None:
        return


def _ignore() -> None:
    return


class NoPlan:
    """Replaces the plan's screen, which no measured key opens."""

    is_production = False

    def do_page(self, page: ScreenPage) -> None: ...

    def do_runs(self) -> None: ...

    def mark_next(self, drained: Collection[str]) -> None: ...


class Shown(FramedApp):
    def __init__(self, nodes: int) -> None:
        super().__init__(ascii=False, plain=False, light=False)
        self._count = nodes

    def on_mount(self) -> None:
        nothing = cast(ScreenRunController, None)  # of a run that is followed nothing is asked
        following = FollowedRun(self, nothing, {}, _ignore, _ignore, NoPlan)
        following.follow(MadeRun(self._count), "bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    Shown(parser.parse_args().nodes).run()


if __name__ == "__main__":
    main()
