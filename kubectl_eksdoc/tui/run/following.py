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

POLL_S = 0.25
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
        run_controller: ScreenRunController,
        keys: Mapping[str, str],
        on_cluster_changed: Callable[[], object],
        on_update: Callable[[], object],
        plan_pages: Callable[[], PlanPages],
    ) -> None:
        """`keys`: the user's keys; `on_cluster_changed`: the facts are outdated; `on_update`: the state of the run
        changed; `plan_pages`: returns the plan screen."""
        self._plan_pages = plan_pages
        self._on_update = on_update
        self._keys = keys
        self._app = app
        self.run_controller = run_controller
        self._on_cluster_changed = on_cluster_changed
        self._timer: Timer | None = None
        self._cluster_name = ""
        self._rolls_back_when_over = False
        self.state: RunState | None = None
        self.unfinished: frozenset[str] = frozenset()
        """Runs of the cluster that can be resumed, without those that the user dismissed."""
        self._dismissed: set[str] = set()

    @property
    def is_running(self) -> bool:
        return self.state is not None and not self.state.is_over

    def confirm(self, kind: RunKind, prepare: Callable[[], PreparedRun]) -> None:
        """Show what would be done; the run starts after the typed confirmation."""
        screen = ConfirmScreen(kind, prepare, self._plan_pages().is_production)

        def on_confirmed(live: ActiveRun | None) -> None:
            if live is not None:
                self.follow(live, screen.prepared.cluster_name if screen.prepared is not None else "")

        self._app.push_screen(screen, on_confirmed)

    def dry_run(self, view: DrainView) -> None:
        """Dry run of the first round on the server."""
        self._app.push_screen(TrialScreen(lambda: self.run_controller.dry_run_first_round(view)))

    def choose_run(self, now: Callable[[], datetime], connection_args: Sequence[str]) -> None:
        """Choose among the unfinished runs of this cluster."""

        def on_chosen(choice: tuple[RunKind | None, str] | None) -> None:
            if choice is None:
                return
            kind, run = choice
            if kind is not None:
                (self.resume if kind is RunKind.RESUME else self.roll_back)(run)
                return
            self._dismissed.add(run)
            self.unfinished -= {run}
            self._on_update()

        self._app.push_screen(RunsScreen(self.run_controller, now, connection_args), on_chosen)

    def find_unfinished(self) -> None:
        """Look for unfinished runs in a thread: another user may have stopped or resumed one."""

        def find() -> None:
            try:
                runs = [run for run in self.run_controller.runs() if run.unfinished and run.run not in self._dismissed]
            except Exception:  # the list of runs (key 5) shows the error
                return
            if self._app.is_running and not self._app.is_leaving:
                self._app.call_from_thread(self._show_unfinished, runs)

        threading.Thread(target=find, name="unfinished", daemon=True).start()

    def _show_unfinished(self, runs: Sequence[RunSummary]) -> None:
        new_runs = [run for run in runs if run.run not in self.unfinished]
        self.unfinished = frozenset(run.run for run in runs)
        if new_runs and self.state is None:
            more_text = f", and {len(runs) - 1} more" if len(runs) > 1 else ""
            message = f"5: run {new_runs[0].run} is not over: {new_runs[0].said or new_runs[0].phase}{more_text}"
            self._app.notify(message, timeout=15, markup=False)
        self._on_update()

    def roll_back(self, run: str) -> None:
        self.confirm(RunKind.ROLLBACK, lambda: self.run_controller.prepare_rollback(run))

    def resume(self, run: str) -> None:
        self.confirm(RunKind.RESUME, lambda: self.run_controller.prepare_resume(run))

    def list_runs(self) -> None:
        self._plan_pages().do_runs()

    def show_plan(self, page: ScreenPage) -> None:
        while isinstance(self._app.screen, RunScreen):
            self._app.pop_screen()
        self._plan_pages().do_page(page)

    def next_group(self) -> None:
        self.show_plan(ScreenPage.PLAN)
        self._plan_pages().mark_next(self.state.history.nodes if self.state is not None else ())

    def roll_back_when_over(self) -> None:
        self._rolls_back_when_over = True

    def follow(self, live: ActiveRun, name: str) -> None:
        self.state, self._cluster_name, self._rolls_back_when_over = RunState(live), name, False
        self._on_update()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._app.set_interval(POLL_S, self._poll)
        while isinstance(self._app.screen, RunScreen):  # of the previous run
            self._app.pop_screen()
        self.show()

    def show(self) -> None:
        """Show the screen of the run, unless it is visible already."""
        if self.state is not None and not isinstance(self._app.screen, RunScreen):
            self._app.push_screen(
                RunScreen(self.state, self._cluster_name, self, self._keys, self._plan_pages().is_production)
            )

    def summary_lines(self) -> list[str]:
        """Short progress, what waits, and the essential keys, for a terminal that is too small."""
        if self.state is None:
            return []
        notice = sheets.notice_text(self.state).text
        current_screen = self._app.screen
        keys = "5 the run"
        if isinstance(current_screen, RunScreen):
            keys = "q back" if self.state.is_over else "space pause  a stop…"
        elif isinstance(current_screen, StopScreen):
            keys = "space pause, go on  s stop  esc no"
        elif isinstance(current_screen, ConfirmScreen):
            keys = "there is no room to confirm: esc back"
        return [sheets.short_progress(self.state), notice, keys]

    def ask_before_exit(self) -> None:
        """Before the user leaves: show the screen of the run and the menu to stop it; only once, even if the user
        repeats the key."""
        stack = self._app.screen_stack
        if isinstance(stack[-1], StopScreen):
            return
        if any(isinstance(screen, RunScreen) for screen in stack):
            while not isinstance(self._app.screen, RunScreen):  # it is below a dialog
                self._app.pop_screen()
        self.show()
        current_screen = self._app.screen
        if isinstance(current_screen, RunScreen):
            current_screen.do_stop()

    def _poll(self) -> None:
        state = self.state
        if state is None or self._app.is_leaving:
            return
        is_new = state.apply(state.live.take_update())
        if not (is_new or state.is_silent):
            return
        for screen in self._app.screen_stack:
            if isinstance(screen, RunScreen) and screen.state is state and screen.is_mounted:
                screen.show()
        self._on_update()
        if is_new and state.is_over:
            if self._timer is not None:
                self._timer.stop()
            self._on_cluster_changed()
            if not isinstance(self._app.screen, RunScreen) and state.outcome is not None:
                self._app.notify(
                    f"{state.outcome.symbol[0]} 5: run {state.live.run}: {state.outcome.summary}", markup=False
                )
            if self._rolls_back_when_over and state.is_drain:
                self._rolls_back_when_over = False
                self.roll_back(state.live.run)
