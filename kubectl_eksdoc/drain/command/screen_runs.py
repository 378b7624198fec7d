"""Runs of the screens, from their opening until the last run of this process has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.cli.options import check_writable
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # the first paint must not load runs
    from kubectl_eksdoc.model.cluster import Cluster

    from .live_run import DemoCluster, LiveRun
    from .run_controller import RunController
    from .screen_ports import ScreenRunController

_LOOK_S = 0.2
_STANDS_S = 1.5
LEFT = "the screens were left"
"""Why a run stops when the screens are closed."""

_SNAPSHOT = "a snapshot is read only: there is no cluster to drain"


@frozen
class ScreenSource:
    """The source from which the cluster is read now; `cluster_name`: its name on the screens; `now`: the clock of the
    demo cluster once it is served, None for others."""

    source: SourceChoice
    options: GlobalOptions
    called: str = ""
    now: Callable[[], datetime] | None = None

    def named(self, cluster: Cluster) -> Cluster:
        who = cluster.identity
        if self.now is not None:
            from kubectl_eksdoc.model.cluster import Source

            cluster = replace(cluster, source=Source.DEMO, observed_at=self.now())
        return replace(cluster, identity=replace(who, cluster=who.cluster or self.called))


class ScreenRuns:
    """Mutable. While it is open, runs can be started through its controllers; closing waits for the active run."""

    def __init__(self, around: CommandContext) -> None:
        self.around = around
        self._demo: DemoCluster | None = None
        self._desks: list[RunController] = []
        self.left_in_the_middle = False
        """Whether a run was active when the screens were closed, and did not reach its end."""

    def __enter__(self) -> ScreenRuns:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            for desk in self._desks:
                if desk.live is not None and not desk.live.over:
                    self._settle(desk.live)
        finally:
            if self._demo is not None:
                self._demo.close()

    @property
    def why_not(self) -> str:
        """Why no run can be started from here, "" if one can."""
        if self.around.source.snapshot:
            return _SNAPSHOT
        try:
            check_writable(self.around.environ, "a run")
        except UsageError as error:
            return error.message
        return ""

    def desk_at(self, reach: Callable[[], GlobalOptions]) -> ScreenRunController | None:
        """Return the controller for a cluster; the demo cluster has its own connection."""
        return None if self.why_not else cast("ScreenRunController", _LateRunController(lambda: self._opened(reach)))

    @property
    def source(self) -> ScreenSource:
        demo = self._demo
        if demo is not None and demo.is_served:
            options = demo.reach()
            return ScreenSource(SourceChoice(), options, options.cluster_name, demo.around.now)
        return ScreenSource(self.around.source, self.around.options)

    def now(self) -> datetime:
        """The time by the clock of the cluster."""
        return (self._demo or self).around.now()

    def _opened(self, reach: Callable[[], GlobalOptions]) -> RunController:
        """Create the controller when it is first needed: it loads all that runs need."""
        from .run_controller import RunController

        if self.around.source.demo:
            from .live_run import SPEED, DemoCluster

            self._demo = DemoCluster(self.around)
            desk = RunController(self._demo.around, self._demo.reach, speed=SPEED)
        else:
            desk = RunController(self.around, reach)
        self._desks.append(desk)
        return desk

    def _settle(self, live: LiveRun) -> None:
        """Stop the run after the screens were closed, and wait for it, as after Ctrl-C of the command."""
        self.left_in_the_middle = True
        around = self.around
        with around.edges.told_to_stop() as told:  # first of all: signals are unhandled since the screens were closed
            from ..report import events
            from ..run.loop import RunWish
            from ..run.progress import RunProgress

            live.wish(RunWish.STOP, LEFT)
            live.wait(_STANDS_S)  # progress is computed at intervals: an older one could be wrong
            standing: RunProgress | None = live.look().standing
            half = f" {events.stop_in_full(standing)}" if standing is not None and not live.over else ""
            around.note(f"run {live.run} is stopping: {LEFT}, so nothing more is asked for.{half}")
            around.note("waiting until what is under way has settled; Ctrl-C leaves at once")
            leaving, before = False, told()  # a closed terminal often sends two signals
            while not live.over:
                if told() > before and not leaving:
                    leaving = True
                    live.wish(RunWish.LEAVE, LEFT)
                    around.note("leaving at once: what is under way comes to its end by itself")
                live.wait(_LOOK_S)
        outcome = live.look().outcome
        if outcome is None:
            return
        steps = outcome.view.steps if outcome.view is not None and self._demo is None else ()
        for line in (outcome.said, *outcome.more, *(f"{step.text}: {step.command}" for step in steps)):
            around.note(line)


class _LateRunController:
    """A `RunController` that is created at the first access: the first paint must not pay for it. Mutable; it is used
    by several threads, and created once."""

    def __init__(self, make: Callable[[], RunController]) -> None:
        self._make = make
        self._made: RunController | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)
