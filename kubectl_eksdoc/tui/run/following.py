"""The run of this process, followed by the app on any screen: confirmation, polling, notifications."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.drain.command.screen_ports import (
    ActiveRun,
    PreparedRun,
    RunKind,
    ScreenRunController,
)

from ..keymap import ScreenPage
from . import tables as sheets
from .confirm import ConfirmScreen, TrialScreen
from .pages import RunsScreen, StopScreen
from .screen import RunScreen
from .state import RunState

if TYPE_CHECKING:
    from textual.timer import Timer

    from kubectl_eksdoc.drain.report.plan import DrainView
    from kubectl_eksdoc.model.journal import RunSummary

    from ..base_app import FramedApp

LOOK_S = 0.25
"""Poll interval: changes within it are shown once."""


class PlanPages(Protocol):
    """The plan screen, as far as the run screens use it."""

    @property
    def is_production(self) -> bool: ...

    def do_page(self, page: ScreenPage) -> None: ...

    def do_runs(self) -> None:
        """Show the runs of the cluster."""
        ...

    def mark_next(self, drained: Collection[str]) -> None:
        """Mark the next group, without nodes that were drained."""
        ...


class FollowedRun:
    """Mutable: the run started last, finished or not."""

    def __init__(
        self,
        app: FramedApp,
        desk: ScreenRunController,
        keys: Mapping[str, str],
        changed: Callable[[], object],
        seen: Callable[[], object],
        main: Callable[[], PlanPages],
    ) -> None:
        """`keys`: the user's keys; `on_cluster_changed`: the facts are outdated; `on_update`: the state of the run
        changed; `plan_pages`: returns the plan screen."""
        self._main = main
        self._seen = seen
        self._keys = keys
        self._app = app
        self.desk = desk
        self._changed = changed
        self._timer: Timer | None = None
        self._name = ""
        self._then_give_back = False
        self.state: RunState | None = None
        self.unfinished: frozenset[str] = frozenset()
        """Runs of the cluster that can be resumed, without those that the user dismissed."""
        self._dismissed: set[str] = set()

    @property
    def under_way(self) -> bool:
        return self.state is not None and not self.state.over

    def ask(self, kind: RunKind, prepare: Callable[[], PreparedRun]) -> None:
        """Show what would be done; the run starts after the typed confirmation."""
        screen = ConfirmScreen(kind, prepare, self._main().is_production)

        def begun(live: ActiveRun | None) -> None:
            if live is not None:
                self.follow(live, screen.prepared.name if screen.prepared is not None else "")

        self._app.push_screen(screen, begun)

    def try_first(self, shown: DrainView) -> None:
        """Dry run of the first round on the server."""
        self._app.push_screen(TrialScreen(lambda: self.desk.try_first(shown)))

    def choose_a_run(self, now: Callable[[], datetime], reached_by: Sequence[str]) -> None:
        """Choose among the unfinished runs of this cluster."""

        def chosen(what: tuple[RunKind | None, str] | None) -> None:
            if what is None:
                return
            kind, run = what
            if kind is not None:
                (self.go_on if kind is RunKind.GO_ON else self.give_back)(run)
                return
            self._dismissed.add(run)
            self.unfinished -= {run}
            self._seen()

        self._app.push_screen(RunsScreen(self.desk, now, reached_by), chosen)

    def look_for_unfinished(self) -> None:
        """Look for unfinished runs in a thread: another user may have stopped or resumed one."""

        def look() -> None:
            try:
                runs = [run for run in self.desk.runs() if run.unfinished and run.run not in self._dismissed]
            except Exception:  # the list of runs (key 5) shows the error
                return
            if self._app.is_running and not self._app.is_leaving:
                self._app.call_from_thread(self._found, runs)

        threading.Thread(target=look, name="unfinished", daemon=True).start()

    def _found(self, runs: Sequence[RunSummary]) -> None:
        new = [run for run in runs if run.run not in self.unfinished]
        self.unfinished = frozenset(run.run for run in runs)
        if new and self.state is None:
            more = f", and {len(runs) - 1} more" if len(runs) > 1 else ""
            said = f"5: run {new[0].run} is not over: {new[0].said or new[0].phase}{more}"
            self._app.notify(said, timeout=15, markup=False)
        self._seen()

    def give_back(self, run: str) -> None:
        self.ask(RunKind.GIVE_BACK, lambda: self.desk.prepare_giving_back(run))

    def go_on(self, run: str) -> None:
        self.ask(RunKind.GO_ON, lambda: self.desk.prepare_going_on(run))

    def list_runs(self) -> None:
        self._main().do_runs()

    def show_plan(self, page: ScreenPage) -> None:
        while isinstance(self._app.screen, RunScreen):
            self._app.pop_screen()
        self._main().do_page(page)

    def next_group(self) -> None:
        self.show_plan(ScreenPage.PLAN)
        self._main().mark_next(self.state.chronicle.nodes if self.state is not None else ())

    def give_back_when_over(self) -> None:
        self._then_give_back = True

    def follow(self, live: ActiveRun, name: str) -> None:
        self.state, self._name, self._then_give_back = RunState(live), name, False
        self._seen()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._app.set_interval(LOOK_S, self._look)
        while isinstance(self._app.screen, RunScreen):  # of the previous run
            self._app.pop_screen()
        self.show()

    def show(self) -> None:
        """Show the screen of the run, unless it is visible already."""
        if self.state is not None and not isinstance(self._app.screen, RunScreen):
            self._app.push_screen(RunScreen(self.state, self._name, self, self._keys, self._main().is_production))

    def in_short(self) -> list[str]:
        """Short progress, what waits, and the essential keys, for a terminal that is too small."""
        if self.state is None:
            return []
        notice = sheets.notice(self.state).text
        seen = self._app.screen
        keys = "5 the run"
        if isinstance(seen, RunScreen):
            keys = "q back" if self.state.over else "space pause  a stop…"
        elif isinstance(seen, StopScreen):
            keys = "space pause, go on  s stop  esc no"
        elif isinstance(seen, ConfirmScreen):
            keys = "there is no room to confirm: esc back"
        return [sheets.line_in_short(self.state), notice, keys]

    def ask_what_next(self) -> None:
        """Before the user leaves: show the screen of the run and the menu to stop it; only once, even if the user
        repeats the key."""
        stack = self._app.screen_stack
        if isinstance(stack[-1], StopScreen):
            return
        if any(isinstance(screen, RunScreen) for screen in stack):
            while not isinstance(self._app.screen, RunScreen):  # it is below a dialog
                self._app.pop_screen()
        self.show()
        seen = self._app.screen
        if isinstance(seen, RunScreen):
            seen.do_stop()

    def _look(self) -> None:
        state = self.state
        if state is None or self._app.is_leaving:
            return
        new = state.take(state.live.look())
        if not (new or state.is_silent):
            return
        for screen in self._app.screen_stack:
            if isinstance(screen, RunScreen) and screen.state is state and screen.is_mounted:
                screen.show()
        self._seen()
        if new and state.over:
            if self._timer is not None:
                self._timer.stop()
            self._changed()
            if not isinstance(self._app.screen, RunScreen) and state.outcome is not None:
                self._app.notify(f"{state.outcome.sign[0]} 5: run {state.live.run}: {state.outcome.said}", markup=False)
            if self._then_give_back and state.drains:
                self._then_give_back = False
                self.give_back(state.live.run)
