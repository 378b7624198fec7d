"""The error screen: shows why nothing could be read, retries automatically, and offers other contexts."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen

from kubectl_eksdoc.report.text import Look, shown

from . import unreached
from .help import AS_IT_COMES, HelpScreen
from .keymap import KEYS, FootBar, HeadLine, ScreenPage
from .model import LookAway, Model, OtherContexts, ReadAnew
from .opening import Opening
from .panel import Prose
from .reader import NotRead
from .rights import NO_CONTEXTS
from .shell import plain
from .tables.pods import Line

_HERE = ("t", "o", "q", "x", "y", "ctrl+r", "question_mark", "escape")


class OfflineScreen(Screen[None]):
    """Shown over the plan screen while it has no facts. Mutable: the last failure."""

    BINDINGS = [
        ("t,ctrl+r", "try"),
        ("x", "contexts"),
        ("y", "copy"),
        ("o,escape", "look"),
        ("q", "leave"),
        ("question_mark", "help"),
        *((each, f"refuse('{key.id}')") for key in KEYS for each in key.keys.split(",") if each not in _HERE),
    ]

    def __init__(self, opening: Opening, told: NotRead, model: Model) -> None:
        super().__init__()
        self._opening = opening
        self._told = told
        self._model = model
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        yield HeadLine(id="identity")
        yield Prose(id="unreached")
        yield FootBar(id="foot")

    def on_mount(self) -> None:
        self.query_one("#unreached").border_title = plain(self._said("No cluster"))
        self.query_one("#unreached").focus()
        self.show(self._told, self._model)

    def show(self, told: NotRead, model: Model) -> None:
        """Show a failure; unchanged text is not redrawn and keeps its scroll position."""
        self._told, self._model = told, model
        if not self.query("#unreached"):
            return  # it is being closed
        now = self._opening.now()
        self.query_one("#identity", HeadLine).show(unreached.head(model, told.what, now))
        lines = unreached.lines(model, told.where, told.what, now)
        if lines != self._lines:
            self._lines = lines
            self.query_one("#foot", FootBar).show(unreached.foot(model, now))
            self.query_one("#unreached", Prose).show(lines)

    def tick(self, model: Model) -> None:
        """Time has passed."""
        self.show(self._told, model)

    def _said(self, text: str) -> str:
        return shown(text, Look(ascii=self._opening.ascii))

    def action_try(self) -> None:
        self.post_message(ReadAnew())

    def action_contexts(self) -> None:
        if self._model.reads.live:
            self.post_message(OtherContexts())
        else:
            self.notify(NO_CONTEXTS, timeout=4)

    def action_look(self) -> None:
        if self._model.old:
            self.post_message(LookAway())
        else:
            self.notify("o: this cluster was never seen on this machine: there is no last view", timeout=4)

    def action_copy(self) -> None:
        command = unreached.command(self._model)
        if command:
            self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command}" if command else "y: there is no command to copy", timeout=6, markup=False)

    async def action_leave(self) -> None:
        """A run may be active."""
        await self.app.action_quit()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(ScreenPage.PLAN, AS_IT_COMES))

    def action_refuse(self, name: str) -> None:
        self.notify(f"{AS_IT_COMES.of(name).shown}: nothing is read yet", timeout=4, markup=False)
