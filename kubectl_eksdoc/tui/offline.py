"""The error screen: shows why nothing could be read, retries automatically, and offers other contexts."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen

from kubectl_eksdoc.report.text import Appearance, printable

from . import unreached
from .help import DEFAULT_KEYMAP, HelpScreen
from .keymap import PLAN_KEYS, FootBar, HeadLine, ScreenPage
from .model import ChooseContext, Model, ReadAgain, ShowLastView
from .opening import Opening
from .panel import Prose
from .reader import ReadFailed
from .rights import NO_CONTEXTS
from .shell import escape_markup
from .tables.pods import Line

_OWN_KEYS = ("t", "o", "q", "x", "y", "ctrl+r", "question_mark", "escape")


class OfflineScreen(Screen[None]):
    """Shown over the plan screen while it has no facts. Mutable: the last failure."""

    BINDINGS = [
        ("t,ctrl+r", "try"),
        ("x", "contexts"),
        ("y", "copy"),
        ("o,escape", "look"),
        ("q", "leave"),
        ("question_mark", "help"),
        *((each, f"refuse('{key.id}')") for key in PLAN_KEYS for each in key.keys.split(",") if each not in _OWN_KEYS),
    ]

    def __init__(self, opening: Opening, failure: ReadFailed, model: Model) -> None:
        super().__init__()
        self._opening = opening
        self._failure = failure
        self._model = model
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        yield HeadLine(id="identity")
        yield Prose(id="unreached")
        yield FootBar(id="foot")

    def on_mount(self) -> None:
        self.query_one("#unreached").border_title = escape_markup(self._printable("No cluster"))
        self.query_one("#unreached").focus()
        self.show(self._failure, self._model)

    def show(self, failure: ReadFailed, model: Model) -> None:
        """Show a failure; unchanged text is not redrawn and keeps its scroll position."""
        self._failure, self._model = failure, model
        if not self.query("#unreached"):
            return  # it is being closed
        now = self._opening.now()
        self.query_one("#identity", HeadLine).show(unreached.head_texts(model, failure.headline, now))
        lines = unreached.failure_lines(model, failure.address, failure.headline, now)
        if lines != self._lines:
            self._lines = lines
            self.query_one("#foot", FootBar).show(unreached.foot_hints(model, now))
            self.query_one("#unreached", Prose).show(lines)

    def tick(self, model: Model) -> None:
        """Time has passed."""
        self.show(self._failure, model)

    def _printable(self, text: str) -> str:
        return printable(text, Appearance(ascii=self._opening.ascii))

    def action_try(self) -> None:
        self.post_message(ReadAgain())

    def action_contexts(self) -> None:
        if self._model.reads.live:
            self.post_message(ChooseContext())
        else:
            self.notify(NO_CONTEXTS, timeout=4)

    def action_look(self) -> None:
        if self._model.is_old:
            self.post_message(ShowLastView())
        else:
            self.notify("o: this cluster was never seen on this machine: there is no last view", timeout=4)

    def action_copy(self) -> None:
        command = unreached.remedy_command(self._model)
        if command:
            self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command}" if command else "y: there is no command to copy", timeout=6, markup=False)

    async def action_leave(self) -> None:
        """A run may be active."""
        await self.app.action_quit()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(ScreenPage.PLAN, DEFAULT_KEYMAP))

    def action_refuse(self, name: str) -> None:
        self.notify(f"{DEFAULT_KEYMAP.by_id(name).shown}: nothing is read yet", timeout=4, markup=False)
