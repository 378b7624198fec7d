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
    from .reader import Contexts, Denied, HaveRead, Noticed, NotRead, Progressed, Reader, Remembered
    from .rights import RightsScreen
    from .run.following import FollowedRun
    from .screen import PlanScreen

TICK_S = 1.0


class EksdocApp(FramedApp):
    """`opening` defines what is read and marked; the application knows nothing else of the process."""

    _following: FollowedRun | None = None
    _made_reader: Reader | None = None

    def __init__(self, opening: Opening) -> None:
        super().__init__(ascii=opening.ascii, plain=opening.plain, light=opening.light)
        self.opening = opening
        self._looks_away = False  # the error screen was left for the cached view

    def on_mount(self) -> None:
        self.leave_when_left()
        if "kubectl_eksdoc.tui.screen" in sys.modules:
            self._open()
        else:
            self.push_screen(FirstScreen(_load, self._open))

    def _open(self) -> None:
        from .screen import PlanScreen

        screen = PlanScreen(self.opening, self.read, lambda: self.following)
        if isinstance(self.screen, FirstScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        self.call_after_refresh(self.read)
        self.set_interval(TICK_S, self._tick)  # always: the demo changes from its first run on

    def run_in_short(self) -> list[str]:
        """Lines about an active run and its keys, for a terminal that is too small for its screen; empty without an
        active run."""
        if self._following is None:
            return []
        return self._following.in_short()

    @property
    def _reader(self) -> Reader:
        """The reader of the current opening."""
        from .reader import Reader

        if self._made_reader is None:
            self._made_reader = Reader(self.opening, self.post_message)
        return self._made_reader

    def on_unmount(self) -> None:
        self._close_reader()

    def _close_reader(self) -> None:
        if self._made_reader is not None:
            self._made_reader.close()
            self._made_reader = None

    def _awaits(self, of: Opening) -> bool:
        """False for messages that belong to another context, or arrive while the screens are being closed."""
        return of is self.opening and self.is_running

    def on_progressed(self, event: Progressed) -> None:
        if self._awaits(event.of):
            self._main.progressed(event.kind, event.count)

    def on_remembered(self, event: Remembered) -> None:
        if self._awaits(event.of):
            self._main.remembers(event.facts)

    def on_have_read(self, event: HaveRead) -> None:
        if not self._awaits(event.of):
            return
        if self.opening.live is not None and self.opening.desk is not None:
            self.following.look_for_unfinished()
            if self._main.model.reads.done is None:
                self.on_ask_rights()
        self._main.read(event.facts, event.differs)
        self._looks_away = False
        self._leave_offline()
        if self._rights is not None:
            self._rights.learn_facts(event.facts, self._main.model.view)

    def on_not_read(self, event: NotRead) -> None:
        if self._awaits(event.of):
            self._main.not_read(event.why, event.remedy)
            # The error screen is shown without current facts, unless the user left it.
            model, offline = self._main.model, self._offline
            if offline is not None:
                offline.show(event, model)
            elif (model.facts is None or model.old) and not self._looks_away:
                from .offline import OfflineScreen

                self.push_screen(OfflineScreen(self.opening, event, model))

    def on_read_anew(self) -> None:
        if self.runs_something:
            self.notify(
                "ctrl+r: a run is under way: the plan stays as it was when it began; 5 shows the run", timeout=6
            )
        self._looks_away = False
        self.read()

    def on_look_away(self) -> None:
        self._looks_away = True
        self._leave_offline()

    def _leave_offline(self) -> None:
        """Close the error screen, and screens opened from it."""
        while self._offline is not None:
            self.pop_screen()

    @property
    def _offline(self) -> OfflineScreen | None:
        from .offline import OfflineScreen

        return next((screen for screen in self.screen_stack if isinstance(screen, OfflineScreen)), None)

    def on_other_contexts(self) -> None:
        """List the contexts in a thread; the dialog opens once they are known."""
        if self.runs_something:
            self.notify("x: a run is under way: 5 shows it", timeout=6)
        elif self.opening.live is not None:
            self._reader.list_contexts(self.opening.live)
        else:
            from .rights import NO_CONTEXTS

            self.notify(NO_CONTEXTS, timeout=4)

    def on_contexts(self, event: Contexts) -> None:
        from .help import ContextsScreen

        if self._awaits(event.of) and not isinstance(self.screen, ContextsScreen):
            self.push_screen(ContextsScreen(event.names, event.now), self._reopen)

    def _reopen(self, context: str | None) -> None:
        """Open the same screens for another context, without marks and plans."""
        from .screen import PlanScreen

        if not context or self.opening.live is None or self.runs_something:
            return
        self._close_reader()
        self.opening = self.opening.live.at(context)
        self._looks_away = False
        while self.screen is not self._main:
            self.pop_screen()
        self.switch_screen(PlanScreen(self.opening, self.read, lambda: self.following))
        self.notify(f"context {context}: marks and plans are reset", timeout=5, markup=False)
        self.call_after_refresh(self.read)

    def show_rights(self) -> None:
        """Show kinds that are hidden and rights that are missing. Synchronously: the next key is for that screen."""
        from kubectl_eksdoc.model.permissions import PlanPermissions

        from .rights import RightsScreen

        model = self._main.model
        if model.facts is not None:
            needs = self.opening.needs() if self.opening.needs is not None else PlanPermissions()
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

    def on_ask_rights(self) -> None:
        if self.opening.live is not None and self.opening.needs is not None:
            self._reader.ask_rights(self.opening.live, [need.permission for need in self.opening.needs().run])

    def on_denied(self, event: Denied) -> None:
        if not self._awaits(event.of):
            return
        self._main.learn_rights(event.permissions)
        if self._rights is not None:
            self._rights.learn(event.permissions)

    @property
    def _rights(self) -> RightsScreen | None:
        from .rights import RightsScreen

        return next((screen for screen in self.screen_stack if isinstance(screen, RightsScreen)), None)

    def on_noticed(self, event: Noticed) -> None:
        if self._awaits(event.of):
            self._main.noticed(event.notice)

    @property
    def following(self) -> FollowedRun:
        """The run of this process. Only if runs can be started: `Opening.run_controller` is set."""
        from .run.following import FollowedRun

        desk = self.opening.desk
        if self._following is None or not (self._following.under_way or self._following.desk is desk):
            assert desk is not None, "keys of runs have looked"
            self._following = FollowedRun(
                self,
                desk,
                self.opening.keys,
                self.read,
                self._run_seen,
                lambda: self._main,
            )
        return self._following

    @property
    def runs_something(self) -> bool:
        return self._following is not None and self._following.under_way

    @property
    def run_stage(self) -> str:
        """The stage of the active run in a word or two; "" without one."""
        state = self._following.state if self._following is not None else None
        return state.stage.value if state is not None and not state.over else ""

    @property
    def has_unfinished(self) -> bool:
        """Whether a run of this cluster can be resumed."""
        return self._following is not None and bool(self._following.unfinished)

    def _run_seen(self) -> None:
        self.fit()
        for screen in self.screen_stack:
            if screen is self._main and screen.is_mounted:
                self._main.show_age()

    async def action_quit(self) -> None:
        """During an active run, the user is asked what to do with it instead of leaving."""
        if self.runs_something:
            self.following.ask_what_next()
        else:
            self.exit(0)

    @property
    def _main(self) -> PlanScreen:
        from .screen import PlanScreen

        return next(screen for screen in self.screen_stack if isinstance(screen, PlanScreen))

    def read(self) -> None:
        """Start a read unless one is active. Not during a run: its own evictions would look like problems of the
        plan."""
        if not self.runs_something and self._main.begins_to_read():
            self._reader.read(self._main.model.facts)

    def _tick(self) -> None:
        """Update the displayed ages, and start a read that is due."""
        self._main.tick()
        offline = self._offline
        if offline is not None:
            offline.tick(self._main.model)
        if self._may_read_by_itself and self._main.due:
            self.read()

    @property
    def _may_read_by_itself(self) -> bool:
        """Not while the user types, and not behind another screen."""
        return self.screen in (self._main, self._offline) and not isinstance(self.focused, Input)


def _load() -> None:
    import kubectl_eksdoc.tui.reader
    import kubectl_eksdoc.tui.screen  # noqa: F401 - loads facts, plans and all pages


def open_screens(opening: Opening) -> int:
    """Run the screens until the user leaves; returns the exit code."""
    app = EksdocApp(opening)
    return app.run() or app.return_code or 0
