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

_POLL_S = 0.2
_SETTLE_S = 1.5
SCREENS_CLOSED = "the screens were left"
"""Why a run stops when the screens are closed."""

_SNAPSHOT = "a snapshot is read only: there is no cluster to drain"


@frozen
class ScreenSource:
    """The source from which the cluster is read now; `cluster_name`: its name on the screens; `now`: the clock of the
    demo cluster once it is served, None for others."""

    source: SourceChoice
    options: GlobalOptions
    cluster_name: str = ""
    now: Callable[[], datetime] | None = None

    def with_name(self, cluster: Cluster) -> Cluster:
        identity = cluster.identity
        if self.now is not None:
            from kubectl_eksdoc.model.cluster import Source

            cluster = replace(cluster, source=Source.DEMO, observed_at=self.now())
        return replace(cluster, identity=replace(identity, cluster=identity.cluster or self.cluster_name))


class ScreenRuns:
    """Mutable. While it is open, runs can be started through its controllers; closing waits for the active run."""

    def __init__(self, context: CommandContext) -> None:
        self.context = context
        self._demo: DemoCluster | None = None
        self._controllers: list[RunController] = []
        self.was_interrupted = False
        """Whether a run was active when the screens were closed, and did not reach its end."""

    def __enter__(self) -> ScreenRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            for controller in self._controllers:
                if controller.live is not None and not controller.live.has_ended:
                    self._stop_and_wait(controller.live)
        finally:
            if self._demo is not None:
                self._demo.close()

    @property
    def read_only_reason(self) -> str:
        """Why no run can be started from here, "" if one can."""
        if self.context.source.snapshot:
            return _SNAPSHOT
        try:
            check_writable(self.context.environ, "a run")
        except UsageError as error:
            return error.message
        return ""

    def controller_for(self, reach: Callable[[], GlobalOptions]) -> ScreenRunController | None:
        """Return the controller for a cluster; the demo cluster has its own connection."""
        return (
            None
            if self.read_only_reason
            else cast("ScreenRunController", _LazyRunController(lambda: self._open_controller(reach)))
        )

    @property
    def source(self) -> ScreenSource:
        demo = self._demo
        if demo is not None and demo.is_served:
            options = demo.reach()
            return ScreenSource(SourceChoice(), options, options.cluster_name, demo.context.now)
        return ScreenSource(self.context.source, self.context.options)

    def now(self) -> datetime:
        """The time by the clock of the cluster."""
        return (self._demo or self).context.now()

    def _open_controller(self, reach: Callable[[], GlobalOptions]) -> RunController:
        """Create the controller when it is first needed: it loads all that runs need."""
        from .run_controller import RunController

        if self.context.source.demo:
            from .live_run import SPEED, DemoCluster

            self._demo = DemoCluster(self.context)
            controller = RunController(self._demo.context, self._demo.reach, speed=SPEED)
        else:
            controller = RunController(self.context, reach)
        self._controllers.append(controller)
        return controller

    def _stop_and_wait(self, live: LiveRun) -> None:
        """Stop the run after the screens were closed, and wait for it, as after Ctrl-C of the command."""
        self.was_interrupted = True
        context = self.context
        with (
            context.edges.stop_requests() as stop_count
        ):  # first of all: signals are unhandled since the screens were closed
            from ..report import events
            from ..run.loop import RunRequest
            from ..run.progress import RunProgress

            live.submit(RunRequest.STOP, SCREENS_CLOSED)
            live.wait(_SETTLE_S)  # progress is computed at intervals: an older one could be wrong
            progress: RunProgress | None = live.take_update().progress
            half_drained_text = (
                f" {events.unfinished_with_names(progress)}" if progress is not None and not live.has_ended else ""
            )
            context.note(
                f"run {live.run} is stopping: {SCREENS_CLOSED}, so nothing more is asked for.{half_drained_text}"
            )
            context.note("waiting until what is under way has settled; Ctrl-C leaves at once")
            leaves_at_once, earlier_stops = False, stop_count()  # a closed terminal often sends two signals
            while not live.has_ended:
                if stop_count() > earlier_stops and not leaves_at_once:
                    leaves_at_once = True
                    live.submit(RunRequest.LEAVE, SCREENS_CLOSED)
                    context.note("leaving at once: what is under way comes to its end by itself")
                live.wait(_POLL_S)
        outcome = live.take_update().outcome
        if outcome is None:
            return
        steps = outcome.report.next_steps if outcome.report is not None and self._demo is None else ()
        for line in (outcome.summary, *outcome.details, *(f"{step.text}: {step.command}" for step in steps)):
            context.note(line)


class _LazyRunController:
    """A `RunController` that is created at the first access: the first paint must not pay for it. Mutable; it is used
    by several threads, and created once."""

    def __init__(self, make: Callable[[], RunController]) -> None:
        self._make = make
        self._controller: RunController | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._controller is None:
                self._controller = self._make()
        return getattr(self._controller, name)
