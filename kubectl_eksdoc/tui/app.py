"""The Textual application: options of the process, first paint, and messages from other threads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from textual.widgets import Input

from .base_app import FramedApp
from .opening import FirstScreen, Opening

if TYPE_CHECKING:  # imported by `_load`
    from .model import InspectPod
    from .offline import OfflineScreen
    from .reader import (
        ClusterRead,
        ContextsListed,
        LastViewFound,
        Progressed,
        Reader,
        ReadFailed,
        RightsDenied,
        WatchNoticed,
    )
    from .rights import RightsScreen
    from .run.following import FollowedRun
    from .screen import PlanScreen

TICK_S = 1.0


class EksdocApp(FramedApp):
    """`opening` defines what is read and marked; the application knows nothing else of the process."""

    _followed_run: FollowedRun | None = None
    _current_reader: Reader | None = None

    def __init__(self, opening: Opening) -> None:
        super().__init__(ascii=opening.ascii, plain=opening.plain, light=opening.light)
        self.opening = opening
        self._shows_last_view = False  # the error screen was left for the cached view

    def on_mount(self) -> None:
        self.exit_when_disconnected()
        if "kubectl_eksdoc.tui.screen" in sys.modules:
            self._open_plan_screen()
        else:
            self.push_screen(FirstScreen(_load, self._open_plan_screen))

    def _open_plan_screen(self) -> None:
        from .screen import PlanScreen

        screen = PlanScreen(self.opening, self.start_read, lambda: self.followed_run)
        if isinstance(self.screen, FirstScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        self.call_after_refresh(self.start_read)
        self.set_interval(TICK_S, self._tick)  # always: the demo changes from its first run on

    def run_summary(self) -> list[str]:
        """Lines about an active run and its keys, for a terminal that is too small for its screen; empty without an
        active run."""
        if self._followed_run is None:
            return []
        return self._followed_run.summary_lines()

    @property
    def _reader(self) -> Reader:
        """The reader of the current opening."""
        from .reader import Reader

        if self._current_reader is None:
            self._current_reader = Reader(self.opening, self.post_message)
        return self._current_reader

    def on_unmount(self) -> None:
        self._close_reader()

    def _close_reader(self) -> None:
        if self._current_reader is not None:
            self._current_reader.close()
            self._current_reader = None

    def _is_current(self, opening: Opening) -> bool:
        """False for messages that belong to another context, or arrive while the screens are being closed."""
        return opening is self.opening and self.is_running

    def on_progressed(self, event: Progressed) -> None:
        if self._is_current(event.opening):
            self._plan_screen.read_progressed(event.kind, event.count)

    def on_last_view_found(self, event: LastViewFound) -> None:
        if self._is_current(event.opening):
            self._plan_screen.show_last_view(event.facts)

    def on_cluster_read(self, event: ClusterRead) -> None:
        if not self._is_current(event.opening):
            return
        if self.opening.live is not None and self.opening.run_controller is not None:
            self.followed_run.find_unfinished()
            if self._plan_screen.model.reads.completed_at is None:
                self.on_check_rights()
        self._plan_screen.update_facts(event.facts, event.differs)
        self._shows_last_view = False
        self._close_offline()
        if self._rights_screen is not None:
            self._rights_screen.update_facts(event.facts, self._plan_screen.model.view)

    def on_read_failed(self, event: ReadFailed) -> None:
        if self._is_current(event.opening):
            self._plan_screen.read_failed(event.reason, event.remedy)
            # The error screen is shown without current facts, unless the user left it.
            model, offline_screen = self._plan_screen.model, self._offline_screen
            if offline_screen is not None:
                offline_screen.show(event, model)
            elif (model.facts is None or model.is_old) and not self._shows_last_view:
                from .offline import OfflineScreen

                self.push_screen(OfflineScreen(self.opening, event, model))

    def on_read_again(self) -> None:
        if self.has_active_run:
            self.notify(
                "ctrl+r: a run is under way: the plan stays as it was when it began; 5 shows the run", timeout=6
            )
        self._shows_last_view = False
        self.start_read()

    def on_show_last_view(self) -> None:
        self._shows_last_view = True
        self._close_offline()

    def _close_offline(self) -> None:
        """Close the error screen, and screens opened from it."""
        while self._offline_screen is not None:
            self.pop_screen()

    @property
    def _offline_screen(self) -> OfflineScreen | None:
        from .offline import OfflineScreen

        return next((screen for screen in self.screen_stack if isinstance(screen, OfflineScreen)), None)

    def on_choose_context(self) -> None:
        """List the contexts in a thread; the dialog opens once they are known."""
        if self.has_active_run:
            self.notify("x: a run is under way: 5 shows it", timeout=6)
        elif self.opening.live is not None:
            self._reader.list_contexts(self.opening.live)
        else:
            from .rights import NO_CONTEXTS

            self.notify(NO_CONTEXTS, timeout=4)

    def on_contexts_listed(self, event: ContextsListed) -> None:
        from .help import ContextsScreen

        if self._is_current(event.opening) and not isinstance(self.screen, ContextsScreen):
            self.push_screen(ContextsScreen(event.names, event.current), self._switch_context)

    def _switch_context(self, context: str | None) -> None:
        """Open the same screens for another context, without marks and plans."""
        from .screen import PlanScreen

        if not context or self.opening.live is None or self.has_active_run:
            return
        self._close_reader()
        self.opening = self.opening.live.open_context(context)
        self._shows_last_view = False
        while self.screen is not self._plan_screen:
            self.pop_screen()
        self.switch_screen(PlanScreen(self.opening, self.start_read, lambda: self.followed_run))
        self.notify(f"context {context}: marks and plans are reset", timeout=5, markup=False)
        self.call_after_refresh(self.start_read)

    def show_rights(self) -> None:
        """Show kinds that are hidden and rights that are missing. Synchronously: the next key is for that screen."""
        from kubectl_eksdoc.model.permissions import PlanPermissions

        from .rights import RightsScreen

        model = self._plan_screen.model
        if model.facts is not None:
            needs = self.opening.required_rights() if self.opening.required_rights is not None else PlanPermissions()
            self.push_screen(RightsScreen(needs, model.facts, model.view, self.only_ascii))

    def on_inspect_pod(self, event: InspectPod) -> None:
        from .details import PodPanel

        if self.opening.live is None:
            self.notify(
                "d: a dump and the demo say no more of a pod; a live cluster does (kubectl eksdoc rehearse --serve)",
                timeout=6,
            )
        else:
            self.push_screen(PodPanel(event.pod, self.opening.live.pod_report, self.opening.now))

    def on_check_rights(self) -> None:
        if self.opening.live is not None and self.opening.required_rights is not None:
            self._reader.check_rights(
                self.opening.live, [need.permission for need in self.opening.required_rights().run]
            )

    def on_rights_denied(self, event: RightsDenied) -> None:
        if not self._is_current(event.opening):
            return
        self._plan_screen.update_rights(event.permissions)
        if self._rights_screen is not None:
            self._rights_screen.update_denied(event.permissions)

    @property
    def _rights_screen(self) -> RightsScreen | None:
        from .rights import RightsScreen

        return next((screen for screen in self.screen_stack if isinstance(screen, RightsScreen)), None)

    def on_watch_noticed(self, event: WatchNoticed) -> None:
        if self._is_current(event.opening):
            self._plan_screen.handle_notice(event.notice)

    @property
    def followed_run(self) -> FollowedRun:
        """The run of this process. Only if runs can be started: `Opening.run_controller` is set."""
        from .run.following import FollowedRun

        run_controller = self.opening.run_controller
        if self._followed_run is None or not (
            self._followed_run.is_running or self._followed_run.run_controller is run_controller
        ):
            assert run_controller is not None, "keys of runs have looked"
            self._followed_run = FollowedRun(
                self,
                run_controller,
                self.opening.keys,
                self.start_read,
                self._run_changed,
                lambda: self._plan_screen,
            )
        return self._followed_run

    @property
    def has_active_run(self) -> bool:
        return self._followed_run is not None and self._followed_run.is_running

    @property
    def run_stage(self) -> str:
        """The stage of the active run in a word or two; "" without one."""
        state = self._followed_run.state if self._followed_run is not None else None
        return state.stage.value if state is not None and not state.is_over else ""

    @property
    def has_unfinished(self) -> bool:
        """Whether a run of this cluster can be resumed."""
        return self._followed_run is not None and bool(self._followed_run.unfinished)

    def _run_changed(self) -> None:
        self.cover_if_too_small()
        for screen in self.screen_stack:
            if screen is self._plan_screen and screen.is_mounted:
                self._plan_screen.show_identity()

    async def action_quit(self) -> None:
        """During an active run, the user is asked what to do with it instead of leaving."""
        if self.has_active_run:
            self.followed_run.ask_before_exit()
        else:
            self.exit(0)

    @property
    def _plan_screen(self) -> PlanScreen:
        from .screen import PlanScreen

        return next(screen for screen in self.screen_stack if isinstance(screen, PlanScreen))

    def start_read(self) -> None:
        """Start a read unless one is active. Not during a run: its own evictions would look like problems of the
        plan."""
        if not self.has_active_run and self._plan_screen.start_reading():
            self._reader.read(self._plan_screen.model.facts)

    def _tick(self) -> None:
        """Update the displayed ages, and start a read that is due."""
        self._plan_screen.tick()
        offline_screen = self._offline_screen
        if offline_screen is not None:
            offline_screen.tick(self._plan_screen.model)
        if self._may_auto_read and self._plan_screen.is_read_due:
            self.start_read()

    @property
    def _may_auto_read(self) -> bool:
        """Not while the user types, and not behind another screen."""
        return self.screen in (self._plan_screen, self._offline_screen) and not isinstance(self.focused, Input)


def _load() -> None:
    import kubectl_eksdoc.tui.reader
    import kubectl_eksdoc.tui.screen  # noqa: F401 - loads facts, plans and all pages


def open_screens(opening: Opening) -> int:
    """Run the screens until the user leaves; returns the exit code."""
    app = EksdocApp(opening)
    return app.run() or app.return_code or 0
